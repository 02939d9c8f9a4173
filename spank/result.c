// SPDX-License-Identifier: Apache-2.0
#include "result.h"

const char *result_words(enum client_result result)
{
    switch (result) {
    case CLIENT_OK:
        return "";
    case CLIENT_ABSENT:
        return "no daemon can be reached there (`reprise doctor` shows the cause)";
    case CLIENT_LATE:
        return "the daemon did not answer in time";
    case CLIENT_BROKEN:
        return "the daemon's answer is invalid (its log shows the cause)";
    case CLIENT_UNTRUSTED:
        return "the request or the answer could not be authenticated (`reprise doctor` shows the cause)";
    case CLIENT_NO_CREDENTIAL:
        return "this host cannot authenticate over TCP: neither munged, with libmunge.so.2, nor Slurm's auth/slurm "
               "runs on it";
    case CLIENT_FAILED:
        break;
    }
    return "the request could not be sent";
}
