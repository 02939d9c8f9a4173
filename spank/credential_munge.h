// SPDX-License-Identifier: Apache-2.0
// Credentials of munge. munged also refuses a credential that was opened on its host before.
#ifndef REPRISE_CREDENTIAL_MUNGE_H
#define REPRISE_CREDENTIAL_MUNGE_H

#include "credential.h"

extern const struct credential_method credential_munge;

#endif
