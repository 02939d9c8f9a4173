// SPDX-License-Identifier: Apache-2.0
// Programs of which no skeleton is made.
#pragma once

#include "program.hpp"

namespace skeleton
{

// Calls to routines of MPI that the table does not have, or with another number of arguments.
void refuse_unknown_mpi(const Program &program);

// Variables of the program's own that are global and change.
void refuse_globals(const Program &program);

// Calls that may enter anything, threads, recursion that communicates, communication called by libraries.
void refuse_calls(const Program &program, const Pointers &pointers);

} // namespace skeleton
