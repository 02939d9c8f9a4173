// SPDX-License-Identifier: Apache-2.0
// The function that wrap_closing.c calls before descriptors are closed or reused.
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

// Forget the descriptors from `first` to `last`, because they are about to be closed or reused. Each library that
// compiles wrap_closing.c defines this function, which preserves errno.
void descriptors_forget(int first, int last);

#endif
