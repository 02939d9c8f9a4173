// SPDX-License-Identifier: Apache-2.0
#include "convergence.hpp"

#include "library_calls.hpp"
#include "mpi_calls.hpp"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

namespace skeleton
{

namespace
{

constexpr unsigned DEPTH_MAX = 8; // maximum nesting of conditions

// Make a loop count its passes through a branch, and end at pass number `rounds`. The count starts again each time that
// the loop is entered.
void count_rounds(llvm::BranchInst &branch, const llvm::Loop &loop, unsigned long rounds)
{
    llvm::BasicBlock *header = loop.getHeader();
    llvm::Function *function = header->getParent();
    llvm::IRBuilder<> entry(&*function->getEntryBlock().getFirstInsertionPt());
    llvm::Type *number = entry.getInt64Ty();
    llvm::AllocaInst *counter = entry.CreateAlloca(number, nullptr, "rounds");

    for (llvm::BasicBlock *before : llvm::predecessors(header)) {
        if (!loop.contains(before))
            llvm::IRBuilder<>(before->getTerminator()).CreateStore(entry.getInt64(0), counter);
    }
    llvm::IRBuilder<> builder(&branch);
    llvm::Value *passed = builder.CreateAdd(builder.CreateLoad(number, counter), builder.getInt64(1));
    builder.CreateStore(passed, counter);
    bool stays_if_true = loop.contains(branch.getSuccessor(0));
    llvm::Value *on = builder.CreateICmpULT(passed, builder.getInt64(rounds));
    llvm::Value *condition = branch.getCondition();
    branch.setCondition(stays_if_true ? builder.CreateAnd(condition, on)
                                      : builder.CreateOr(condition, builder.CreateNot(on)));
}

} // namespace

std::vector<Convergence::Test> Convergence::cut(unsigned long rounds)
{
    std::vector<Test> tests;

    for (llvm::Function *function : program.functions) {
        if (!program.communicating.contains(function))
            continue;
        llvm::DominatorTree tree(*function);
        llvm::LoopInfo information(tree);
        dominators = &tree;
        loops = &information;
        for (llvm::Loop *loop : information.getLoopsInPreorder())
            cut_loop(loop, tests, rounds);
    }
    return tests;
}

void Convergence::cut_loop(llvm::Loop *loop, std::vector<Test> &tests, unsigned long rounds)
{
    llvm::SmallVector<llvm::BasicBlock *, 8> exiting;
    std::vector<llvm::BranchInst *> cut;
    unsigned other = 0;

    if (!communicates(*loop))
        return;
    enter(*loop);
    loop->getExitingBlocks(exiting);
    for (llvm::BasicBlock *block : exiting) {
        auto *branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
        if (!branch || loops->getLoopFor(block) != loop) {
            other++;
            continue;
        }
        bool stays_if_true = loop->contains(branch->getSuccessor(0));
        if (cut_leaves(branch->getOperandUse(0), stays_if_true, *loop, 0))
            cut.push_back(branch);
        if (!llvm::isa<llvm::ConstantInt>(branch->getCondition()))
            other++;
    }
    for (llvm::BranchInst *branch : cut) {
        tests.push_back({branch, other > 0 || rounds > 0});
        if (rounds)
            count_rounds(*branch, *loop, rounds);
    }
}

// Find the functions that a loop calls, directly or indirectly, and determine whether the loop completes requests.
void Convergence::enter(const llvm::Loop &loop)
{
    entered = &loop;
    called.clear();
    completes = false;
    for (const llvm::BasicBlock *block : loop.blocks()) {
        for (const llvm::Instruction &instruction : *block)
            enter(instruction);
    }
    for (size_t i = 0; i < called.size(); i++) {
        for (const llvm::Instruction &instruction : llvm::instructions(*called[i]))
            enter(instruction);
    }
}

void Convergence::enter(const llvm::Instruction &instruction)
{
    const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);

