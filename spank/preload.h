// SPDX-License-Identifier: Apache-2.0
// Preloads a library that a decision requests by name. The site chooses the directory of the library in the plugin's
// line in plugstack.conf, so that no daemon and no record can load anything else into a job.
#ifndef REPRISE_PRELOAD_H
#define REPRISE_PRELOAD_H

#include <stdbool.h>

// The variable that a decision sets to the name of a library (`sro` means libreprise_sro.so), and the variable with the
// libraries that the loader preloads.
#define PRELOAD_VARIABLE "REPRISE_PRELOAD"
#define LOADER_VARIABLE "LD_PRELOAD"
// The variable with AddressSanitizer's options, its option for the order of libraries, and the same option with the
// value that allows any order.
#define SANITIZER_VARIABLE "ASAN_OPTIONS"
#define SANITIZER_ORDER "verify_asan_link_order"
#define SANITIZER_ANY_ORDER SANITIZER_ORDER "=0"

// True if this user can read the library on this node. If not, the loader would print an error in every program of the
// job.
bool preload_is_there(const char *directory, const char *name);

// Set `*list` to the list `before` (NULL: no list) with the library appended. `*list` is NULL if the list already
// contains the library, or if the library cannot be read. The caller must free `*list`. Returns 0, or -1 if memory is
// short.
int preload_added(const char *directory, const char *name, const char *before, char **list);

// If the library cannot be read on this node, set `*list` to the list `before` without the library. The batch step on
// another node may have added the library, and the loader would print an error in every program. `*list` is NULL if the
// library can be read, or if the list does not contain it. The caller must free `*list`. Returns 0, or -1 if memory is
// short.
int preload_left_out(const char *directory, const char *name, const char *before, char **list);

// Remove the library, in place, from the end of `list`, where preload_added appended it.
void preload_take_back(const char *directory, const char *name, char *list);

// Like preload_added, preload_left_out and preload_take_back, but for a library given by its full path, which must not
// contain a list separator. These functions do not check whether the library can be read.
int preload_file_added(const char *path, const char *before, char **list);
int preload_file_left_out(const char *path, const char *before, char **list);
void preload_file_take_back(const char *path, char *list);

// Set `*options` to the sanitizer's options `before` (NULL: no options) and the option that lets other libraries be
// loaded before the sanitizer's. `*options` is NULL if `before` already sets the order of libraries. The caller must
// free `*options`. Returns 0, or -1 if memory is short.
int preload_order_allowed(const char *before, char **options);

#endif
