// SPDX-License-Identifier: Apache-2.0
// Keeps every instruction that may have written memory that a kept instruction reads.
#include "marking.hpp"

#include "llvm/IR/Instructions.h"

namespace skeleton
{

void Marking::read_by(const llvm::LoadInst &load)
{
    for (unsigned object : pointers.of(load.getPointerOperand()))
        read(object, memory.reading_of(load, object));
}

void Marking::read_all(const Objects &objects)
{
    for (unsigned object : objects)
        read(object, Reading());
}

void Marking::read(unsigned object, const Reading &reading)
{
    int64_t first = reading.range ? reading.range->first : 0;
    uint64_t bytes = reading.range ? reading.range->bytes : 0;

    if (readings_seen.insert({object, reading.tags.TBAA, reading.type, first, bytes}).second)
        pending_readings.push_back({object, reading});
}

void Marking::find_writers(unsigned object, const Reading &reading)
{
    for (const Writer &writer : memory.writers(object)) {
        if (memory.may_write(writer, object, reading))
            written(writer, reading);
    }
}

void Marking::written(const Writer &writer, const Reading &reading)
{
    keep(writer.instruction);
    if (writer.how == Writer::Copies) {
        for (unsigned source : pointers.of(writer.source))
            read(source, {reading.tags, std::nullopt, reading.type});
    } else if (writer.how == Writer::Mpi) {
        const auto &call = *llvm::cast<llvm::CallBase>(writer.instruction);
        const MpiCall &entry = *mpi_call(call.getCalledFunction()->getName());
        Parameter kind = parameter_of(entry.parameters[writer.index]);
        if (kind == Parameter::Received || kind == Parameter::Both)
            received(call, entry, writer.index);
    }
}

} // namespace skeleton
