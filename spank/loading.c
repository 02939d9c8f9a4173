// SPDX-License-Identifier: Apache-2.0
#include "loading.h"

#include <stdlib.h>

#include "collect.h"
#include "preload.h"

int loading_allow_order(spank_t spank, char *const *environment)
{
    char *options = NULL;
    int result = preload_order_allowed(environment_value(environment, SANITIZER_VARIABLE), &options);
    if (options && spank_setenv(spank, SANITIZER_VARIABLE, options, 1) != ESPANK_SUCCESS) {
        result = -1;
    }
    free(options);
    return result;
}
