// SPDX-License-Identifier: Apache-2.0
// Marks the instructions that a skeleton keeps: calls to MPI, and everything that affects these calls through data or
// control flow.
#pragma once

#include "control.hpp"
#include "memory.hpp"
#include "mpi_calls.hpp"
#include "program.hpp"

#include <set>
#include <tuple>

namespace skeleton
{

class Marking
{
  public:
    Marking(Program &program, Pointers &pointers, Memory &memory, Control &control)
        : program(program), pointers(pointers), memory(memory), control(control)
    {
    }

    // Mark instructions until no marked instruction needs another one.
    void run();
    // Return the calls whose received data affects communication. The skeleton therefore keeps the computation of the
    // data that is sent to these calls.
    const llvm::SetVector<const llvm::CallBase *> &deciding() const
    {
        return deciding_calls;
    }
    bool kept(const llvm::Instruction *instruction) const
    {
        return marked.contains(instruction);
    }

  private:
    using Instruction = llvm::Instruction;

    // marking.cpp: values, blocks and functions
    void roots();
    void settle();
    void keep(Instruction *instruction);
    void need(llvm::Value *value);
    void need_operands(llvm::User *user);
    void need_parameter(llvm::Argument *parameter);
    void need_result(llvm::Function *function);
    void block(llvm::BasicBlock *block);
    void has_effect(llvm::Function *function);
    void follow(Instruction *instruction);
    bool stays_inside(const llvm::Value *address, const llvm::Function *function) const;
    bool releases();
    bool meetings();
    bool checks();
    bool is_cheap(const llvm::Value *value, unsigned depth) const;

    // marking_memory.cpp: memory that is read
    void read(unsigned object, const Reading &reading);
    void find_writers(unsigned object, const Reading &reading);
    void read_all(const Objects &objects);
    void read_by(const llvm::LoadInst &load);
    void written(const Writer &writer, const Reading &reading);

    // marking_calls.cpp: calls
    void call(llvm::CallBase &call);
    void mpi(llvm::CallBase &call, const MpiCall &entry);
    void library(llvm::CallBase &call);
    void enter(llvm::CallBase &call, llvm::Function &function);
    void hand_over(llvm::CallBase &call, llvm::Function &function);
    void received(const llvm::CallBase &call, const MpiCall &entry, unsigned index);
    bool may_match(const llvm::CallBase &receiving, unsigned index, const llvm::CallBase &sending, unsigned sent) const;

    Program &program;
    Pointers &pointers;
    Memory &memory;
    Control &control;
    llvm::SetVector<const Instruction *> marked;
    std::vector<Instruction *> pending;
    llvm::SetVector<const llvm::Argument *> parameters;
    llvm::SetVector<const llvm::Function *> results;
    llvm::SetVector<const llvm::Function *> effects;
    llvm::SetVector<const llvm::BasicBlock *> blocks;
    // Readings that are still to be processed, each with the object that is read.
    std::vector<std::pair<unsigned, Reading>> pending_readings;
    std::set<std::tuple<unsigned, const llvm::MDNode *, const llvm::Type *, int64_t, uint64_t>> readings_seen;
    std::set<std::pair<const llvm::CallBase *, unsigned>> received_seen;
    llvm::SetVector<const llvm::CallBase *> deciding_calls;
};

} // namespace skeleton
