// SPDX-License-Identifier: Apache-2.0
#include "marking.hpp"

#include "library_calls.hpp"
#include "refusal.hpp"

#include "llvm/IR/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace skeleton
{

namespace
{

constexpr unsigned CHEAP_DEPTH_MAX = 8; // maximum length of a chain of instructions that only a check needs

const llvm::Function *library_function(const llvm::CallBase *call)
{
    const llvm::Function *function = call ? call->getCalledFunction() : nullptr;

    return function && function->isDeclaration() && !mpi_call(function->getName()) ? function : nullptr;
}

bool is_check(const llvm::CallBase *call)
{
    const llvm::Function *function = library_function(call);
    return function && function->getName() == CHECK_NAME;
}

} // namespace

void Marking::run()
{
    roots();
    settle();
    while (releases() || meetings() || checks())
        settle();
}

// Keep the calls that every skeleton needs.
void Marking::roots()
{
    for (llvm::Function *function : program.functions) {
        for (Instruction &instruction : llvm::instructions(*function)) {
            auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
            if (!callee || !callee->isDeclaration() || llvm::isa<llvm::IntrinsicInst>(call))
                continue;
            if (const MpiCall *entry = mpi_call(callee->getName())) {
                if (entry->role != Role::Query && entry->role != Role::Local)
                    keep(call);
                continue;
            }
            Library kind = library_call(*call)->kind;
            if (kind == Library::Effect || (kind == Library::Ends && !is_failure(*call)))
                keep(call);
        }
    }
}

void Marking::settle()
{
    while (!pending.empty() || !pending_readings.empty()) {
        if (pending.empty()) {
            auto [object, reading] = pending_readings.back();
            pending_readings.pop_back();
            find_writers(object, reading);
            continue;
        }
        Instruction *instruction = pending.back();
        pending.pop_back();
        follow(instruction);
    }
}

void Marking::keep(Instruction *instruction)
{
    if (marked.insert(instruction))
        pending.push_back(instruction);
}

void Marking::need(llvm::Value *value)
{
    if (auto *parameter = llvm::dyn_cast<llvm::Argument>(value)) {
        need_parameter(parameter);
    } else if (auto *call = llvm::dyn_cast<llvm::CallBase>(value)) {
        keep(call);
        for (llvm::Function *callee : pointers.callees(*call))
            need_result(callee);
    } else if (auto *instruction = llvm::dyn_cast<Instruction>(value)) {
        keep(instruction);
    }
}

void Marking::need_operands(llvm::User *user)
{
    for (llvm::Value *operand : user->operands())
        need(operand);
}

void Marking::need_parameter(llvm::Argument *parameter)
{
    if (!parameters.insert(parameter))
        return;
    for (llvm::CallBase *caller : program.callers[parameter->getParent()]) {
        if (kept(caller) && parameter->getArgNo() < caller->arg_size())
            need(caller->getArgOperand(parameter->getArgNo()));
    }
}

void Marking::need_result(llvm::Function *function)
{
    if (!results.insert(function))
        return;
    for (llvm::BasicBlock &block : *function) {
        if (llvm::isa<llvm::ReturnInst>(block.getTerminator()))
            keep(block.getTerminator());
    }
    for (Instruction *branch : control.never_meeting(function))
        keep(branch);
}

// Keep everything that decides whether a block runs. A block with kept instructions must run exactly when it would run
// in the application.
void Marking::block(llvm::BasicBlock *block)
{
    if (!blocks.insert(block))
        return;
    for (Instruction *branch : control.deciding(block))
        keep(branch);
    // A program may call MPI_Finalize() and then exit(1). If exit(1) were removed, the skeleton would continue with the
    // code that follows.
    for (Instruction &instruction : *block) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (library_function(call) && library_call(*call)->kind == Library::Ends)
            keep(call);
    }
}

// Keep all calls of a function that has a lasting effect.
void Marking::has_effect(llvm::Function *function)
{
    if (!effects.insert(function))
        return;
    for (Instruction *branch : control.never_meeting(function))
        keep(branch);
    for (llvm::CallBase *caller : program.callers[function]) {
        keep(caller);
        has_effect(caller->getFunction());
    }
}

