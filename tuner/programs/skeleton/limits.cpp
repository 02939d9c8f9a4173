// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"

#include "library_calls.hpp"
#include "mpi_calls.hpp"
#include "refusal.hpp"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

#include <set>

namespace skeleton
{

namespace
{

constexpr char REPLAY[] = "record a trace of the application and replay that (docs/how-to/proxy.md)";

std::string readable(const llvm::Value &value)
{
    return llvm::demangle(value.getName().str());
}

bool is_only_read(const llvm::Value &address)
{
    return llvm::all_of(address.users(), [](const llvm::User *user) {
        return llvm::isa<llvm::LoadInst>(user) || (llvm::isa<llvm::GEPOperator>(user) && is_only_read(*user)) ||
               (llvm::isa<llvm::BitCastOperator>(user) && is_only_read(*user));
    });
}

// Return the program's global variable that an address certainly points into, if this variable may change; otherwise
// return null.
const llvm::GlobalVariable *changing_global(const llvm::Value *address)
{
    const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(address->stripInBoundsOffsets());

    if (!variable || variable->isConstant() || variable->isDeclaration() || is_only_read(*variable))
        return nullptr;
    llvm::StringRef name = variable->getName();
    bool made_by_compiler = name.contains("__ioinit") || name.take_front(4) == "_ZGV" || name.take_front(2) == "__" ||
                            name.take_front(5) == "llvm.";
    return made_by_compiler ? nullptr : variable;
}

void refuse_global(const llvm::Instruction &instruction, const llvm::Value *address)
{
    if (const llvm::GlobalVariable *variable = changing_global(address))
        refuse(&instruction, "global variables are not supported: '" + readable(*variable) +
                                 "' may change: make it const or local, or give --globals to have global variables "
                                 "followed by the analysis of pointers");
}

// Search depth-first for recursion in functions that communicate, and refuse the program if there is any. `open`
// contains the functions on the current path.
void refuse_circle(const llvm::Function *function, const Program &program, const Pointers &pointers,
                   std::set<const llvm::Function *> &open, std::set<const llvm::Function *> &done)
{
    if (!done.insert(function).second)
        return;
    open.insert(function);
    for (const llvm::Instruction &instruction : llvm::instructions(*function)) {
        const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (!call)
            continue;
        for (const llvm::Function *callee : pointers.callees(*call)) {
            if (!program.communicating.contains(callee))
                continue;
            if (open.count(callee))
                refuse(call, "recursion is not supported in functions that communicate: '" + readable(*callee) +
                                 "' calls itself: write it as a loop");
            refuse_circle(callee, program, pointers, open, done);
        }
    }
    open.erase(function);
}

void refuse_call(const llvm::CallBase &call, const Program &program, const Pointers &pointers)
{
    const llvm::Function *function = call.getCalledFunction();

    if (pointers.unresolved(call))
        refuse(&call, "the target of this call through a pointer is unknown: only pointers to functions in these files "
                      "are followed: give the file that defines it");
    for (const llvm::Function *callback : pointers.callbacks(call)) {
        if (program.communicating.contains(callback) && !(function && mpi_call(function->getName())))
            refuse(&call, "'" + readable(*callback) + "' communicates, and " +
                              (function ? function->getName().str() + "()" : "a library") +
                              ", whose code cannot be seen, may call it, which is not supported: give its source, "
                              "or " +
                              REPLAY);
    }
    if (!function || !function->isDeclaration() || llvm::isa<llvm::IntrinsicInst>(call))
        return;
    const LibraryCall &entry = *library_call(call);
    if (!mpi_call(function->getName()) && entry.kind == Library::Refused)
        refuse(&call, llvm::Twine(entry.state) + " are not supported: '" + readable(*function) +
                          "' is called: leave it out, or " + REPLAY);
}

} // namespace

void refuse_unknown_mpi(const Program &program)
{
    for (const llvm::Function *function : program.functions) {
        for (const llvm::Instruction &instruction : llvm::instructions(*function)) {
            const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
            if (!callee || !callee->isDeclaration() || !is_mpi_name(callee->getName()))
                continue;
            const MpiCall *entry = mpi_call(callee->getName());
            if (!entry)
                refuse(call, callee->getName() +
                                 "() is not supported: its effect on communication is unknown to reprise-skeleton: "
                                 "leave it out, or " +
                                 REPLAY);
            if (call->arg_size() != llvm::StringRef(entry->parameters).size())
                refuse(call, callee->getName() + "() has " + llvm::Twine(call->arg_size()) + " arguments here and " +
                                 llvm::Twine(llvm::StringRef(entry->parameters).size()) + " in MPI");
        }
    }
}

void refuse_globals(const Program &program)
{
    for (const llvm::Function *function : program.functions) {
        for (const llvm::Instruction &instruction : llvm::instructions(*function)) {
            if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
                refuse_global(*load, load->getPointerOperand());
            } else if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
                const llvm::Function *callee = call->getCalledFunction();
                if (!callee || !is_mpi_name(callee->getName()))
                    continue;
                for (const llvm::Value *argument : call->args())
                    refuse_global(*call, argument);
            }
        }
    }
}

void refuse_calls(const Program &program, const Pointers &pointers)
{
    std::set<const llvm::Function *> open;
    std::set<const llvm::Function *> done;

    for (const llvm::Function *function : program.functions) {
        for (const llvm::Instruction &instruction : llvm::instructions(*function)) {
            if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
                refuse_call(*call, program, pointers);
        }
        refuse_circle(function, program, pointers, open, done);
    }
}

} // namespace skeleton
