// SPDX-License-Identifier: Apache-2.0
// Removes everything that is not kept from a module. The module stays valid and contains no undefined values.
#pragma once

#include "marking.hpp"

namespace skeleton
{

struct Removed {
    unsigned long before; // numbers of instructions before and after the removal
    unsigned long after;
};

Removed remove_all_but_kept(const Program &program, const Marking &marking, Control &control);

// Zero small local variables where they are allocated, remove attributes of arguments and results that may no longer
// apply, and remove unused global variables.
void prepare(llvm::Module &module, const Program &program);

} // namespace skeleton
