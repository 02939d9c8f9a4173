// SPDX-License-Identifier: Apache-2.0
// Runs work in a child process, because the work may block for too long: a call to libmunge 0.5.15 was measured to take
// 0.1 ms, but 10.1 s if munged hangs, and 2.3 s if munged has died and left its socket behind. No option of libmunge
// changes these times. Signal handlers or threads of the plugin would interfere with those of Slurm's commands; a child
// process interferes with nothing.
#define _GNU_SOURCE
#include "apart.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limits.h"
#include "stream.h"

// Send a frame that contains the result, as one byte, and the reply.
static void tell(int fd, enum client_result result, const char *reply, size_t size, nanoseconds deadline)
{
    char *frame = malloc(size + 1);
    if (!frame) {
        return;
    }
    frame[0] = (char)result;
    if (size > 0) {
        memcpy(frame + 1, reply, size);
    }
    stream_send_frame(fd, frame, size + 1, deadline);
    free(frame);
}

static enum client_result hear(int fd, size_t limit, nanoseconds deadline, char **reply, size_t *size)
{
    char *frame = NULL;
    size_t frame_size = 0;
    enum client_result result = stream_receive_frame(fd, limit + 1, deadline, &frame, &frame_size);
    if (result != CLIENT_OK) {
        return result == CLIENT_LATE ? CLIENT_LATE : CLIENT_FAILED;
    }
    result = (enum client_result)frame[0];
    if (result != CLIENT_OK) {
        free(frame);
        return result;
    }
    *size = frame_size - 1;
    memmove(frame, frame + 1, *size);
    *reply = frame;
    return CLIENT_OK;
}

// Close all descriptors above 2 except `fd`. A child that hangs on a file system outlives its parent and must not keep
// the parent's descriptors open, because Slurm waits for pipes and sockets to close. On kernels without close_range(2)
// the descriptors stay open.
static void close_others(int fd)
{
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, (unsigned int)fd - 1, 0u);
    syscall(SYS_close_range, (unsigned int)fd + 1, UINT_MAX, 0u);
#else
    (void)fd;
#endif
}

_Noreturn static void be_child(int fd, apart_work *work, const void *what, nanoseconds deadline)
{
    char *reply = NULL;
    size_t size = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); // a child that takes the user's id must not expose slurmstepd's memory to the user
    close_others(fd);
    enum client_result result = work(what, &reply, &size);
    tell(fd, result, reply, size, deadline);
    _exit(0); // _exit, because exit would run the parent's exit handlers and flush its buffers again
}

// Fork with all signals blocked in the child, so that it does not run the signal handlers of the command that it was
// forked from.
static pid_t fork_without_signals(void)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child != 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return child;
}

static bool has_ended_in_time(pid_t child)
{
    const struct timespec pause = {.tv_nsec = 50000};
    const nanoseconds deadline = deadline_in_ms(REAP_MS);
    pid_t ended = 0;
    while ((ended = waitpid(child, NULL, WNOHANG)) == 0 && !deadline_passed(deadline)) {
        ppoll(NULL, 0, &pause, NULL);
    }
    return ended != 0;
}

// Wait for the child, and kill it if it is late or does not end. A child that hangs on a file system ends only when the
// file system answers again, so such a child is left to be reaped later (slurmstepd reaps its children). Even a child
// that has answered may not end, because a child that runs as the user can be stopped by the user's signals.
static void end_in_time(pid_t child, bool is_late)
{
    if (is_late || !has_ended_in_time(child)) {
        kill(child, SIGKILL);
        has_ended_in_time(child);
    }
}

enum client_result apart_do(apart_work *work, const void *what, size_t limit, nanoseconds deadline, char **reply,
                            size_t *size)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends)) {
        return CLIENT_FAILED;
    }
    int ours = stream_above_standard(ends[0]);
    int theirs = stream_above_standard(ends[1]);
    enum client_result result = CLIENT_FAILED;
    pid_t child = ours < 0 || theirs < 0 ? -1 : fork_without_signals();
    if (child == 0) {
        close(ours);
        be_child(theirs, work, what, deadline);
    }
    if (theirs >= 0) {
        close(theirs); // otherwise reading from `ours` would not end when the child ends
    }
    if (child > 0) {
        result = hear(ours, limit, deadline, reply, size);
    }
    if (ours >= 0) {
        close(ours); // a child that is still sending gets an error and ends
    }
    // Kill the child only if its reply was late or it has not ended. If SIGCHLD is ignored, the kernel reaps a child
    // that ends, and the child's id may already belong to another process.
    if (child > 0) {
        end_in_time(child, result == CLIENT_LATE);
    }
    return result;
}
