// SPDX-License-Identifier: Apache-2.0
// Seen of libmunge 0.5.15: 0.1 ms a call, but 10.1 s when munged hangs and 2.3 s when it has died and left its socket;
// no option of it changes that. Signals and threads of ours would meet those of Slurm's commands, a child meets nobody.
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

// A frame: the result in one byte, then the reply.
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

// A child that a file system holds outlives what it is a copy of, and must not hold open what that had: Slurm waits for
// the ends of pipes and sockets. Where the kernel is older than this call, they stay open.
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
    prctl(PR_SET_DUMPABLE, 0); // of slurmstepd's memory, nothing is for a user whose process this may become
    close_others(fd);
    enum client_result result = work(what, &reply, &size);
    tell(fd, result, reply, size, deadline);
    _exit(0); // nothing of the command that we are a copy of is to be run, or written, twice
}

// A copy of a command must not run the command's signal handlers.
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

// One that a file system holds, which has stopped answering, ends only once that goes on: it is left to whoever waits
// for children later (slurmstepd does). One that has answered may still not end: its user can stop it.
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
        close(theirs); // so that the child's end is seen
    }
    if (child > 0) {
        result = hear(ours, limit, deadline, reply, size);
    }
    if (ours >= 0) {
        close(ours); // a child that is still talking ends now
    }
    // Only then: where SIGCHLD is ignored, a child that has ended is no longer ours to kill.
    if (child > 0) {
        end_in_time(child, result == CLIENT_LATE);
    }
    return result;
}
