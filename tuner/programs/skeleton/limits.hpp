// SPDX-License-Identifier: Apache-2.0
// Refuses programs that the pass cannot turn into a skeleton.
#pragma once

#include "program.hpp"

namespace skeleton
{

// Refuse calls to MPI routines that the table in mpi_calls.cpp lacks, or whose number of arguments differs from the
// table.
void refuse_unknown_mpi(const Program &program);

// Refuse programs whose global variables change.
void refuse_globals(const Program &program);

// Refuse calls through pointers with unknown targets, threads, recursion in functions that communicate, and libraries
// that may call functions that communicate.
void refuse_calls(const Program &program, const Pointers &pointers);

} // namespace skeleton
