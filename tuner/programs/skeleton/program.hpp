// SPDX-License-Identifier: Apache-2.0
// The part of a module that a program may run: which functions, who calls them, and which communicate.
#pragma once

#include "pointers.hpp"

namespace skeleton
{

struct Program {
    Program(llvm::Module &module, Pointers &pointers);

    llvm::SetVector<llvm::Function *> functions; // that may run, from main() and what is run before it
    llvm::DenseMap<const llvm::Function *, std::vector<llvm::CallBase *>> callers; // those that hand it over included
    llvm::SetVector<const llvm::Function *> communicating; // that call MPI for more than a question, or call such ones

    // Whether a call is or may lead to communication or another lasting effect on MPI.
    bool communicates(const llvm::CallBase &call) const;

  private:
    void reach(llvm::Function *function);

    Pointers &pointers;
};

} // namespace skeleton
