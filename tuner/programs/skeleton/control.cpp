// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"

namespace skeleton
{

Control::Flow &Control::flow_of(llvm::Function *function)
{
    std::unique_ptr<Flow> &flow = flows[function];

    if (flow)
        return *flow;
    flow = std::make_unique<Flow>();
    flow->tree.recalculate(*function);
    for (llvm::BasicBlock &block : *function) {
        llvm::Instruction *branch = block.getTerminator();
        if (branch->getNumSuccessors() < 2)
            continue;
        llvm::BasicBlock *end = meeting(&block);
        if (!end)
            flow->never_meeting.push_back(branch);
        for (llvm::BasicBlock *next : llvm::successors(&block)) {
            for (llvm::BasicBlock *at = next; at && at != end; at = meeting(at)) {
                if (!flow->deciding[at].insert(branch))
                    break;
            }
        }
    }
    return *flow;
}

const llvm::SetVector<llvm::Instruction *> &Control::deciding(llvm::BasicBlock *block)
{
    return flow_of(block->getParent()).deciding[block];
}

llvm::BasicBlock *Control::meeting(llvm::BasicBlock *block)
{
    const auto *node = flow_of(block->getParent()).tree.getNode(block);

    return node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
}

const std::vector<llvm::Instruction *> &Control::never_meeting(llvm::Function *function)
{
    return flow_of(function).never_meeting;
}

} // namespace skeleton
