// SPDX-License-Identifier: Apache-2.0
// End of the pass for programs beyond its limits, and remarks about others.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/IR/Instruction.h"

#include <string>

namespace skeleton
{

// "FILE:LINE: " of an instruction, or of the function that contains it.
std::string place_of(const llvm::Instruction *instruction);

// Print one line and end the process with status 1. `where` may be null.
[[noreturn]] void refuse(const llvm::Instruction *where, const llvm::Twine &message);

void remark(const llvm::Instruction *where, const llvm::Twine &message);

} // namespace skeleton
