// SPDX-License-Identifier: Apache-2.0
// The end of the pass where a program is beyond its limits, and remarks where it goes on.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/IR/Instruction.h"

#include <string>

namespace skeleton
{

// "FILE:LINE: " of an instruction, or of the function that it is in.
std::string place_of(const llvm::Instruction *instruction);

// Print one line and end the process with status 1. `where` may be null.
[[noreturn]] void refuse(const llvm::Instruction *where, const llvm::Twine &message);

void remark(const llvm::Instruction *where, const llvm::Twine &message);

} // namespace skeleton
