// SPDX-License-Identifier: Apache-2.0
// Removes tests for convergence from loops that communicate until a floating-point number computed from received data
// is small enough. A skeleton does not compute this number, so the loop runs to its other bound, or for a given number
// of rounds. A condition on data received before the loop only bounds the loop, and is not a test for convergence.
#pragma once

#include "memory.hpp"
#include "program.hpp"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"

#include <set>
#include <tuple>
#include <utility>

namespace skeleton
{

class Convergence
{
  public:
    Convergence(Program &program, Pointers &pointers, Memory &memory)
        : program(program), pointers(pointers), memory(memory)
    {
    }

    struct Test {
        llvm::Instruction *branch; // the branch that leaves the loop
        bool bounded;              // another branch may leave the loop
    };

    // Replace each test for convergence by a constant that continues the loop. With rounds > 0, each of these loops
    // ends after that number of passes through the test. Returns the branches that were changed.
    std::vector<Test> cut(unsigned long rounds);

  private:
    void cut_loop(llvm::Loop *loop, std::vector<Test> &tests, unsigned long rounds);
    void enter(const llvm::Loop &loop);
    void enter(const llvm::Instruction &instruction);
    bool copied_from_received(unsigned source);
    bool receives_in_loop(const Writer &writer) const;
    bool cut_leaves(llvm::Use &use, bool constant, const llvm::Loop &loop, unsigned depth);
    bool received(const llvm::Value *value, bool compared);
    bool received_in(const llvm::LoadInst &load, bool compared);
    bool received_through(const llvm::CallBase &call, bool compared);
    bool received_by_choice(const llvm::PHINode &phi, bool compared);
    bool communicates(const llvm::Loop &loop) const;

    Program &program;
    Pointers &pointers;
    Memory &memory;
    llvm::DominatorTree *dominators = nullptr;
    llvm::LoopInfo *loops = nullptr;
    std::set<std::pair<const llvm::Value *, bool>> seen;
    // Readings and copies that were already examined. Large programs read and copy the same parts of the same objects
    // thousands of times, so each is examined only once.
    std::set<std::tuple<unsigned, const llvm::MDNode *, const llvm::Type *, int64_t, uint64_t, bool>> readings_seen;
    std::set<unsigned> sources_seen;
    // State of the loop under examination:
    const llvm::Loop *entered = nullptr;
    llvm::SetVector<const llvm::Function *> called; // functions that the loop calls
    bool completes = false;                         // the loop waits for requests or tests them
};

} // namespace skeleton
