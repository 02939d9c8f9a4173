// SPDX-License-Identifier: Apache-2.0
// Ends the pass for programs that it does not support, and prints remarks about other programs.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/IR/Instruction.h"

#include <string>

namespace skeleton
{

// Return the place of an instruction in the form "FILE:LINE: ", or "in FUNCTION(): " if there is no debug information.
std::string place_of(const llvm::Instruction *instruction);

// Print a one-line message and end the process with status 1. `where` may be null.
[[noreturn]] void refuse(const llvm::Instruction *where, const llvm::Twine &message);

// Print a one-line message. `where` may be null.
void remark(const llvm::Instruction *where, const llvm::Twine &message);

} // namespace skeleton
