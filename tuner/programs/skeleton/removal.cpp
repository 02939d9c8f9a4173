// SPDX-License-Identifier: Apache-2.0
#include "removal.hpp"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

namespace skeleton
{

namespace
{

// Size in bytes of the largest local variable that is zeroed. Larger variables are buffers, whose contents do not
// matter, and zeroing them on each call would take time.
constexpr uint64_t ZEROED_BYTES_MAX = 4096;

// Remove an instruction that is not kept, and replace its value by zero. Instructions that use the value are not kept
// either, or ignore the value.
void forget(llvm::Instruction &instruction)
{
    if (!instruction.getType()->isVoidTy() && !instruction.getType()->isTokenTy() && !instruction.use_empty())
        instruction.replaceAllUsesWith(llvm::Constant::getNullValue(instruction.getType()));
    instruction.eraseFromParent();
}

// Replace a branch that is not kept by a jump to the point where its paths meet.
void straighten(llvm::BasicBlock &block, Control &control)
{
    llvm::Instruction *branch = block.getTerminator();
    llvm::BasicBlock *end = control.meeting(&block);

    if (!end)
        return;
    bool was_next = false;
    for (llvm::BasicBlock *next : llvm::SmallVector<llvm::BasicBlock *, 4>(llvm::successors(&block))) {
        if (next == end && !was_next)
            was_next = true; // the phi nodes of `end` must still have one entry for this block
        else
            next->removePredecessor(&block, true);
    }
    llvm::BranchInst::Create(end, branch);
    branch->eraseFromParent();
}

void reduce(llvm::Function &function, const Marking &marking, Control &control)
{
    std::vector<llvm::BasicBlock *> straight;
    std::vector<llvm::Instruction *> gone;

    for (llvm::BasicBlock &block : function) {
        for (llvm::Instruction &instruction : block) {
            if (marking.kept(&instruction))
                continue;
            if (!instruction.isTerminator())
                gone.push_back(&instruction);
            else if (instruction.getNumSuccessors() > 1)
                straight.push_back(&block);
            else if (llvm::isa<llvm::ReturnInst>(instruction) && instruction.getNumOperands())
                instruction.setOperand(0, llvm::Constant::getNullValue(instruction.getOperand(0)->getType()));
        }
    }
    for (llvm::Instruction *instruction : gone)
        forget(*instruction);
    for (llvm::BasicBlock *block : straight)
        straighten(*block, control);
    llvm::removeUnreachableBlocks(function);
}

unsigned long count(const Program &program)
{
    unsigned long found = 0;

    for (llvm::Function *function : program.functions) {
        for (const llvm::Instruction &instruction : llvm::instructions(*function))
            found += !llvm::isa<llvm::DbgInfoIntrinsic>(instruction);
    }
    return found;
}

void zero_locals(llvm::Function &function)
{
    const llvm::DataLayout &layout = function.getParent()->getDataLayout();

    for (llvm::Instruction &instruction : llvm::make_early_inc_range(function.getEntryBlock())) {
        auto *local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (!local || local->isArrayAllocation())
            continue;
        uint64_t bytes = layout.getTypeAllocSize(local->getAllocatedType());
        if (bytes > ZEROED_BYTES_MAX)
            continue;
        llvm::IRBuilder<> builder(local->getNextNode());
        builder.CreateMemSet(local, builder.getInt8(0), bytes, local->getAlign());
    }
}

void drop_promises(llvm::Function &function)
{
    static const llvm::Attribute::AttrKind PROMISES[] = {
        llvm::Attribute::NonNull,   llvm::Attribute::NoUndef, llvm::Attribute::Dereferenceable,
        llvm::Attribute::Returned,  llvm::Attribute::NoAlias, llvm::Attribute::DereferenceableOrNull,
        llvm::Attribute::Alignment,
    };
    auto drop = [](auto &owner, unsigned parameter) {
        for (llvm::Attribute::AttrKind promise : PROMISES)
            owner.removeParamAttr(parameter, promise);
    };

    for (llvm::Argument &parameter : function.args()) {
        if (!parameter.hasByValAttr())
            drop(function, parameter.getArgNo());
    }
    for (llvm::Attribute::AttrKind promise : PROMISES)
        function.removeRetAttr(promise);
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (!call || llvm::isa<llvm::IntrinsicInst>(call))
            continue;
        for (unsigned i = 0; i < call->arg_size(); i++) {
            if (!call->paramHasAttr(i, llvm::Attribute::ByVal))
                drop(*call, i);
        }
        for (llvm::Attribute::AttrKind promise : PROMISES)
            call->removeRetAttr(promise);
    }
}

} // namespace

Removed remove_all_but_kept(const Program &program, const Marking &marking, Control &control)
{
    unsigned long before = count(program);

    for (llvm::Function *function : program.functions)
        reduce(*function, marking, control);
    return {before, count(program)};
}

void prepare(llvm::Module &module, const Program &program)
{
    for (llvm::Function *function : program.functions) {
        drop_promises(*function);
        zero_locals(*function);
    }
    for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(module.globals())) {
        variable.removeDeadConstantUsers();
        if (variable.hasLocalLinkage() && variable.use_empty())
            variable.eraseFromParent();
    }
}

} // namespace skeleton