void Marking::follow(Instruction *instruction)
{
    llvm::Function *function = instruction->getFunction();

    if (function->isVarArg())
        refuse(instruction, "the function " + function->getName() +
                                "() takes a variable number of arguments, which is not supported: give it a fixed "
                                "number of parameters");
    block(instruction->getParent());
    if (auto *call_site = llvm::dyn_cast<llvm::CallBase>(instruction)) {
        call(*call_site);
        return;
    }
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
        need(load->getPointerOperand());
        read_by(*load);
    } else if (auto *phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
        for (llvm::BasicBlock *from : phi->blocks())
            block(from);
        need_operands(phi);
    } else {
        need_operands(instruction);
        if (auto *store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
            if (!stays_inside(store->getPointerOperand(), function))
                has_effect(function);
        } else if (instruction->mayReadFromMemory()) { // atomic operations
            read_all(pointers.of(instruction->getOperand(0)));
            has_effect(function);
        }
    }
}

// Return whether an address points only to local memory of the function, which nothing can read after the function has
// returned.
bool Marking::stays_inside(const llvm::Value *address, const llvm::Function *function) const
{
    const Objects &targets = pointers.of(address);

    if (targets.empty())
        return false;
    for (unsigned target : targets) {
        const Object &object = pointers.object(target);
        const auto *alloca = llvm::dyn_cast_or_null<llvm::AllocaInst>(object.site);
        const auto *copy = llvm::dyn_cast_or_null<llvm::Argument>(object.site);
        if (!(object.kind == Object::Stack && alloca->getFunction() == function) &&
            !(object.kind == Object::Copy && copy->getParent() == function))
            return false;
    }
    return true;
}

// Keep the calls that free memory whose allocation is kept, because the skeleton could run out of memory otherwise.
// Returns whether anything was marked.
bool Marking::releases()
{
    size_t before = marked.size();

    for (llvm::Function *function : program.functions) {
        for (Instruction &instruction : llvm::instructions(*function)) {
            auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            if (!library_function(call) || library_call(*call)->kind != Library::Frees || kept(call))
                continue;
            for (unsigned object : pointers.of(call->getArgOperand(0))) {
                const auto *made = llvm::dyn_cast_or_null<Instruction>(pointers.object(object).site);
                if (pointers.object(object).kind == Object::Heap && kept(made))
                    keep(call);
            }
        }
    }
    return marked.size() > before;
}

// Keep branches that select the value of a kept phi node where their paths meet, because a branch that is not kept
// becomes a jump to this point. Returns whether anything was marked.
bool Marking::meetings()
{
    size_t before = marked.size();

    for (llvm::Function *function : program.functions) {
        for (llvm::BasicBlock &from : *function) {
            Instruction *branch = from.getTerminator();
            if (branch->getNumSuccessors() < 2 || kept(branch))
                continue;
            llvm::BasicBlock *end = control.meeting(&from);
            if (!end)
                continue;
            for (llvm::PHINode &phi : end->phis()) {
                if (kept(&phi) && phi.getBasicBlockIndex(&from) < 0)
                    keep(branch);
            }
        }
    }
    return marked.size() > before;
}

// Keep the application's checks for failures whose conditions are cheap to compute (see is_cheap). Returns whether
// anything was marked.
bool Marking::checks()
{
    size_t before = marked.size();

    for (llvm::Function *function : program.functions) {
        for (Instruction &instruction : llvm::instructions(*function)) {
            auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            if (is_check(call) && !kept(call) && blocks.contains(call->getParent()) &&
                is_cheap(call->getArgOperand(0), 0))
                keep(call);
        }
    }
    return marked.size() > before;
}

bool Marking::is_cheap(const llvm::Value *value, unsigned depth) const
{
    if (llvm::isa<llvm::Constant>(value))
        return true;
    if (const auto *parameter = llvm::dyn_cast<llvm::Argument>(value))
        return parameters.contains(parameter) || parameter->getParent()->getName() == "main";
    const auto *instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || depth > CHEAP_DEPTH_MAX)
        return false;
    if (const auto *call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
        const auto &callees = pointers.callees(*call);
        return kept(call) &&
               llvm::all_of(callees, [&](const llvm::Function *callee) { return results.contains(callee); });
    }
    if (kept(instruction))
        return true;
    if (instruction->mayReadOrWriteMemory() || llvm::isa<llvm::PHINode>(instruction))
        return false;
    return llvm::all_of(instruction->operands(),
                        [&](const llvm::Value *operand) { return is_cheap(operand, depth + 1); });
}

} // namespace skeleton
