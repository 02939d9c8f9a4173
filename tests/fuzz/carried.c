// SPDX-License-Identifier: Apache-2.0
// Fuzz the decision that is read from a job's environment, which the job's user controls. The last byte of the input
// selects the allocation that fails.
#include <stdlib.h>
#include <string.h>

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct decision decision = {0};
    struct decision again = {0};
    char *carried = NULL;
    const unsigned int fail_at = data[--size];
    char *text = copy_text(data, size);
    if (decision_from_carried(&decision, text, size) == 0) {
        MUST(decision.verdict != VERDICT_DEFER && decision.verdict != VERDICT_UNREACHABLE);
        check_decision(&decision);
        carried = decision_to_carried(&decision);
    }
    if (carried) {
        MUST(decision_from_carried(&again, carried, strlen(carried)) == 0);
        MUST(same_to_the_job(&decision, &again));
    }
    check_without_memory(decision_from_carried, text, size, &decision, fail_at);
    free(carried);
    decision_free(&again);
    decision_free(&decision);
    free(text);
    return 0;
}