    if (!call)
        return;
    const llvm::Function *function = call->getCalledFunction();
    if (const MpiCall *entry = function ? mpi_call(function->getName()) : nullptr) {
        llvm::StringRef name = entry->name;
        completes |= entry->role == Role::Effect && (name.take_front(4) == "Wait" || name.take_front(4) == "Test");
    }
    for (const llvm::Function *callee : pointers.callees(*call))
        called.insert(callee);
    for (const llvm::Function *callback : pointers.callbacks(*call))
        called.insert(callback);
}

// Return whether an MPI call may write received data (and not a handle or a status) while the loop runs. This includes
// non-blocking calls before the loop, if the loop completes requests.
bool Convergence::receives_in_loop(const Writer &writer) const
{
    const auto &call = *llvm::cast<llvm::CallBase>(writer.instruction);
    const MpiCall &entry = *mpi_call(call.getCalledFunction()->getName());
    Parameter kind = parameter_of(entry.parameters[writer.index]);
    llvm::StringRef name = entry.name;
    bool by_request = name.take_front(1) == "I" || name.contains("_init");

    if (entry.role == Role::File || (kind != Parameter::Received && kind != Parameter::Both))
        return false;
    return entered->contains(&call) || called.contains(call.getFunction()) || (by_request && completes);
}

// Remove the tests for convergence from a condition, which may combine several tests. A single test is replaced by
// `constant`. A test in a conjunction or disjunction is replaced by the constant that leaves the decision to the other
// tests. Returns whether a test was removed.
bool Convergence::cut_leaves(llvm::Use &use, bool constant, const llvm::Loop &loop, unsigned depth)
{
    using namespace llvm::PatternMatch;
    llvm::Value *condition = use.get();
    auto *made = llvm::dyn_cast<llvm::Instruction>(condition);
    llvm::Value *first;
    llvm::Value *second;
    bool found = false;

    if (!made || depth > DEPTH_MAX)
        return false;
    if (match(made, m_Not(m_Value(first))))
        return cut_leaves(made->getOperandUse(made->getOperand(0) == first ? 0 : 1), !constant, loop, depth + 1);
    if (match(made, m_LogicalAnd(m_Value(first), m_Value(second))) ||
        match(made, m_LogicalOr(m_Value(first), m_Value(second)))) {
        bool neutral = match(made, m_LogicalAnd(m_Value(first), m_Value(second)));
        for (llvm::Use &operand : made->operands()) {
            if (operand->getType()->isIntegerTy(1))
                found |= cut_leaves(operand, neutral, loop, depth + 1);
        }
        return found;
    }
    auto *phi = llvm::dyn_cast<llvm::PHINode>(made);
    if (phi && loop.contains(phi->getParent()) && !loops->isLoopHeader(phi->getParent()) &&
        phi->getType()->isIntegerTy(1)) {
        bool alone = true;
        for (llvm::Use &incoming : phi->incoming_values())
            alone &= llvm::isa<llvm::ConstantInt>(incoming.get());
        if (!alone) {
            for (llvm::Use &incoming : phi->incoming_values())
                found |= cut_leaves(incoming, constant, loop, depth + 1);
            return found;
        }
    }
    seen.clear();
    readings_seen.clear();
    sources_seen.clear();
    if (!received(condition, false))
        return false;
    use.set(llvm::ConstantInt::getBool(condition->getContext(), constant));
    return true;
}

