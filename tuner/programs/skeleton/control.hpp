// SPDX-License-Identifier: Apache-2.0
// Finds the branches that decide whether a block runs, which are those in the block's post-dominance frontier.
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
    // Return the branches that decide whether a block runs. The first call for a function computes them for all of its
    // blocks.
    const llvm::SetVector<llvm::Instruction *> &deciding(llvm::BasicBlock *block);
    // Return the block at which all paths from a block meet again, or null.
    llvm::BasicBlock *meeting(llvm::BasicBlock *block);
    // Return the branches of a function whose paths never meet again.
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
