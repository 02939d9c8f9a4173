// SPDX-License-Identifier: Apache-2.0
// Effects of functions outside the program on memory and state. A table lists functions of the C library; for all other
// functions, the worst case is assumed.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace skeleton
{

// Name of the function whose calls replace branches that lead to failures. Its argument is true if the application
// would have failed. See failures.hpp.
inline constexpr char CHECK_NAME[] = "reprise.check";

enum class Library {
    Unknown,   // reads and writes all memory that its arguments reach, and may return any of it
    Listed,    // the letters of its parameters describe its effects, see LibraryCall
    Output,    // shows something to users, or waits; does not write to the program's memory
    Allocates, // returns memory, or writes its address into an argument
    Frees,
    Ends,    // does not return
    Effect,  // changes the process for later calls
    Refused, // not supported: threads, jumps out of functions
};

struct LibraryCall {
    const char *name;
    Library kind;
    // One letter for each parameter; the last letter also applies to all further parameters. v: a value; a: memory that
    // is read; o: memory that is written; h: memory that is read and written. An upper-case letter means that the
    // function returns this pointer, or a pointer into the same memory.
    const char *parameters;
    const char *state; // name of hidden state that calls with the same name share, or null
};

// Return the entry that describes the called function's effects, never null. A function that the table does not list is
// Unknown, unless LLVM's attributes or a stream argument such as std::cout show that it has fewer effects.
const LibraryCall *library_call(const llvm::CallBase &call);

// Return whether a function reads, writes or returns the memory that the argument at `index` points to.
bool reads_argument(const LibraryCall &entry, unsigned index);
bool writes_argument(const LibraryCall &entry, unsigned index);
bool returns_argument(const LibraryCall &entry, unsigned index);

// Return the index of the argument through which an allocating function returns the address, or -1 if the address is
// the return value.
int allocated_argument(llvm::StringRef function);

// Return whether the call ends the program after an error: abort(), a failed assertion, exit() with a status other than
// 0, a C++ exception. MPI_Abort does not count as such a call.
bool is_failure(const llvm::CallBase &call);

} // namespace skeleton
