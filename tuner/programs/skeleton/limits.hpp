// SPDX-License-Identifier: Apache-2.0
// Programs that are refused, because no skeleton can be made of them.
#pragma once

#include "program.hpp"

namespace skeleton
{

// Refuse calls to MPI routines that the table lacks, or with another number of arguments.
void refuse_unknown_mpi(const Program &program);

// Refuse global variables of the program that change.
void refuse_globals(const Program &program);

// Refuse calls that may enter anything, threads, recursion that communicates, communication called by libraries.
void refuse_calls(const Program &program, const Pointers &pointers);

} // namespace skeleton
