// SPDX-License-Identifier: Apache-2.0
// Removes everything that is not kept from a module, which stays valid and contains nothing undefined.
#pragma once

#include "marking.hpp"

namespace skeleton
{

struct Removed {
    unsigned long before; // number of instructions
    unsigned long after;
};

Removed remove_all_but_kept(const Program &program, const Marking &marking, Control &control);

// Zero small local variables where they are allocated, drop attributes of arguments and results that may no longer be
// true, and remove unused global variables.
void prepare(llvm::Module &module, const Program &program);

} // namespace skeleton