bool Convergence::received(const llvm::Value *value, bool compared)
{
    if (!seen.insert({value, compared}).second)
        return false;
    if (const auto *parameter = llvm::dyn_cast<llvm::Argument>(value)) {
        for (const llvm::CallBase *call : program.callers[parameter->getParent()]) {
            if (parameter->getArgNo() < call->arg_size() &&
                received(call->getArgOperand(parameter->getArgNo()), compared))
                return true;
        }
        return false;
    }
    const auto *instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || llvm::isa<llvm::AllocaInst>(instruction))
        return false;
    if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(instruction))
        return received_in(*load, compared);
    if (const auto *call = llvm::dyn_cast<llvm::CallBase>(instruction))
        return received_through(*call, compared);
    const auto *phi = llvm::dyn_cast<llvm::PHINode>(instruction);
    if (phi && received_by_choice(*phi, compared))
        return true;
    compared |= llvm::isa<llvm::FCmpInst>(instruction);
    for (const llvm::Value *operand : instruction->operands()) {
        if (received(operand, compared))
            return true;
    }
    return false;
}

// Return whether received data decides which branch sets a value, as in `done = 0; if (residual < tolerance) done = 1;`
bool Convergence::received_by_choice(const llvm::PHINode &phi, bool compared)
{
    if (loops->isLoopHeader(phi.getParent()) || !dominators->isReachableFromEntry(phi.getParent()) ||
        phi.getFunction() != dominators->getRoot()->getParent())
        return false;
    const llvm::BasicBlock *top = dominators->getNode(phi.getParent())->getIDom()->getBlock();
    for (const llvm::BasicBlock *block : phi.blocks()) {
        const auto *branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
        if (branch && branch->isConditional() && dominators->dominates(top, block) &&
            received(branch->getCondition(), compared))
            return true;
    }
    const auto *branch = llvm::dyn_cast<llvm::BranchInst>(top->getTerminator());
    return branch && branch->isConditional() && received(branch->getCondition(), compared);
}

bool Convergence::received_in(const llvm::LoadInst &load, bool compared)
{
    for (unsigned object : pointers.of(load.getPointerOperand())) {
        Reading reading = memory.reading_of(load, object);
        int64_t first = reading.range ? reading.range->first : 0;
        uint64_t bytes = reading.range ? reading.range->bytes : 0;
        if (!readings_seen.insert({object, reading.tags.TBAA, reading.type, first, bytes, compared}).second)
            continue;
        for (const Writer &writer : memory.writers(object)) {
            if (!memory.may_write(writer, object, reading))
                continue;
            if (writer.how == Writer::Mpi) {
                if (compared && receives_in_loop(writer))
                    return true;
            } else if (writer.how == Writer::Stores) {
                if (received(llvm::cast<llvm::StoreInst>(writer.instruction)->getValueOperand(), compared))
                    return true;
            } else if (writer.how == Writer::Copies && compared) {
                for (unsigned source : pointers.of(writer.source)) {
                    if (copied_from_received(source))
                        return true;
                }
            }
        }
    }
    return false;
}

// Return whether MPI writes received data into an object in the loop. Returns false if this object was already examined
// for the same condition.
bool Convergence::copied_from_received(unsigned source)
{
    if (!sources_seen.insert(source).second)
        return false;
    return llvm::any_of(memory.writers(source),
                        [&](const Writer &writer) { return writer.how == Writer::Mpi && receives_in_loop(writer); });
}

bool Convergence::received_through(const llvm::CallBase &call, bool compared)
{
    const auto &callees = pointers.callees(call);

    for (const llvm::Function *callee : callees) {
        for (const llvm::BasicBlock &block : *callee) {
            const auto *end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
            if (end && end->getReturnValue() && received(end->getReturnValue(), compared))
                return true;
        }
    }
    if (!callees.empty())
        return false;
    // The result of a library function, such as sqrt(), fabs() or fmax(), depends on its arguments.
    for (const llvm::Value *argument : call.args()) {
        if (argument->getType()->isFloatingPointTy() && received(argument, compared))
            return true;
    }
    return false;
}

bool Convergence::communicates(const llvm::Loop &loop) const
{
    for (const llvm::BasicBlock *block : loop.blocks()) {
        for (const llvm::Instruction &instruction : *block) {
            const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            if (call && program.communicates(*call))
                return true;
        }
    }
    return false;
}

} // namespace skeleton
