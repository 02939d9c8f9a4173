// SPDX-License-Identifier: Apache-2.0
#include "credential.h"

#include "credential_munge.h"
#include "credential_sack.h"

static const struct credential_method *const methods[] = {&credential_munge, &credential_sack};

const struct credential_method *credential_choose(const struct credential_settings *settings)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const bool allowed = settings->choice == CREDENTIAL_AUTOMATIC || settings->choice == methods[i]->choice;
        if (allowed && methods[i]->is_available(settings)) {
            return methods[i];
        }
    }
    return NULL;
}
