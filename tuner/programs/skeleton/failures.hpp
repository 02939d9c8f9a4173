// SPDX-License-Identifier: Apache-2.0
// Branches into failures: a skeleton does not compute what only decides whether the application would have failed.
#pragma once

#include "llvm/IR/Module.h"

namespace skeleton
{

// Make calls to MPI_Abort() end the program, so that what follows them is known to be dead.
void mark_aborts(llvm::Module &module);

// Replace each branch that ends in a failure on one side only by a call to reprise.check() with the condition of that
// side, and go on at the other. Nothing but the failure's message is lost where the check is kept.
void branches_to_checks(llvm::Module &module);

// Make the checks that were kept end the program with a message; remove the declaration.
void checks_to_branches(llvm::Module &module);

} // namespace skeleton
