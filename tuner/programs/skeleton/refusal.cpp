// SPDX-License-Identifier: Apache-2.0
#include "refusal.hpp"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace skeleton
{

std::string place_of(const llvm::Instruction *instruction)
{
    if (!instruction)
        return "";
    if (const llvm::DebugLoc &place = instruction->getDebugLoc()) {
        const auto *scope = llvm::cast<llvm::DIScope>(place.getScope());
        return (scope->getFilename() + ":" + llvm::Twine(place.getLine()) + ": ").str();
    }
    return ("in " + instruction->getFunction()->getName() + "(): ").str();
}

void refuse(const llvm::Instruction *where, const llvm::Twine &message)
{
    llvm::errs() << "reprise-skeleton: " << place_of(where) << message << "\n";
    llvm::errs().flush();
    std::exit(1);
}

void remark(const llvm::Instruction *where, const llvm::Twine &message)
{
    llvm::errs() << "reprise-skeleton: " << place_of(where) << message << "\n";
}

} // namespace skeleton
