// SPDX-License-Identifier: Apache-2.0
// Marks what a kept call needs. For MPI and libraries, tables list this; for functions of the program, it follows from
// their bodies.
#include "marking.hpp"

#include "library_calls.hpp"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace skeleton
{

void Marking::call(llvm::CallBase &call)
{
    const llvm::Function *function = call.getCalledFunction();

    if (llvm::isa<llvm::IntrinsicInst>(call)) {
        for (llvm::Value *argument : call.args())
            need(argument);
        if (auto *writing = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {
            if (!stays_inside(writing->getRawDest(), call.getFunction()))
                has_effect(call.getFunction());
        }
        return;
    }
    if (const MpiCall *entry = function ? mpi_call(function->getName()) : nullptr) {
        mpi(call, *entry);
        return;
    }
    if (!function)
        need(call.getCalledOperand());
    for (llvm::Function *callee : pointers.callees(call))
        enter(call, *callee);
    if (pointers.may_leave(call))
        library(call);
}

void Marking::enter(llvm::CallBase &call, llvm::Function &function)
{
    for (llvm::Argument &parameter : function.args()) {
        if (parameter.getArgNo() >= call.arg_size())
            break;
        if (parameters.contains(&parameter) || parameter.hasByValAttr())
            need(call.getArgOperand(parameter.getArgNo()));
    }
}

void Marking::library(llvm::CallBase &call)
{
    const LibraryCall &entry = *library_call(call);
    // Like realloc(), the function may return a new address for the memory of its first argument.
    bool moves = entry.kind == Library::Allocates && entry.parameters[0] == 'A';
    bool writes = entry.kind == Library::Unknown || entry.kind == Library::Frees || entry.kind == Library::Ends ||
                  entry.kind == Library::Effect || entry.state;

    for (unsigned i = 0; i < call.arg_size(); i++) {
        llvm::Value *argument = call.getArgOperand(i);
        need(argument);
        if (entry.kind == Library::Unknown)
            read_all(pointers.reachable_from(argument));
        else if (reads_argument(entry, i) && !moves)
            read_all(pointers.of(argument));
        if (writes_argument(entry, i) && !stays_inside(argument, call.getFunction()))
            writes = true;
    }
    if (entry.state)
        read(pointers.hidden(entry.state), Reading());
    for (llvm::Function *function : pointers.callbacks(call))
        hand_over(call, *function);
    if (writes)
        has_effect(call.getFunction());
}

// Keep all arguments and the result of a function that is passed to a library. The library may call the function with
// any data that it has received, and may use the return value.
void Marking::hand_over(llvm::CallBase &call, llvm::Function &function)
{
    need_result(&function);
    for (llvm::Argument &parameter : function.args())
        parameters.insert(&parameter);
    for (llvm::Value *argument : call.args())
        need(argument);
}

void Marking::mpi(llvm::CallBase &call, const MpiCall &entry)
{
    llvm::StringRef letters(entry.parameters);
    bool lasting = entry.role != Role::Query;
    Reading numbers; // counts, handles or names, but no floating-point numbers
    numbers.type = llvm::Type::getInt32Ty(call.getContext());

    for (unsigned i = 0; i < letters.size() && i < call.arg_size(); i++) {
        llvm::Value *argument = call.getArgOperand(i);
        Parameter kind = parameter_of(letters[i]);
        need(argument);
        if (kind == Parameter::Array || kind == Parameter::Handle) {
            for (unsigned object : pointers.of(argument))
                read(object, numbers);
        }
        if (kind == Parameter::Output || kind == Parameter::Handle)
            lasting |= !stays_inside(argument, call.getFunction());
    }
    if (lasting)
        has_effect(call.getFunction());
}

// Return whether two different handles are constants that certainly denote types or operators that do not match. In
// Open MPI, constant handles are addresses of variables, whose names show which types are bytes or packed data; these
// match any type. In MPICH, constant handles are numbers, about which nothing is assumed.
static bool handles_differ(const llvm::Value *first, const llvm::Value *second)
{
    for (const llvm::Value *handle : {first, second}) {
        if (!llvm::isa<llvm::GlobalVariable>(handle) || handle->getName().contains("byte") ||
            handle->getName().contains("packed"))
            return false;
    }
    return true;
}

// Return whether two different tags are both constants, so that their messages do not match. MPI_ANY_TAG, which is
// negative, matches any tag.
static bool tags_differ(const llvm::Value *received, const llvm::Value *sent)
{
    const auto *wanted = llvm::dyn_cast<llvm::ConstantInt>(received);

    return wanted && !wanted->isNegative() && llvm::isa<llvm::ConstantInt>(sent);
}

// Return whether data that one call sends may be received by another call, as far as their datatypes, tags and
// operators are known.
bool Marking::may_match(const llvm::CallBase &receiving, unsigned index, const llvm::CallBase &sending,
                        unsigned sent) const
{
    const MpiCall &from = *mpi_call(sending.getCalledFunction()->getName());
    const MpiCall &to = *mpi_call(receiving.getCalledFunction()->getName());

    for (Parameter kind : {Parameter::Type, Parameter::Tag, Parameter::Operator}) {
        if (kind == Parameter::Tag &&
            (llvm::StringRef(from.parameters).contains('b') || llvm::StringRef(to.parameters).contains('b')))
            continue; // a call whose buffer is sent and received has two tags, one for each direction
        const llvm::Value *first = next_of(receiving, to, index, kind);
        const llvm::Value *second = next_of(sending, from, sent, kind);
        if (!first || !second)
            continue;
        first = first->stripPointerCasts();
        second = second->stripPointerCasts();
        if (first != second && (kind == Parameter::Tag ? tags_differ(first, second) : handles_differ(first, second)))
            return false;
    }
    return true;
}

// Keep the computation of the data that is sent to a buffer, because the data that MPI writes into the buffer affects
// communication.
void Marking::received(const llvm::CallBase &call, const MpiCall &entry, unsigned index)
{
    if (!received_seen.insert({&call, index}).second)
        return;
    deciding_calls.insert(&call);
    auto sent_by = [&](const llvm::CallBase &sending, const MpiCall &sender) {
        llvm::StringRef letters(sender.parameters);
        for (unsigned i = 0; i < letters.size() && i < sending.arg_size(); i++) {
            bool in_place = sender.role == Role::Collective && letters[i] == 'r';
            if ((letters[i] == 's' || letters[i] == 'b' || in_place) && may_match(call, index, sending, i))
                read_all(memory.buffer(sending, i));
        }
    };
    if (entry.role == Role::Local) {
        sent_by(call, entry);
        return;
    }
    for (llvm::Function *function : program.functions) {
        for (Instruction &instruction : llvm::instructions(*function)) {
            const auto *sending = llvm::dyn_cast<llvm::CallBase>(&instruction);
            const llvm::Function *callee = sending ? sending->getCalledFunction() : nullptr;
            const MpiCall *sender = callee ? mpi_call(callee->getName()) : nullptr;
            if (sender && sender->role == entry.role && (entry.role != Role::Collective || sender == &entry))
                sent_by(*sending, *sender);
        }
    }
    if (entry.role == Role::Collective)
        read(pointers.hidden("reduction"), Reading());
}

} // namespace skeleton
