// SPDX-License-Identifier: Apache-2.0
// A library that a decision asks for by name. Which file the name stands for is the site's word: it lies in a directory
// of the plugin's line in plugstack.conf, so that no daemon and no record can load anything else into a job.
#ifndef REPRISE_PRELOAD_H
#define REPRISE_PRELOAD_H

#include <stdbool.h>

// A setting like others; `sro` is libreprise_sro.so.
#define PRELOAD_VARIABLE "REPRISE_PRELOAD"
#define LOADER_VARIABLE "LD_PRELOAD"

// True where this user can read the library here. If not, the loader would complain in each program of the job.
bool preload_is_there(const char *directory, const char *name);

// The list `before` (NULL: there is none) with the library at its end, to be freed; NULL where the list has it already,
// or where the library cannot be read. Returns 0, or -1 without memory.
int preload_added(const char *directory, const char *name, const char *before, char **list);

// The list `before` without the library, to be freed, where it cannot be read here: another node's script has put it
// there, and the loader would complain in each program. NULL where it can be read, or the list does not have it.
// Returns 0, or -1 without memory.
int preload_left_out(const char *directory, const char *name, const char *before, char **list);

// Take the library from the end of `list`, where preload_added has put it, in place.
void preload_take_back(const char *directory, const char *name, char *list);

// The same for a library by its whole path, without separators of lists, whether it can be read or not.
int preload_file_added(const char *path, const char *before, char **list);
int preload_file_left_out(const char *path, const char *before, char **list);
void preload_file_take_back(const char *path, char *list);

#endif
