// SPDX-License-Identifier: Apache-2.0
// Branches that decide whether a block runs: those on whose post-dominance frontier it lies.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Function.h"

#include <memory>
#include <vector>

namespace skeleton
{

class Control
{
  public:
    // The branches that decide whether a block of a function runs, computed on first use.
    const llvm::SetVector<llvm::Instruction *> &deciding(llvm::BasicBlock *block);
    // The block at which all paths from a block meet again, or null.
    llvm::BasicBlock *meeting(llvm::BasicBlock *block);
    // Branches whose paths never meet.
    const std::vector<llvm::Instruction *> &never_meeting(llvm::Function *function);

  private:
    struct Flow {
        llvm::PostDominatorTree tree;
        llvm::DenseMap<llvm::BasicBlock *, llvm::SetVector<llvm::Instruction *>> deciding;
        std::vector<llvm::Instruction *> never_meeting;
    };
    Flow &flow_of(llvm::Function *function);

    llvm::DenseMap<llvm::Function *, std::unique_ptr<Flow>> flows;
};

} // namespace skeleton
