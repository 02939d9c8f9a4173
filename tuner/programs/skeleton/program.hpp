// SPDX-License-Identifier: Apache-2.0
// The part of a module that may run: its functions, their callers, and the functions that communicate.
#pragma once

#include "pointers.hpp"

namespace skeleton
{

struct Program {
    Program(llvm::Module &module, Pointers &pointers);

    // functions that may run, reached from main() or from constructors and destructors of global objects
    llvm::SetVector<llvm::Function *> functions;
    // calls of each function, including library calls that the function is passed to
    llvm::DenseMap<const llvm::Function *, std::vector<llvm::CallBase *>> callers;
    // functions that call MPI routines other than queries, directly or through other functions
    llvm::SetVector<const llvm::Function *> communicating;

    // Return whether a call may lead to communication or to another lasting effect on MPI.
    bool communicates(const llvm::CallBase &call) const;

  private:
    void reach(llvm::Function *function);

    Pointers &pointers;
};

} // namespace skeleton
