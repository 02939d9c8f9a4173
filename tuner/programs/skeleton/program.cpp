// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "mpi_calls.hpp"
#include "refusal.hpp"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace skeleton
{

// Add the functions that a constant refers to. For example, the constant is the list of constructors or destructors of
// global objects.
static void functions_in(llvm::Constant *constant, llvm::SetVector<llvm::Function *> &found)
{
    if (auto *function = llvm::dyn_cast<llvm::Function>(constant)) {
        if (!function->isDeclaration())
            found.insert(function);
        return;
    }
    if (llvm::isa<llvm::GlobalVariable>(constant))
        return;
    for (llvm::Value *operand : constant->operands())
        functions_in(llvm::cast<llvm::Constant>(operand), found);
}

Program::Program(llvm::Module &module, Pointers &pointers) : pointers(pointers)
{
    llvm::Function *main = module.getFunction("main");

    if (!main || main->isDeclaration())
        refuse(nullptr, "there is no main() in these files: give all files of the program at once");
    functions.insert(main);
    for (const char *list : {"llvm.global_ctors", "llvm.global_dtors"}) {
        llvm::GlobalVariable *variable = module.getNamedGlobal(list);
        if (variable && variable->hasInitializer())
            functions_in(variable->getInitializer(), functions);
    }
    for (unsigned i = 0; i < functions.size(); i++)
        reach(functions[i]);
    std::vector<const llvm::Function *> todo(communicating.begin(), communicating.end());
    while (!todo.empty()) {
        const llvm::Function *function = todo.back();
        todo.pop_back();
        for (const llvm::CallBase *caller : callers[function]) {
            if (communicating.insert(caller->getFunction()))
                todo.push_back(caller->getFunction());
        }
    }
}

void Program::reach(llvm::Function *function)
{
    for (llvm::Instruction &instruction : llvm::instructions(*function)) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (!call)
            continue;
        for (llvm::Function *callee : pointers.callees(*call)) {
            functions.insert(callee);
            callers[callee].push_back(call);
        }
        for (llvm::Function *callback : pointers.callbacks(*call)) {
            functions.insert(callback);
            callers[callback].push_back(call);
        }
        const llvm::Function *callee = call->getCalledFunction();
        const MpiCall *entry = callee ? mpi_call(callee->getName()) : nullptr;
        if (entry && entry->role != Role::Query && entry->role != Role::Local && entry->role != Role::Exit)
            communicating.insert(function);
    }
}

bool Program::communicates(const llvm::CallBase &call) const
{
    const llvm::Function *callee = call.getCalledFunction();
    const MpiCall *entry = callee ? mpi_call(callee->getName()) : nullptr;

    if (entry)
        return entry->role != Role::Query && entry->role != Role::Local && entry->role != Role::Exit;
    for (const llvm::Function *function : pointers.callees(call)) {
        if (communicating.contains(function))
            return true;
    }
    return false;
}

} // namespace skeleton
