// SPDX-License-Identifier: Apache-2.0
#include "failures.hpp"

#include "library_calls.hpp"
#include "mpi_calls.hpp"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

namespace skeleton
{

namespace
{

constexpr char CHECK_MESSAGE[] = "a check of the application failed; its own message is not part of a skeleton";

bool is_abort(const llvm::Function *function)
{
    const MpiCall *entry = function ? mpi_call(function->getName()) : nullptr;

    return entry && entry->role == Role::Exit;
}

// Finds blocks that certainly end in a failure. Such a block contains no call to an actor. An actor is a function that
// may affect other ranks, such as MPI_Finalize(), or that may end the program successfully.
class Failing
{
  public:
    explicit Failing(const llvm::Module &module)
    {
        for (const llvm::Function &function : module) {
            for (const llvm::Instruction &instruction : llvm::instructions(function))
                acting(function, instruction);
        }
        for (size_t i = 0; i < actors.size(); i++) {
            for (const llvm::User *user : actors[i]->users()) {
                if (const auto *instruction = llvm::dyn_cast<llvm::Instruction>(user))
                    actors.insert(instruction->getFunction());
            }
        }
    }

    // Return whether a block certainly ends in a failure, given that all blocks in `ends` end in a failure.
    bool block(const llvm::BasicBlock &block, const llvm::SetVector<const llvm::BasicBlock *> &ends) const
    {
        for (const llvm::Instruction &instruction : block) {
            const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            if (!call || llvm::isa<llvm::IntrinsicInst>(call))
                continue;
            const llvm::Function *function = call->getCalledFunction();
            if (!function || acts(*call))
                return false;
            if (is_abort(function) || is_failure(*call))
                return true;
        }
        if (llvm::succ_empty(&block))
            return false;
        return llvm::all_of(llvm::successors(&block),
                            [&](const llvm::BasicBlock *next) { return ends.contains(next); });
    }

  private:
    void acting(const llvm::Function &function, const llvm::Instruction &instruction)
    {
        const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);

        if (call && (!call->getCalledFunction() || acts(*call)))
            actors.insert(&function);
    }

    bool acts(const llvm::CallBase &call) const
    {
        const llvm::Function *function = call.getCalledFunction();

        if (const MpiCall *entry = mpi_call(function->getName()))
            return entry->role != Role::Query && entry->role != Role::Exit;
        if (!function->isDeclaration())
            return actors.contains(function);
        return call.doesNotReturn() && !is_failure(call);
    }

    llvm::SetVector<const llvm::Function *> actors;
};

bool cut_one(llvm::Function &function, const llvm::SetVector<const llvm::BasicBlock *> &ends,
             llvm::FunctionCallee check)
{
    for (llvm::BasicBlock &block : function) {
        auto *branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
        if (!branch || !branch->isConditional() || ends.contains(&block))
            continue;
        bool first = ends.contains(branch->getSuccessor(0));
        if (first == ends.contains(branch->getSuccessor(1)))
            continue;
        llvm::IRBuilder<> builder(branch);
        llvm::Value *condition = branch->getCondition();
        builder.CreateCall(check, first ? condition : builder.CreateNot(condition));
        branch->getSuccessor(first ? 0 : 1)->removePredecessor(&block);
        builder.CreateBr(branch->getSuccessor(first ? 1 : 0));
        branch->eraseFromParent();
        return true;
    }
    return false;
}

} // namespace

void mark_aborts(llvm::Module &module)
{
    for (llvm::Function &function : module) {
        if (is_abort(&function))
            function.setDoesNotReturn();
    }
}

void branches_to_checks(llvm::Module &module)
{
    Failing failing(module);
    llvm::LLVMContext &context = module.getContext();
    llvm::FunctionCallee check =
        module.getOrInsertFunction(CHECK_NAME, llvm::Type::getVoidTy(context), llvm::Type::getInt1Ty(context));

    for (llvm::Function &function : module) {
        llvm::SetVector<const llvm::BasicBlock *> ends;
        for (bool more = true; more;) {
            more = false;
            for (const llvm::BasicBlock &block : function)
                more |= !ends.contains(&block) && failing.block(block, ends) && ends.insert(&block);
        }
        while (!ends.empty() && cut_one(function, ends, check)) {
        }
        if (!function.isDeclaration())
            llvm::removeUnreachableBlocks(function);
    }
}

void checks_to_branches(llvm::Module &module)
{
    llvm::Function *check = module.getFunction(CHECK_NAME);
    llvm::LLVMContext &context = module.getContext();
    llvm::Type *text = llvm::PointerType::getUnqual(llvm::Type::getInt8Ty(context));

    if (!check)
        return;
    while (!check->use_empty()) {
        auto *call = llvm::cast<llvm::CallInst>(check->user_back());
        llvm::FunctionCallee fail = module.getOrInsertFunction("__assert_fail", llvm::Type::getVoidTy(context), text,
                                                               text, llvm::Type::getInt32Ty(context), text);
        llvm::Instruction *end = llvm::SplitBlockAndInsertIfThen(call->getArgOperand(0), call, true);
        llvm::IRBuilder<> builder(end);
        llvm::StringRef file = "unknown";
        unsigned line = 0;
        if (const llvm::DebugLoc &place = call->getDebugLoc()) {
            file = llvm::cast<llvm::DIScope>(place.getScope())->getFilename();
            line = place.getLine();
            builder.SetCurrentDebugLocation(place);
        }
        builder.CreateCall(fail,
                           {builder.CreateGlobalStringPtr(CHECK_MESSAGE), builder.CreateGlobalStringPtr(file),
                            builder.getInt32(line), builder.CreateGlobalStringPtr(call->getFunction()->getName())});
        call->eraseFromParent();
    }
    check->eraseFromParent();
}

} // namespace skeleton
