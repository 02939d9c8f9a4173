// SPDX-License-Identifier: Apache-2.0
// Remove what is not kept, so that the module is valid and nothing undefined is left in it.
#pragma once

#include "marking.hpp"

namespace skeleton
{

struct Removed {
    unsigned long before; // instructions
    unsigned long after;
};

Removed remove_all_but_kept(const Program &program, const Marking &marking, Control &control);

// Zero small local variables where they are allocated, drop promises about arguments that may not hold any more, and
// let go of functions and variables that nobody uses.
void prepare(llvm::Module &module, const Program &program);

} // namespace skeleton
