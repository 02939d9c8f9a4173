// SPDX-License-Identifier: Apache-2.0
// Effects of functions outside the program on memory and state: the C library's by a table, all others by the worst
// case.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace skeleton
{

// Replaces a branch into a failure: its argument is true if the application would have failed. See failures.hpp.
inline constexpr char CHECK_NAME[] = "reprise.check";

enum class Library {
    Unknown,   // reads and writes all memory that its arguments reach, and may return any of it
    Listed,    // see the letters
    Output,    // shows something to users, or waits; writes no memory of the program
    Allocates, // returns memory, or writes its address into an argument
    Frees,
    Ends,    // does not return
    Effect,  // changes the process for later calls
    Refused, // threads, jumps out of functions
};

struct LibraryCall {
    const char *name;
    Library kind;
    // A letter per parameter, the last one for all further parameters: v value, a is read, o is written, h both. Upper
    // case: the function returns this pointer, or one into the same memory.
    const char *parameters;
    const char *state; // hidden state shared by calls with equal words, or null
};

// Never null: a function that is in no table and has no attributes that say more is Unknown.
const LibraryCall *library_call(const llvm::CallBase &call);

bool reads_argument(const LibraryCall &entry, unsigned index);
bool writes_argument(const LibraryCall &entry, unsigned index);
bool returns_argument(const LibraryCall &entry, unsigned index);

// Index of the argument through which an allocation returns the address, or -1 if it is the return value.
int allocated_argument(llvm::StringRef function);

// Whether the call ends the program after an error: abort(), a failed assertion, exit() with a status other than 0, a
// C++ exception. MPI_Abort does not count.
bool is_failure(const llvm::CallBase &call);

} // namespace skeleton
