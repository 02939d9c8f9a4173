// SPDX-License-Identifier: Apache-2.0
// Finds the memory that each value may point into, in the whole program. The analysis is inclusion-based (Andersen
// 1994). It does not distinguish the order of instructions, fields or callers. Integers that are as wide as a pointer
// are also followed.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SparseBitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <vector>

namespace skeleton
{

using Objects = llvm::SparseBitVector<>;

// An object is an allocation site in the program, which may make many allocations at run time.
struct Object {
    enum Kind {
        Stack,
        Heap,
        Global,
        Copy,    // the copy of a parameter passed by value, in the called function
        Code,    // a function
        Outside, // memory of libraries
        Hidden,  // state of libraries that the program cannot point to
    };
    Kind kind;
    const llvm::Value *site; // the alloca, allocating call, global, parameter or function; null if none
};

// Return whether a value of this type may contain a pointer. Integers narrower than a pointer and floating-point
// numbers contain none.
bool may_hold_pointer(const llvm::Type *type);

class Pointers
{
  public:
    explicit Pointers(llvm::Module &module);

    const Objects &of(const llvm::Value *value) const;
    // Return the objects that a value points to, and those that can be reached from them by following pointers in
    // memory.
    Objects reachable_from(const llvm::Value *value) const;
    const Object &object(unsigned id) const
    {
        return objects[id];
    }
    unsigned object_count() const
    {
        return objects.size();
    }
    unsigned hidden(llvm::StringRef state);
    unsigned outside() const
    {
        return 0;
    }

    // Return the functions that a call may enter directly: the one that it names, or those that its pointer may point
    // to.
    const llvm::SetVector<llvm::Function *> &callees(const llvm::CallBase &call) const;
    // Return the functions that a library may call because this call passed them to it.
    const llvm::SetVector<llvm::Function *> &callbacks(const llvm::CallBase &call) const;
    // Return whether a call may enter a library.
    bool may_leave(const llvm::CallBase &call) const;
    // Return whether a call through a pointer has no known target, or may enter MPI.
    bool unresolved(const llvm::CallBase &call) const;

  private:
    struct Node {
        Objects pointees;
        Objects done; // pointees that have already been propagated to other nodes
        llvm::SetVector<unsigned> copies;
        std::vector<unsigned> loads;  // nodes that receive the contents of the memory pointed to
        std::vector<unsigned> stores; // nodes whose pointees are stored in the memory pointed to
        std::vector<const llvm::CallBase *> calls;
        std::vector<const llvm::CallBase *> handed_to; // library calls that the value is passed to
    };

    unsigned fresh();
    unsigned node(const llvm::Value *value);
    unsigned new_object(Object::Kind kind, const llvm::Value *site);
    unsigned object_of(Object::Kind kind, const llvm::Value *site);
    void point(unsigned node, unsigned object);
    void copy(unsigned from, unsigned to);
    void load(unsigned pointer, unsigned to);
    void store(unsigned from, unsigned pointer);
    void copy_memory(unsigned from, unsigned to);
    void constant(const llvm::Constant *value, unsigned into);
    void global(const llvm::GlobalVariable &variable);
    bool is_number(const llvm::Instruction &access, const llvm::Type *type) const;
    void instruction(const llvm::Instruction &instruction);
    void call(const llvm::CallBase &call);
    void library(const llvm::CallBase &call);
    void unknown(const llvm::CallBase &call);
    void mpi(const llvm::CallBase &call);
    void enter(const llvm::CallBase &call, llvm::Function &function);
    void hand_over(const llvm::CallBase &call, llvm::Function &function);
    unsigned result(const llvm::Function *function);
    void solve();
    void draw(unsigned id, unsigned object);

    std::vector<Object> objects;
    std::vector<unsigned> contents; // the node of each object's contents, indexed by object
    std::vector<Node> nodes;
    std::vector<unsigned> pending;
    llvm::DenseMap<const llvm::Value *, unsigned> node_ids;
    llvm::DenseMap<const llvm::Value *, unsigned> object_ids;
    llvm::DenseMap<const llvm::Function *, unsigned> results;
    llvm::StringMap<unsigned> hidden_ids;
    llvm::StringMap<unsigned> unknown_nodes;
    bool makes_pointers = false; // the program converts integers to pointers
    unsigned foreign = 0;        // node of everything that libraries may store in their variables
    llvm::DenseMap<const llvm::CallBase *, llvm::SetVector<llvm::Function *>> entered;
    llvm::DenseMap<const llvm::CallBase *, llvm::SetVector<llvm::Function *>> handed;
};

} // namespace skeleton
