// SPDX-License-Identifier: Apache-2.0
// Follows pointers through calls into functions of the program, libraries and MPI.
#include "pointers.hpp"

#include "library_calls.hpp"
#include "mpi_calls.hpp"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace skeleton
{

void Pointers::call(const llvm::CallBase &call)
{
    if (const auto *transfer = llvm::dyn_cast<llvm::MemTransferInst>(&call)) {
        copy_memory(node(transfer->getRawSource()), node(transfer->getRawDest()));
        return;
    }
    if (llvm::isa<llvm::IntrinsicInst>(call)) {
        for (const llvm::Value *argument : call.args()) {
            if (may_hold_pointer(call.getType()) && may_hold_pointer(argument->getType()))
                copy(node(argument), node(&call));
        }
        return;
    }
    if (llvm::Function *function = call.getCalledFunction()) {
        if (!function->isDeclaration())
            enter(call, *function);
        else if (mpi_call(function->getName()))
            mpi(call);
        else
            library(call);
    } else if (call.isInlineAsm()) {
        unknown(call);
    } else {
        unsigned target = node(call.getCalledOperand());
        nodes[target].calls.push_back(&call);
        pending.push_back(target);
    }
}

void Pointers::library(const llvm::CallBase &call)
{
    const LibraryCall &entry = *library_call(call);
    unsigned made = call.getType()->isPointerTy() ? node(&call) : fresh();

    if (entry.kind == Library::Unknown) {
        unknown(call);
        return;
    }
    if (entry.kind == Library::Allocates) {
        unsigned object = object_of(Object::Heap, &call);
        int argument = allocated_argument(call.getCalledFunction()->getName());
        if (argument >= 0) {
            point(made = fresh(), object);
            store(made, node(call.getArgOperand(argument)));
            return;
        }
        point(made, object);
    }
    if (entry.state && call.getType()->isPointerTy())
        point(made, hidden(entry.state));
    for (unsigned i = 0; i < call.arg_size(); i++) {
        const llvm::Value *argument = call.getArgOperand(i);
        if (!returns_argument(entry, i) || !may_hold_pointer(argument->getType()))
            continue;
        copy(node(argument), made);
        if (entry.kind == Library::Allocates)
            copy_memory(node(argument), made);
        // Pointers that the function writes into other memory may point into this memory, as strtol()'s end pointer
        // does.
        for (unsigned j = 0; j < call.arg_size(); j++) {
            if (j != i && writes_argument(entry, j) && call.getArgOperand(j)->getType()->isPointerTy())
                store(node(argument), node(call.getArgOperand(j)));
        }
    }
    if (entry.kind == Library::Listed && llvm::StringRef(entry.name).empty() && call.onlyReadsMemory())
        load(made, made);
}

// Follow a call of an unknown function. Its calls are assumed to share memory: in any memory that the arguments of one
// call reach, the function may store pointers to any memory that the arguments of any of its calls reach.
void Pointers::unknown(const llvm::CallBase &call)
{
    const llvm::Function *function = call.getCalledFunction();
    llvm::StringRef name = function ? function->getName() : "";
    auto found = unknown_nodes.find(name);
    unsigned mixed;

    if (found != unknown_nodes.end()) {
        mixed = found->second;
    } else {
        mixed = fresh();
        unknown_nodes[name] = mixed;
        point(mixed, outside());
        load(mixed, mixed);
        store(mixed, mixed);
        copy(mixed, foreign);
    }
    for (const llvm::Value *argument : call.args()) {
        if (!may_hold_pointer(argument->getType()))
            continue;
        copy(node(argument), mixed);
        // A callback is passed directly, or in a structure that an argument points to. Functions that can be reached
        // only through further pointers are assumed not to be callbacks.
        unsigned functions = fresh();
        nodes[functions].handed_to.push_back(&call);
        copy(node(argument), functions);
        load(node(argument), functions);
    }
    if (may_hold_pointer(call.getType()))
        copy(mixed, node(&call));
}

void Pointers::mpi(const llvm::CallBase &call)
{
    const MpiCall &entry = *mpi_call(call.getCalledFunction()->getName());
    llvm::StringRef letters(entry.parameters);
    unsigned made = fresh();

    if (llvm::StringRef(entry.name) == "Alloc_mem")
        point(made, object_of(Object::Heap, &call));
    else
        point(made, outside());
    if (llvm::StringRef(entry.name).contains("et_attr")) {
        store(node(call.getArgOperand(2)), made);
        load(made, made);
    }
    for (unsigned i = 0; i < letters.size() && i < call.arg_size(); i++) {
        const llvm::Value *argument = call.getArgOperand(i);
        Parameter kind = parameter_of(letters[i]);
        if (kind == Parameter::Output || kind == Parameter::Handle) {
            store(made, node(argument));
        } else if (kind == Parameter::Callback) {
            unsigned function = node(argument);
            nodes[function].handed_to.push_back(&call);
            pending.push_back(function);
        }
    }
}

void Pointers::enter(const llvm::CallBase &call, llvm::Function &function)
{
    if (!entered[&call].insert(&function))
        return;
    for (llvm::Argument &parameter : function.args()) {
        if (parameter.getArgNo() >= call.arg_size())
            break;
        const llvm::Value *argument = call.getArgOperand(parameter.getArgNo());
        if (parameter.hasByValAttr()) {
            point(node(&parameter), object_of(Object::Copy, &parameter));
            copy_memory(node(argument), node(&parameter));
        } else if (may_hold_pointer(argument->getType())) {
            copy(node(argument), node(&parameter));
        }
    }
    if (may_hold_pointer(call.getType()))
        copy(result(&function), node(&call));
}

void Pointers::hand_over(const llvm::CallBase &call, llvm::Function &function)
{
    if (!handed[&call].insert(&function))
        return;
    const llvm::Function *called = call.getCalledFunction();
    bool reduction = called && mpi_call(called->getName());
    for (llvm::Argument &parameter : function.args()) {
        if (reduction)
            point(node(&parameter), hidden("reduction"));
        else
            copy(unknown_nodes[called ? called->getName() : ""], node(&parameter));
    }
    if (!reduction && may_hold_pointer(function.getReturnType()))
        copy(result(&function), unknown_nodes[called ? called->getName() : ""]);
}

} // namespace skeleton
