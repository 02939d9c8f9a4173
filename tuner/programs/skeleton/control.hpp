// SPDX-License-Identifier: Apache-2.0
// Which branches decide whether a block runs: those on whose post-dominance frontier it lies.
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
    // The branches that decide about a block of a function, computed when first asked for.
    const llvm::SetVector<llvm::Instruction *> &deciding(llvm::BasicBlock *block);
    // Where all paths from the block meet again, or null.
    llvm::BasicBlock *meeting(llvm::BasicBlock *block);
    // Branches whose paths meet nowhere.
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
