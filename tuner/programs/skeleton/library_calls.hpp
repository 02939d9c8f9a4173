// SPDX-License-Identifier: Apache-2.0
// What functions outside the program do with memory and state: the C library's by a table, all others by the worst
// case.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace skeleton
{

// Stands for a branch into a failure: its argument is true where the application would have failed. See failures.hpp.
inline constexpr char CHECK_NAME[] = "reprise.check";

enum class Library {
    Unknown,   // reads and writes all that its arguments reach, returns any of it
    Listed,    // see the letters
    Output,    // shows something to people, or waits; writes no memory of the program's
    Allocates, // returns memory, or writes its address into an argument
    Frees,
    Ends,    // does not return
    Effect,  // changes the process as later calls see it
    Refused, // threads, jumps out of functions
};

struct LibraryCall {
    const char *name;
    Library kind;
    // A letter per parameter, the last one for all that follow: v value, a is read, o is written, h both.
    // Upper case: the function returns this pointer, or one into the same memory.
    const char *parameters;
    const char *state; // hidden state that calls with the same word share, or null
};

// Never null: what is in no table and has no attributes that say more is Unknown.
const LibraryCall *library_call(const llvm::CallBase &call);

bool reads_argument(const LibraryCall &entry, unsigned index);
bool writes_argument(const LibraryCall &entry, unsigned index);
bool returns_argument(const LibraryCall &entry, unsigned index);

// Which argument of an allocation receives the address, or -1 where it is returned.
int allocated_argument(llvm::StringRef function);

// Whether the call ends the program because something went wrong: abort(), a failed assertion, exit() with another
// status than 0, a C++ exception. MPI_Abort is not meant.
bool is_failure(const llvm::CallBase &call);

} // namespace skeleton
