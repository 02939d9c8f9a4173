// SPDX-License-Identifier: Apache-2.0
// Remove everything that is not kept, so that the module is valid and contains nothing undefined.
#pragma once

#include "marking.hpp"

namespace skeleton
{

struct Removed {
    unsigned long before; // instructions
    unsigned long after;
};

Removed remove_all_but_kept(const Program &program, const Marking &marking, Control &control);

// Zero small local variables where they are allocated, drop attributes of arguments that may no longer hold, and remove
// unused functions and variables.
void prepare(llvm::Module &module, const Program &program);

} // namespace skeleton
