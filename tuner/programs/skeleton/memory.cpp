// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include "library_calls.hpp"
#include "mpi_calls.hpp"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace skeleton
{

static llvm::Triple triple_of(const llvm::Module &module)
{
    return llvm::Triple(module.getTargetTriple());
}

Memory::Memory(llvm::Module &module, Pointers &pointers, const llvm::SetVector<llvm::Function *> &functions)
    : layout(module.getDataLayout()), pointers(pointers), library_information(triple_of(module)),
      library_functions(library_information), aliases(library_functions)
{
    aliases.addAAResult(types);
    for (const llvm::GlobalVariable &variable : module.globals()) {
        if (variable.isDeclaration())
            foreign |= pointers.of(&variable);
    }
    for (llvm::Function *function : functions) {
        for (llvm::Instruction &each : llvm::instructions(function)) {
            const auto *call = llvm::dyn_cast<llvm::CallBase>(&each);
            const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
            const MpiCall *entry = callee ? mpi_call(callee->getName()) : nullptr;
            if (entry && llvm::StringRef(entry->name).contains("ddress"))
                addressed |= pointers.of(call->getArgOperand(0));
        }
    }
    for (llvm::Function *function : functions) {
        for (llvm::Instruction &each : llvm::instructions(function))
            instruction(each);
    }
}

void Memory::add(const Objects &objects, const Writer &writer)
{
    for (unsigned object : objects) {
        if (by_object.size() <= object)
            by_object.resize(object + 1);
        by_object[object].push_back(writer);
    }
}

void Memory::instruction(llvm::Instruction &instruction)
{
    if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        add(pointers.of(store->getPointerOperand()), {Writer::Stores, store, store->getPointerOperand()});
    else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
        add(pointers.of(exchange->getPointerOperand()), {Writer::Library, exchange});
    else if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
        add(pointers.of(atomic->getPointerOperand()), {Writer::Library, atomic});
    else if (auto *call_site = llvm::dyn_cast<llvm::CallBase>(&instruction))
        call(*call_site);
}

void Memory::call(llvm::CallBase &call)
{
    const llvm::Function *function = call.getCalledFunction();

    if (auto *transfer = llvm::dyn_cast<llvm::MemTransferInst>(&call)) {
        add(pointers.of(transfer->getRawDest()),
            {Writer::Copies, transfer, transfer->getRawDest(), transfer->getRawSource()});
        return;
    }
    if (auto *fill = llvm::dyn_cast<llvm::MemSetInst>(&call)) {
        add(pointers.of(fill->getRawDest()), {Writer::Fills, fill, fill->getRawDest()});
        return;
    }
    if (llvm::isa<llvm::IntrinsicInst>(call))
        return;
    for (llvm::Function *callee : pointers.callees(call)) {
        for (llvm::Argument &parameter : callee->args()) {
            if (parameter.hasByValAttr())
                add(pointers.of(&parameter),
                    {Writer::Copies, &call, nullptr, call.getArgOperand(parameter.getArgNo())});
        }
    }
    if (!pointers.may_leave(call))
        return;
    const MpiCall *entry = function ? mpi_call(function->getName()) : nullptr;
    if (!entry) {
        library(call);
        return;
    }
    llvm::StringRef letters(entry->parameters);
    for (unsigned i = 0; i < letters.size() && i < call.arg_size(); i++) {
        if (llvm::StringRef("rb").contains(letters[i]))
            add(buffer(call, i), {Writer::Mpi, &call, nullptr, nullptr, i});
        else if (llvm::StringRef("oh").contains(letters[i]))
            add(pointers.of(call.getArgOperand(i)), {Writer::Mpi, &call, nullptr, nullptr, i});
    }
}

void Memory::library(llvm::CallBase &call)
{
    const LibraryCall &entry = *library_call(call);
    Objects written;

    if (entry.kind == Library::Allocates && call.arg_size() && entry.parameters[0] == 'A')
        add(pointers.of(&call), {Writer::Copies, &call, nullptr, call.getArgOperand(0)});
    if (entry.kind == Library::Allocates && call.arg_size() && entry.parameters[0] == 'a')
        add(pointers.of(&call), {Writer::Library, &call});
    for (unsigned i = 0; i < call.arg_size(); i++) {
        const llvm::Value *argument = call.getArgOperand(i);
        if (entry.kind == Library::Unknown)
            written |= pointers.reachable_from(argument);
        else if (writes_argument(entry, i))
            written |= pointers.of(argument);
    }
    // Unknown functions whose arguments are all numbers are assumed only to compute, and not to change the variables of
    // libraries.
    bool gets_pointer = llvm::any_of(call.args(), [](const llvm::Use &each) { return each->getType()->isPointerTy(); });
    if ((entry.kind == Library::Unknown && gets_pointer) || llvm::StringRef(entry.state) == "getopt")
        written |= foreign;
    if (entry.kind == Library::Unknown && gets_pointer)
        written.set(pointers.hidden("errno"));
    if (entry.state)
        written.set(pointers.hidden(entry.state));
    add(written, {Writer::Library, &call});
}

Objects Memory::buffer(const llvm::CallBase &call, unsigned index) const
{
    const MpiCall &entry = *mpi_call(call.getCalledFunction()->getName());
    Objects reached = pointers.of(call.getArgOperand(index));
    const llvm::Value *type = next_of(call, entry, index, Parameter::Type);

    if (!type || !llvm::isa<llvm::Constant>(type))
        reached |= addressed;
    return reached;
}

std::optional<Reading::Range> Memory::range(const llvm::Value *address, uint64_t bytes, unsigned object) const
{
    llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
    const llvm::Value *base = address->stripAndAccumulateConstantOffsets(layout, offset, true);

    if (base != pointers.object(object).site || llvm::isa<llvm::CallBase>(base))
        return std::nullopt;
    return Reading::Range{offset.getSExtValue(), bytes};
}

// Return whether a tag names one specific type. The tag of characters and unions does not, because it matches all
// types.
static bool is_of_one_type(const llvm::MDNode *tag)
{
    const auto *type = tag && tag->getNumOperands() > 1 ? llvm::dyn_cast<llvm::MDNode>(tag->getOperand(1)) : nullptr;
    const auto *name = type && type->getNumOperands() ? llvm::dyn_cast<llvm::MDString>(type->getOperand(0)) : nullptr;

    return name && name->getString() != "omnipotent char";
}

Reading Memory::reading_of(const llvm::LoadInst &load, unsigned object) const
{
    llvm::AAMDNodes tags = load.getAAMetadata();
    tags.Scope = tags.NoAlias = nullptr;
    return {tags, range(load.getPointerOperand(), layout.getTypeStoreSize(load.getType()), object),
            is_of_one_type(tags.TBAA) ? load.getType() : nullptr};
}

// Return whether the datatype that MPI writes cannot be the type that is read: floating-point numbers where integers or
// pointers are read, or integers where floating-point numbers or pointers are read. Datatypes are recognized by the
// names of Open MPI's variables.
static bool is_of_another_type(const Writer &writer, const llvm::Type *read)
{
    const auto &call = *llvm::cast<llvm::CallBase>(writer.instruction);
    const MpiCall &entry = *mpi_call(call.getCalledFunction()->getName());
    const llvm::Value *type = next_of(call, entry, writer.index, Parameter::Type);
    const auto *handle = type ? llvm::dyn_cast<llvm::GlobalVariable>(type->stripPointerCasts()) : nullptr;

    if (!handle || !read)
        return false;
    llvm::StringRef name = handle->getName();
    if (name == "ompi_mpi_double" || name == "ompi_mpi_float" || name == "ompi_mpi_long_double" ||
        name.contains("complex") || name.contains("cplex"))
        return read->isPointerTy() || read->isIntegerTy();
    if (name == "ompi_mpi_int" || name == "ompi_mpi_long" || name == "ompi_mpi_unsigned" ||
        name == "ompi_mpi_long_long_int" || name == "ompi_mpi_unsigned_long")
        return read->isPointerTy() || read->isFloatingPointTy();
    return false;
}

bool Memory::may_write(const Writer &writer, unsigned object, const Reading &reading)
{
    if (writer.how == Writer::Mpi)
        return !is_of_another_type(writer, reading.type);
    if (writer.how != Writer::Stores)
        return true;
    const auto &store = *llvm::cast<llvm::StoreInst>(writer.instruction);
    const llvm::Type *stored = store.getValueOperand()->getType();
    // Stores of the parts of complex numbers have no tags, so their types are compared here.
    if (reading.type && !reading.type->isFPOrFPVectorTy() && stored->isFPOrFPVectorTy())
        return false;
    llvm::AAMDNodes tags = store.getAAMetadata();
    tags.Scope = tags.NoAlias = nullptr;
    const auto anywhere = llvm::LocationSize::beforeOrAfterPointer();
    llvm::MemoryLocation target(store.getPointerOperand(), anywhere, tags);
    // Both locations have the same address, so that LLVM can only compare the types in their tags.
    llvm::MemoryLocation wanted(store.getPointerOperand(), anywhere, reading.tags);
    if (aliases.alias(target, wanted) == llvm::AliasResult::NoAlias)
        return false;
    if (!reading.range)
        return true;
    auto written = range(store.getPointerOperand(), layout.getTypeStoreSize(const_cast<llvm::Type *>(stored)), object);
    if (!written)
        return true;
    return written->first < reading.range->first + static_cast<int64_t>(reading.range->bytes) &&
           reading.range->first < written->first + static_cast<int64_t>(written->bytes);
}

} // namespace skeleton
