// SPDX-License-Identifier: Apache-2.0
// The MPI routines that skeletons may call, with the role of each of their parameters.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace skeleton
{

// Role of a parameter in the communication pattern.
enum class Parameter {
    Value,    // affects the pattern: count, rank, handle
    Type,     // a datatype, which also distinguishes messages
    Tag,      // a tag, which also distinguishes messages
    Operator, // a reduction's operator, which also distinguishes messages
    Array,    // points to values that affect the pattern: counts, displacements, names
    Sent,     // a buffer that is read; its address matters, but its contents do not
    Received, // a buffer that is written
    Both,     // a buffer that is read and written
    Output,   // information that MPI returns, such as a rank, a status or a new handle
    Handle,   // points to handles that are read and changed: requests, positions
    Callback, // a function that MPI will call
};

enum class Role {
    PointToPoint, // its messages match those of any other routine with this role
    Collective,   // its messages match those of calls to the same routine
    File,         // reads data written by any other routine with this role
    Local,        // moves data within the process, such as packing and unpacking
    Effect,       // changes MPI's state; always kept
    Query,        // only returns information; kept if the information is needed
    Exit,         // ends the program
};

struct MpiCall {
    const char *name; // name without the prefix MPI_
    Role role;
    const char *parameters; // one letter for each parameter, see parameter_of() in mpi_calls.cpp
};

// Return the table entry of MPI_NAME or PMPI_NAME, or null if the table has none.
const MpiCall *mpi_call(llvm::StringRef function);

// Return whether a name is that of an MPI routine in C or Fortran, whether it is in the table or not.
bool is_mpi_name(llvm::StringRef function);

Parameter parameter_of(char letter);

// Return the datatype, tag or operator of the buffer at `index`: the next argument whose role is `kind`, or null if
// there is none.
const llvm::Value *next_of(const llvm::CallBase &call, const MpiCall &entry, unsigned index, Parameter kind);

} // namespace skeleton
