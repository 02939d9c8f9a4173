// SPDX-License-Identifier: Apache-2.0
// Fuzz a program's file. Any contents must be read or refused, and the report must conform to
// docs/reference/messages.md.
#define _GNU_SOURCE
#include "../../spank/identity.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../spank/limits.h"
#include "../../spank/request.h"
#include "harness.h"

static void check_sketch(const char *sketch)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
    MUST(strlen(sketch) == 0 || strlen(sketch) == SKETCH_SIZE);
    MUST(strspn(sketch, letters) == strlen(sketch));
}

static void check_runtime(const char *runtime)
{
    size_t length = 0;
    while (runtime[length] > ' ' && runtime[length] < 0x7f) {
        length++;
    }
    MUST(runtime[length] == '\0' && length <= RUNTIME_MAX);
}

static void check_request(const struct identity *identity)
{
    size_t size = 0;
    char *request = request_identity("d-1", identity, &size);
    MUST(request ? size <= REQUEST_MAX && strlen(request) == size : identity->script.size > 0);
    free(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bounded_file file;
    struct identity identity;
    const int fd = memfd_create("program", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size && bounded_file_take(&file, fd) == 0);
    if (identity_read(&identity, &file) == 0) {
        MUST(strlen(identity.build_id) <= 2 * BUILD_ID_MAX && strlen(identity.build_id) % 2 == 0);
        MUST(strspn(identity.build_id, "0123456789abcdef") == strlen(identity.build_id));
        check_sketch(identity.functions);
        check_sketch(identity.imports);
        check_sketch(identity.contents);
        check_runtime(identity.runtime);
        MUST(strlen(identity.mpi_library) <= MPI_LIBRARY_MAX);
        check_request(&identity);
    }
    identity_free(&identity);
    bounded_file_close(&file);
    return 0;
}
