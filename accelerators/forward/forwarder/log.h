// SPDX-License-Identifier: Apache-2.0
// Lines on standard error, which systemd puts into the journal.
#ifndef FORWARDER_LOG_H
#define FORWARDER_LOG_H

// Print one line. Similar lines beyond 20 in a second are counted, not printed.
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

#endif
