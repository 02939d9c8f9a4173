// SPDX-License-Identifier: Apache-2.0
// Branches into failures. A skeleton does not compute values that only decide whether the application would have
// failed.
#pragma once

#include "llvm/IR/Module.h"

namespace skeleton
{

// Make calls to MPI_Abort() end the program, so that the code after them is known to be dead.
void mark_aborts(llvm::Module &module);

// Replace each branch with a failure on only one side by a call to reprise.check() with the condition of that side, and
// continue at the other. If the check is kept, only the failure's message is lost.
void branches_to_checks(llvm::Module &module);

// Make the kept checks end the program with a message; remove the declaration.
void checks_to_branches(llvm::Module &module);

} // namespace skeleton
