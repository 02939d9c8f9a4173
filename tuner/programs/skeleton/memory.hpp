// SPDX-License-Identifier: Apache-2.0
// Finds the instructions that may write the memory that another instruction reads.
#pragma once

#include "pointers.hpp"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"

#include <optional>
#include <vector>

namespace skeleton
{

// A part of an object that is read. Without tags, the part may be read as any type; without a range, the part may be
// anywhere in the object.
struct Reading {
    struct Range {
        int64_t first;
        uint64_t bytes;
    };
    llvm::AAMDNodes tags;
    std::optional<Range> range;
    const llvm::Type *type = nullptr; // type that is read; null if the tags name no specific type
};

struct Writer {
    enum How {
        Stores,
        Copies,  // copies from `source`: memcpy, realloc, a parameter passed by value
        Fills,   // fills memory with one value, as memset does
        Mpi,     // an MPI call, through the parameter at `index`
        Library, // a call to a library, or any other call that is not followed
    };
    How how;
    llvm::Instruction *instruction;
    const llvm::Value *address = nullptr; // null if any part of the object may be written
    const llvm::Value *source = nullptr;
    unsigned index = 0;
};

class Memory
{
  public:
    // Collect the writers in the given functions.
    Memory(llvm::Module &module, Pointers &pointers, const llvm::SetVector<llvm::Function *> &functions);

    const std::vector<Writer> &writers(unsigned object) const
    {
        static const std::vector<Writer> nobody;
        return object < by_object.size() ? by_object[object] : nobody;
    }
    bool may_write(const Writer &writer, unsigned object, const Reading &reading);
    Reading reading_of(const llvm::LoadInst &load, unsigned object) const;
    // Return the memory that MPI may reach through a buffer argument. With a derived datatype, this includes all memory
    // whose address was taken by MPI_Get_address.
    Objects buffer(const llvm::CallBase &call, unsigned index) const;

  private:
    void add(const Objects &objects, const Writer &writer);
    void instruction(llvm::Instruction &instruction);
    void call(llvm::CallBase &call);
    void library(llvm::CallBase &call);
    std::optional<Reading::Range> range(const llvm::Value *address, uint64_t bytes, unsigned object) const;

    const llvm::DataLayout &layout;
    Pointers &pointers;
    std::vector<std::vector<Writer>> by_object;
    Objects addressed; // objects whose addresses are passed to MPI_Get_address
    Objects foreign;   // variables of libraries
    llvm::TargetLibraryInfoImpl library_information;
    llvm::TargetLibraryInfo library_functions;
    llvm::TypeBasedAAResult types;
    llvm::AAResults aliases;
};

} // namespace skeleton
