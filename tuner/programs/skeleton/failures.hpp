// SPDX-License-Identifier: Apache-2.0
// Removes branches that lead to failures, because a skeleton does not compute values that only decide whether the
// application would have failed.
#pragma once

#include "llvm/IR/Module.h"

namespace skeleton
{

// Declare that MPI_Abort() does not return, so that LLVM treats the code after calls to it as dead.
void mark_aborts(llvm::Module &module);

// Replace each branch of which one side leads to a failure by a call to reprise.check() with that side's condition, and
// continue on the other side. If the check is kept, only the failure's message is lost.
void branches_to_checks(llvm::Module &module);

// Replace the checks that were kept by branches that end the program with a message, and remove the declaration of
// reprise.check().
void checks_to_branches(llvm::Module &module);

} // namespace skeleton
