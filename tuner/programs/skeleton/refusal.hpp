// SPDX-License-Identifier: Apache-2.0
// Ends the pass for programs beyond its limits, and prints remarks about other programs.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/IR/Instruction.h"

#include <string>

namespace skeleton
{

// Return the place of an instruction: "FILE:LINE: ", or "in FUNCTION(): " without debug information.
std::string place_of(const llvm::Instruction *instruction);

// Print one line and end the process with status 1. `where` may be null.
[[noreturn]] void refuse(const llvm::Instruction *where, const llvm::Twine &message);

// Print one line. `where` may be null.
void remark(const llvm::Instruction *where, const llvm::Twine &message);

} // namespace skeleton
