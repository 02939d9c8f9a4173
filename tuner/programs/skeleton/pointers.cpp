// SPDX-License-Identifier: Apache-2.0
#include "pointers.hpp"

#include "mpi_calls.hpp"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

namespace skeleton
{

namespace
{

const llvm::SetVector<llvm::Function *> NOBODY;

} // namespace

bool may_hold_pointer(const llvm::Type *type)
{
    if (type->isIntegerTy())
        return type->getIntegerBitWidth() >= 64;
    if (const auto *array = llvm::dyn_cast<llvm::ArrayType>(type))
        return may_hold_pointer(array->getElementType());
    if (const auto *structure = llvm::dyn_cast<llvm::StructType>(type))
        return llvm::any_of(structure->elements(), [](const llvm::Type *each) { return may_hold_pointer(each); });
    return type->isPtrOrPtrVectorTy();
}

Pointers::Pointers(llvm::Module &module)
{
    unsigned outside = new_object(Object::Outside, nullptr);
    point(contents[outside], outside);
    unsigned arguments = hidden("arguments");
    point(contents[arguments], arguments);
    foreign = fresh();
    point(foreign, arguments);
    for (const llvm::Function &function : module) {
        for (const llvm::Instruction &each : llvm::instructions(function))
            makes_pointers |= llvm::isa<llvm::IntToPtrInst>(each);
    }
    for (const llvm::GlobalVariable &variable : module.globals())
        global(variable);
    for (llvm::Function &function : module) {
        if (function.isDeclaration())
            continue;
        if (function.getName() == "main") {
            for (llvm::Argument &argument : function.args())
                point(node(&argument), arguments);
        }
        for (const llvm::Instruction &each : llvm::instructions(function))
            instruction(each);
    }
    solve();
}

const Objects &Pointers::of(const llvm::Value *value) const
{
    static const Objects nothing;
    auto found = node_ids.find(value);

    return found == node_ids.end() ? nothing : nodes[found->second].pointees;
}

Objects Pointers::reachable_from(const llvm::Value *value) const
{
    Objects reached = of(value);
    std::vector<unsigned> todo;

    for (unsigned object : reached)
        todo.push_back(object);

    while (!todo.empty()) {
        unsigned object = todo.back();
        todo.pop_back();
        for (unsigned next : nodes[contents[object]].pointees) {
            if (reached.test_and_set(next))
                todo.push_back(next);
        }
    }
    return reached;
}

unsigned Pointers::hidden(llvm::StringRef state)
{
    auto found = hidden_ids.find(state);
    if (found != hidden_ids.end())
        return found->second;
    return hidden_ids[state] = new_object(Object::Hidden, nullptr);
}

const llvm::SetVector<llvm::Function *> &Pointers::callees(const llvm::CallBase &call) const
{
    auto found = entered.find(&call);
    return found == entered.end() ? NOBODY : found->second;
}

const llvm::SetVector<llvm::Function *> &Pointers::callbacks(const llvm::CallBase &call) const
{
    auto found = handed.find(&call);
    return found == handed.end() ? NOBODY : found->second;
}

// Targets that are neither functions nor memory of libraries are ignored: they cannot be called, and appear only
// because the analysis does not distinguish the fields of a structure.
bool Pointers::may_leave(const llvm::CallBase &call) const
{
    if (call.getCalledFunction())
        return call.getCalledFunction()->isDeclaration();
    for (unsigned target : of(call.getCalledOperand())) {
        const auto *function = llvm::dyn_cast_or_null<llvm::Function>(objects[target].site);
        if (objects[target].kind == Object::Outside || (function && function->isDeclaration()))
            return true;
    }
    return call.isInlineAsm();
}

bool Pointers::unresolved(const llvm::CallBase &call) const
{
    if (call.getCalledFunction() || call.isInlineAsm())
        return false;
    for (unsigned target : of(call.getCalledOperand())) {
        const auto *function = llvm::dyn_cast_or_null<llvm::Function>(objects[target].site);
        if (function && function->isDeclaration() && is_mpi_name(function->getName()))
            return true;
    }
    return callees(call).empty() && !may_leave(call);
}

unsigned Pointers::fresh()
{
    nodes.emplace_back();
    return nodes.size() - 1;
}

unsigned Pointers::node(const llvm::Value *value)
{
    auto found = node_ids.find(value);
    if (found != node_ids.end())
        return found->second;
    unsigned id = fresh();
    node_ids[value] = id;
    if (const auto *known = llvm::dyn_cast<llvm::Constant>(value))
        constant(known, id);
    return id;
}

unsigned Pointers::new_object(Object::Kind kind, const llvm::Value *site)
{
    objects.push_back({kind, site});
    contents.push_back(fresh());
    return objects.size() - 1;
}

unsigned Pointers::object_of(Object::Kind kind, const llvm::Value *site)
{
    auto found = object_ids.find(site);
    if (found != object_ids.end())
        return found->second;
    unsigned id = new_object(kind, site);
    object_ids[site] = id;
    return id;
}

void Pointers::point(unsigned node, unsigned object)
{
    if (nodes[node].pointees.test_and_set(object))
        pending.push_back(node);
}

void Pointers::copy(unsigned from, unsigned to)
{
    if (from == to || !nodes[from].copies.insert(to))
        return;
    if (nodes[to].pointees |= nodes[from].pointees)
        pending.push_back(to);
}

void Pointers::load(unsigned pointer, unsigned to)
{
    nodes[pointer].loads.push_back(to);
    for (unsigned object : Objects(nodes[pointer].done))
        copy(contents[object], to);
    pending.push_back(pointer);
}

void Pointers::store(unsigned from, unsigned pointer)
{
    nodes[pointer].stores.push_back(from);
    for (unsigned object : Objects(nodes[pointer].done))
        copy(from, contents[object]);
    pending.push_back(pointer);
}

void Pointers::copy_memory(unsigned from, unsigned to)
{
    unsigned between = fresh();

    load(from, between);
    store(between, to);
}

void Pointers::constant(const llvm::Constant *value, unsigned into)
{
    if (const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(value)) {
        point(into, object_of(Object::Global, variable));
    } else if (const auto *function = llvm::dyn_cast<llvm::Function>(value)) {
        point(into, object_of(Object::Code, function));
    } else if (const auto *alias = llvm::dyn_cast<llvm::GlobalAlias>(value)) {
        copy(node(alias->getAliasee()), into);
    } else {
        for (const llvm::Value *operand : value->operands()) {
            if (may_hold_pointer(operand->getType()))
                copy(node(operand), into);
        }
    }
}

void Pointers::global(const llvm::GlobalVariable &variable)
{
    unsigned content = contents[object_of(Object::Global, &variable)];

    if (variable.hasInitializer())
        copy(node(variable.getInitializer()), content);
    else {
        point(content, outside());
        copy(foreign, content);
    }
}

// Return whether a value is an integer that the program reads or writes as an integer, and never converts to a pointer.
// Copies of structures have no tag and may contain pointers.
bool Pointers::is_number(const llvm::Instruction &access, const llvm::Type *type) const
{
    return type->isIntegerTy() && !makes_pointers && access.getMetadata(llvm::LLVMContext::MD_tbaa);
}

void Pointers::instruction(const llvm::Instruction &instruction)
{
    // The program reads and writes global variables through constant addresses, so these addresses need nodes, too.
    for (const llvm::Value *operand : instruction.operands()) {
        if (llvm::isa<llvm::Constant>(operand) && operand->getType()->isPtrOrPtrVectorTy())
            node(operand);
    }
    if (const auto *call_site = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        call(*call_site);
    } else if (llvm::isa<llvm::AllocaInst>(instruction)) {
        point(node(&instruction), object_of(Object::Stack, &instruction));
    } else if (const auto *loading = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        if (may_hold_pointer(loading->getType()) && !is_number(instruction, loading->getType()))
            load(node(loading->getPointerOperand()), node(loading));
    } else if (const auto *storing = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        const llvm::Type *type = storing->getValueOperand()->getType();
        if (may_hold_pointer(type) && !is_number(instruction, type))
            store(node(storing->getValueOperand()), node(storing->getPointerOperand()));
    } else if (const auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
        load(node(exchange->getPointerOperand()), node(exchange));
        store(node(exchange->getNewValOperand()), node(exchange->getPointerOperand()));
    } else if (const auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
        load(node(atomic->getPointerOperand()), node(atomic));
        store(node(atomic->getValOperand()), node(atomic->getPointerOperand()));
    } else if (const auto *element = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
        copy(node(element->getPointerOperand()), node(element));
    } else if (const auto *returning = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
        if (returning->getReturnValue() && may_hold_pointer(returning->getReturnValue()->getType()))
            copy(node(returning->getReturnValue()), result(returning->getFunction()));
    } else if (llvm::isa<llvm::VAArgInst>(instruction)) {
        point(node(&instruction), outside());
    } else if (may_hold_pointer(instruction.getType())) {
        for (const llvm::Value *operand : instruction.operands()) {
            if (may_hold_pointer(operand->getType()))
                copy(node(operand), node(&instruction));
        }
    }
}

unsigned Pointers::result(const llvm::Function *function)
{
    auto found = results.find(function);
    if (found != results.end())
        return found->second;
    unsigned id = fresh();
    results[function] = id;
    return id;
}

void Pointers::solve()
{
    while (!pending.empty()) {
        unsigned id = pending.back();
        pending.pop_back();
        Objects news = nodes[id].pointees;
        news.intersectWithComplement(nodes[id].done);
        for (unsigned object : news) {
            nodes[id].done.set(object);
            draw(id, object);
        }
        std::vector<unsigned> targets(nodes[id].copies.begin(), nodes[id].copies.end());
        for (unsigned target : targets) {
            if (nodes[target].pointees |= nodes[id].pointees)
                pending.push_back(target);
        }
    }
}

void Pointers::draw(unsigned id, unsigned object)
{
    for (unsigned to : std::vector<unsigned>(nodes[id].loads))
        copy(contents[object], to);
    for (unsigned from : std::vector<unsigned>(nodes[id].stores))
        copy(from, contents[object]);
    if (objects[object].kind == Object::Outside) {
        for (const llvm::CallBase *call_site : std::vector<const llvm::CallBase *>(nodes[id].calls))
            unknown(*call_site);
    }
    if (objects[object].kind != Object::Code)
        return;
    auto *function = const_cast<llvm::Function *>(llvm::cast<llvm::Function>(objects[object].site));
    for (const llvm::CallBase *call_site : std::vector<const llvm::CallBase *>(nodes[id].calls)) {
        if (function->isDeclaration())
            unknown(*call_site);
        else if (function->arg_size() <= call_site->arg_size())
            enter(*call_site, *function);
    }
    if (function->isDeclaration())
        return;
    for (const llvm::CallBase *call_site : std::vector<const llvm::CallBase *>(nodes[id].handed_to))
        hand_over(*call_site, *function);
}

} // namespace skeleton
