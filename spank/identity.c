// SPDX-License-Identifier: Apache-2.0
#include "identity.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"

#define BEGINNING 512 // bytes at the start of a file that are checked; a script has no NUL in them

static int read_executable(struct identity *identity, struct bounded_file *file)
{
    struct executable executable;
    const int result = executable_read(&executable, file);
    if (result == 0) {
        memcpy(identity->build_id, executable.build_id, sizeof identity->build_id);
        memcpy(identity->runtime, executable.runtime, sizeof identity->runtime);
        memcpy(identity->mpi_library, executable.mpi_library, sizeof identity->mpi_library);
        lowest_sketch(&executable.names, identity->functions);
        lowest_sketch(&executable.imports, identity->imports);
        lowest_sketch(&executable.words, identity->contents);
    }
    executable_free(&executable);
    return result;
}

int identity_read(struct identity *identity, struct bounded_file *file)
{
    struct bytes beginning = {0};
    int result = -1;
    *identity = (struct identity){0};
    if (bounded_file_read(file, 0, BEGINNING, &beginning) == 0) {
        const bool is_script = beginning.size > 0 && !memchr(beginning.at, '\0', beginning.size);
        result = executable_begins(&beginning) ? read_executable(identity, file)
                 : is_script                   ? bounded_file_read(file, 0, SCRIPT_MAX + 4, &identity->script)
                                               : -1;
    }
    free(beginning.at);
    return result;
}

void identity_free(struct identity *identity)
{
    free(identity->script.at);
    *identity = (struct identity){0};
}
