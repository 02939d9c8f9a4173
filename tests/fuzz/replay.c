// SPDX-License-Identifier: Apache-2.0
// Feeds files to a harness without a fuzzer. `HARNESS FILE...` prints each file's name before it feeds the file, and
// the number of files at the end.
#include <stdio.h>
#include <stdlib.h>

#include "must.h"

#define INPUT_MAX (1 << 20) // maximum number of bytes that are read from a file

int main(int argc, char **argv)
{
    static uint8_t bytes[INPUT_MAX];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rbe");
        if (!file) {
            perror(argv[i]);
            return 2;
        }
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        printf("%s\n", argv[i]);
        fflush(stdout);
        uint8_t *input = malloc(size + 1); // a separate memory block, so that sanitizers detect reads beyond its end
        if (!input) {
            return 2;
        }
        for (size_t byte = 0; byte < size; byte++) {
            input[byte] = bytes[byte];
        }
        LLVMFuzzerTestOneInput(input, size);
        free(input);
    }
    printf("%d\n", argc - 1);
    return 0;
}
