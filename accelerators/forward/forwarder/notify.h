// SPDX-License-Identifier: Apache-2.0
// Reports to systemd (sd_notify(3)), if it started this program.
#ifndef FORWARDER_NOTIFY_H
#define FORWARDER_NOTIFY_H

#include <event2/event.h>

// Report that the forwarder is ready, and from then on, that its event loop still turns (WatchdogSec=). Processes that
// this one starts later report nothing.
void notify_ready(struct event_base *base);

#endif
