// SPDX-License-Identifier: Apache-2.0
// Removes branches into failures, because a skeleton does not compute values that only decide whether the application
// would have failed.
#pragma once

#include "llvm/IR/Module.h"

namespace skeleton
{

// Make calls to MPI_Abort() end the program, so that the code after them is known to be dead.
void mark_aborts(llvm::Module &module);

// Replace each branch that leads to a failure on only one side by a call to reprise.check() with the condition of that
// side, and continue at the other side. If the check is kept, only the failure's message is lost.
void branches_to_checks(llvm::Module &module);

// Replace the checks that were kept by branches that end the program with a message, and remove the declaration of
// reprise.check().
void checks_to_branches(llvm::Module &module);

} // namespace skeleton
