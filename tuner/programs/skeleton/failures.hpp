// SPDX-License-Identifier: Apache-2.0
// Removes branches that lead to failures, because a skeleton does not compute values that only decide whether the
// application would have failed.
#pragma once

#include "llvm/IR/Module.h"

namespace skeleton
{

// Declare that MPI_Abort() does not return, so that LLVM treats the code after calls to it as dead.
void mark_aborts(llvm::Module &module);

// If one side of a branch leads to a failure, replace the branch by a call to reprise.check() with the condition for
// that side, and continue on the other side. If the skeleton keeps this check, it still ends on failure, but without
// the application's message.
void branches_to_checks(llvm::Module &module);

// Replace the checks that were kept by branches that end the program with a message, and remove the declaration of
// reprise.check().
void checks_to_branches(llvm::Module &module);

} // namespace skeleton
