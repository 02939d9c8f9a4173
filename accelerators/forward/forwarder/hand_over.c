// SPDX-License-Identifier: Apache-2.0
// Hands connections over to burst buffers, and starts these. A connection's first message is looked at, but stays in
// its socket for whoever serves it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "burst.h"
#include "denial.h"
#include "log.h"
#include "proof.h"
#include "session.h"
#include "wire.h"

#define NO_GROUP 65534 // "nogroup", for users that this node does not know
#define ARGUMENTS_MAX 48
#define ARGUMENT_BYTES 4200
#define CHILDREN 256 // instances whose start is awaited
#define YOUNG_S 15   // longer than an instance takes to start

struct arrival {
    struct forwarder *forwarder;
    int fd;
    struct event *event;
    struct burst *burst; // its request, read once, because a client could change what is read again; NULL: not read
    struct proof *proof; // that is examined; NULL: none
    bool is_proven;
    struct child *child; // the instance that was started for it; NULL: none
    uint64_t deadline_ns;
};

static void serve_here(struct arrival *arrival)
{
    session_accept(arrival->forwarder, arrival->fd, NULL);
    arrival->fd = -1;
}

// Serve a connection that gets no burst buffer, and has nothing to drain. Without memory, it ends with its arrival.
static void serve_without(struct arrival *arrival)
{
    struct denial *denial = arrival->burst->drains ? NULL : denial_new(arrival->burst->name);
    if (denial || arrival->burst->drains) {
        arrival->forwarder->metrics.bursts_denied += denial != NULL;
        session_accept(arrival->forwarder, arrival->fd, denial);
        arrival->fd = -1;
    }
}

static void end(struct arrival *arrival)
{
    if (arrival->fd >= 0) {
        close(arrival->fd);
    }
    if (arrival->proof) {
        proof_forget(arrival->proof);
    }
    event_free(arrival->event);
    free(arrival->burst);
    free(arrival);
}

static int path_of(char *to, size_t room, const char *directory, const char *name, const char *file)
{
    const int bytes = snprintf(to, room, "%s/%s%s%s", directory, name, file ? "/" : "", file ? file : "");
    return bytes < 0 || (size_t)bytes >= room ? -1 : 0;
}

// Send a connection to an instance. Return 0; -1 with errno.
static int send_to(const struct settings *settings, const char *name, int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path_of(address.sun_path, sizeof address.sun_path, settings->bursts, name, "socket")) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0) {
        return -1;
    }
    char byte = 0;
    struct iovec vector = {&byte, 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof fd)];
    } control = {.room = {0}};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    const int failed = connect(socket_fd, (struct sockaddr *)&address, sizeof address) ||
                       sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0;
    const int kept = errno;
    close(socket_fd);
    errno = kept;
    return failed ? -1 : 0;
}

// Return whether an instance has a directory, perhaps since a moment ago.
static bool has_place(const struct settings *settings, const char *name)
{
    char path[ARGUMENT_BYTES];
    return !path_of(path, sizeof path, settings->bursts, name, NULL) && !access(path, F_OK);
}

// Return whether an instance holds the lock of its directory.
static bool is_served(const struct settings *settings, const char *name)
{
    char path[ARGUMENT_BYTES];
    const int fd = path_of(path, sizeof path, settings->bursts, name, "lock")
                       ? -1
                       : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0) {
        close(fd);
    }
    return is_locked;
}

static unsigned entries(const char *directory)
{
    unsigned count = 0;
    DIR *opened = opendir(directory);
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        count += entry->d_name[0] != '.' && strcmp(entry->d_name, "lock") != 0;
    }
    if (opened) {
        closedir(opened);
    }
    return count;
}

static bool has_data(const struct settings *settings, const char *name)
{
    char path[ARGUMENT_BYTES];
    return settings->burst_flash && !path_of(path, sizeof path, settings->burst_flash, name, NULL) && entries(path);
}

// Make a directory of a user's instance. Return 0; -1 with errno.
static int make_directory(const char *parent, const char *name, uint32_t user)
{
    char path[ARGUMENT_BYTES];
    struct stat status;
    if (path_of(path, sizeof path, parent, name, NULL)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (mkdir(path, 0700) && errno != EEXIST) {
        return -1;
    }
    if (lstat(path, &status)) {
        return -1;
    }
    if (!S_ISDIR(status.st_mode) || (status.st_uid != geteuid() && status.st_uid != user)) {
        errno = EPERM;
        return -1;
    }
    return status.st_uid == user ? 0 : lchown(path, user, (gid_t)-1);
}

// Return whether a directory was changed so recently that its instance may still be starting.
static bool is_young(const char *path)
{
    struct stat status;
    return stat(path, &status) || time(NULL) - status.st_mtime < YOUNG_S;
}

static void sweep_one(const struct settings *settings, const char *name)
{
    static const char *const left[] = {"socket", "lock"};
    char path[ARGUMENT_BYTES];
    if (path_of(path, sizeof path, settings->bursts, name, NULL) || is_young(path) || has_data(settings, name) ||
        is_served(settings, name)) {
        return;
    }
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (!path_of(path, sizeof path, settings->bursts, name, left[i])) {
            unlink(path);
        }
    }
    if (!path_of(path, sizeof path, settings->bursts, name, NULL)) {
        rmdir(path);
    }
    if (settings->burst_flash && !path_of(path, sizeof path, settings->burst_flash, name, "lock")) {
        unlink(path);
        path[strlen(path) - strlen("/lock")] = '\0';
        rmdir(path);
    }
}

// Remove the directories of instances that have ended, unless they left data.
static void sweep(const struct settings *settings)
{
    DIR *opened = opendir(settings->bursts);
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < BURST_NAME_BYTES) {
            sweep_one(settings, entry->d_name);
        }
    }
    if (opened) {
        closedir(opened);
    }
}

unsigned burst_count(const struct settings *settings)
{
    sweep(settings);
    return entries(settings->bursts);
}

// Return the number of burst buffers of a user.
static unsigned count_of(const struct settings *settings, uint32_t user)
{
    char end[BURST_NAME_BYTES];
    unsigned count = 0;
    DIR *opened = opendir(settings->bursts);
    snprintf(end, sizeof end, ".%" PRIu32, user);
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        const char *dot = strrchr(entry->d_name, '.');
        count += dot && dot != entry->d_name && !strcmp(dot, end);
    }
    if (opened) {
        closedir(opened);
    }
    return count;
}

// Return whether a user may have a further burst buffer: more places must be free than the user has. So a user who
// invents numbers of jobs, which only Slurm could refute, gets at most half of the places, and never the last one if
// others could have it.
static bool has_place_for(const struct settings *settings, uint32_t user)
{
    return burst_count(settings) + count_of(settings, user) < (unsigned)settings->burst_jobs;
}

struct arguments {
    char *all[ARGUMENTS_MAX + 1];
    unsigned count;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    if (arguments->count == ARGUMENTS_MAX || vasprintf(&text, format, list) < 0) {
        arguments->full = true;
    } else {
        arguments->all[arguments->count++] = text;
    }
    va_end(list);
}

static int64_t least_of(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static void add_all(struct arguments *arguments, const struct settings *settings, const struct burst *burst,
                    bool with_flash)
{
    const char *dot = strchr(burst->name, '.');
    add(arguments, "reprise-forwarder");
    add(arguments, "--hand-over=%s/%s", settings->bursts, burst->name);
    add(arguments, "--diod=%s", settings->diod);
    add(arguments, "--job=%.*s", (int)(dot - burst->name), burst->name);
    add(arguments, "--scheduler=%s", settings->scheduler);
    add(arguments, "--linger=%" PRId64, settings->linger);
    add(arguments, "--ram-bytes=%" PRId64, least_of(settings->ram_bytes, settings->burst_ram_bytes));
    if (settings->exports) {
        add(arguments, "--exports=%s", settings->exports);
    }
    if (with_flash) {
        const int64_t bytes = least_of(settings->flash_bytes, settings->burst_flash_bytes);
        add(arguments, "--flash=%s/%s", settings->burst_flash, burst->name);
        add(arguments, "--flash-bytes=%" PRId64, bytes < FLASH_BYTES_MIN ? (int64_t)FLASH_BYTES_MIN : bytes);
    }
    for (unsigned i = 0; i < burst->option_count; i++) {
        add(arguments, "--%s", burst->options[i]);
    }
}

// Become the user of an instance. Only root can become somebody else.
static int become(uint32_t user)
{
    if (geteuid() == user) {
        return 0;
    }
    const struct passwd *entry = getpwuid(user);
    const gid_t group = entry ? entry->pw_gid : NO_GROUP;
    return setgroups(0, NULL) || setgid(group) || setuid(user) ? -1 : 0;
}

// The instances that were started last. An older one is reaped, but nobody waits for it any more.
static struct child {
    pid_t pid;
    bool ended;
    bool refused; // it ended by itself, with an error
} children[CHILDREN];
static unsigned next_child;

static struct child *add_child(pid_t pid)
{
    struct child *child = &children[next_child++ % CHILDREN];
    *child = (struct child){.pid = pid};
    return child;
}

void burst_ended(evutil_socket_t number, short what, void *own)
{
    int status;
    (void)number;
    (void)what;
    (void)own;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (size_t i = 0; i < CHILDREN; i++) {
            if (children[i].pid == pid && !children[i].ended) {
                children[i].ended = true;
                children[i].refused = WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SUCCESS;
            }
        }
    }
}

// Start an instance. Return it; NULL with one line in the log.
static struct child *start(struct forwarder *forwarder, const struct burst *burst)
{
    const struct settings *settings = &forwarder->settings;
    struct arguments arguments = {.count = 0};
    const bool with_flash = settings->burst_flash != NULL;
    sweep(settings);
    if (geteuid() != 0 && geteuid() != burst->user) {
        log_line("burst buffer %s cannot start: only root can start those of other users", burst->name);
        return NULL;
    }
    if (make_directory(settings->bursts, burst->name, burst->user) ||
        (with_flash && make_directory(settings->burst_flash, burst->name, burst->user))) {
        log_line("burst buffer %s cannot start: its directories cannot be made: %s", burst->name, strerror(errno));
        return NULL;
    }
    add_all(&arguments, settings, burst, with_flash);
    const pid_t child = arguments.full ? -1 : fork();
    if (child == 0) {
        if (!become(burst->user)) {
            setsid();
            execv("/proc/self/exe", arguments.all);
        }
        _exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < arguments.count; i++) {
        free(arguments.all[i]);
    }
    if (child < 0) {
        log_line("burst buffer %s cannot start: %s", burst->name, strerror(errno));
        return NULL;
    }
    log_line("burst buffer %s starts", burst->name);
    forwarder->metrics.bursts_started++;
    return add_child(child);
}

static bool is_allowed(const struct settings *settings, const struct burst *burst)
{
    for (unsigned i = 0; i < burst->option_count; i++) {
        if (!burst_allows(settings, burst->options[i])) {
            log_line("burst buffer %s is refused: the site does not allow %s", burst->name, burst->options[i]);
            return false;
        }
    }
    return true;
}

static void look_again(struct arrival *arrival)
{
    const struct timeval wait = {.tv_usec = arrival->proof ? PROOF_WAIT_US : ARRIVAL_WAIT_US};
    if (event_add(arrival->event, &wait)) {
        end(arrival);
    }
}

// Hand a connection over. If the job can have no instance, it has no burst buffer, unless an earlier one left data on
// flash: then it must not continue without these. If an instance is killed, or is slow to start, the client tries
// again.
static void hand_over(struct arrival *arrival, const struct burst *burst)
{
    const struct settings *settings = &arrival->forwarder->settings;
    if (!send_to(settings, burst->name, arrival->fd)) {
        end(arrival);
        return;
    }
    const bool absent = errno == ENOENT || errno == ECONNREFUSED;
    const bool may_wait = absent || errno == EAGAIN;
    const bool has_left = has_data(settings, burst->name), is_known = has_place(settings, burst->name);
    const bool has_room = is_known || (!denial_of(burst->name) && has_place_for(settings, burst->user));
    const bool is_needed = is_known || has_left || !burst->drains; // without an instance, there is nothing to drain
    bool can_start = is_allowed(settings, burst) && has_room && is_needed;
    if (absent && can_start && !arrival->child) {
        arrival->child = start(arrival->forwarder, burst);
        can_start = arrival->child != NULL;
    }
    can_start = can_start && !(arrival->child && arrival->child->refused);
    const bool was_killed = arrival->child && arrival->child->ended && !arrival->child->refused;
    if (can_start && !was_killed && may_wait && scheduler_now() < arrival->deadline_ns) {
        look_again(arrival);
        return;
    }
    if (!can_start && !has_left) {
        serve_without(arrival);
    }
    end(arrival);
}

// Return whether the job has a burst buffer, or data in one. The lock is not tried, because an instance that starts at
// this moment would take that for another instance, and strangers can be refused often.
static bool has_burst(const struct arrival *arrival)
{
    const struct settings *settings = &arrival->forwarder->settings;
    return has_place(settings, arrival->burst->name) || has_data(settings, arrival->burst->name);
}

// Continue without burst buffer, or end the connection if the job has one: a process without it would see old data, and
// a drain would be answered although data are delayed.
static void refuse(struct arrival *arrival)
{
    arrival->forwarder->metrics.bursts_refused++;
    if (!has_burst(arrival)) {
        serve_here(arrival);
    }
    end(arrival);
}

// Continue without burst buffer while munged hangs, so that no job waits for it. A job that has a burst buffer must
// wait: a process without it would see old data. Return whether the connection was served.
static bool do_without(struct arrival *arrival)
{
    if (!proof_hangs() || has_burst(arrival)) {
        return false;
    }
    proof_log(arrival->burst, "munged does not answer, so the job works without: restart munged");
    serve_without(arrival);
    end(arrival);
    return true;
}

static void on_examined(void *own, enum verdict verdict)
{
    struct arrival *arrival = own;
    arrival->proof = NULL;
    if (verdict == PROOF_GOOD) {
        arrival->is_proven = true;
        hand_over(arrival, arrival->burst);
    } else if (verdict == PROOF_BAD) {
        refuse(arrival);
    } else if (!do_without(arrival)) { // the client tries again, since munged may answer soon
        arrival->forwarder->metrics.bursts_refused++;
        end(arrival);
    }
}

// Hand a connection over once its user is proven.
static void prove(struct arrival *arrival)
{
    const bool needs_proof = arrival->forwarder->settings.burst_auth == 0;
    if (!needs_proof || arrival->is_proven) {
        hand_over(arrival, arrival->burst);
        return;
    }
    if (!arrival->burst->proof[0]) {
        proof_log(arrival->burst, "it has no proof: jobs need munge, or the forwarder burst-auth=none");
        refuse(arrival);
        return;
    }
    if (do_without(arrival)) {
        return;
    }
    if (scheduler_now() >= arrival->deadline_ns) {
        proof_log(arrival->burst, "munged does not answer in time");
        arrival->forwarder->metrics.bursts_refused++;
        end(arrival);
        return;
    }
    if (!arrival->proof) {
        arrival->proof = proof_examine(arrival->forwarder, arrival->burst, on_examined, arrival);
    }
    if (!arrival->proof) { // the request stays in the socket until a thread can examine it
        free(arrival->burst);
        arrival->burst = NULL;
    }
    look_again(arrival);
}

// Read a request. Return NULL if a message is none.
static struct burst *read_request(const uint8_t *message, uint32_t length)
{
    struct burst *burst = malloc(sizeof *burst);
    if (burst && !burst_read(burst, message, length)) {
        free(burst);
        burst = NULL;
    }
    return burst;
}

static void on_event(evutil_socket_t fd, short what, void *own)
{
    struct arrival *arrival = own;
    uint8_t bytes[BURST_MESSAGE_BYTES];
    const ssize_t got = recv(arrival->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    (void)fd;
    (void)what;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        end(arrival);
        return;
    }
    if (arrival->burst) {
        prove(arrival);
        return;
    }
    const uint32_t length = got < 4 ? 4 : wire_get32(bytes);
    if (length > sizeof bytes || (got >= 5 && bytes[4] != TVERSION)) {
        serve_here(arrival);
        end(arrival);
    } else if (got < (ssize_t)length || got < 4) {
        if (scheduler_now() < arrival->deadline_ns) {
            look_again(arrival);
        } else {
            end(arrival);
        }
    } else if ((arrival->burst = read_request(bytes, length))) {
        prove(arrival);
    } else {
        serve_here(arrival);
        end(arrival);
    }
}

void burst_arrive(struct forwarder *forwarder, int fd)
{
    struct arrival *arrival = forwarder->settings.bursts ? calloc(1, sizeof *arrival) : NULL;
    if (arrival) {
        *arrival = (struct arrival){.forwarder = forwarder, .fd = fd};
        arrival->deadline_ns = scheduler_now() + ARRIVAL_NS;
        arrival->event = event_new(forwarder->base, -1, 0, on_event, arrival);
    }
    if (!arrival || !arrival->event) {
        free(arrival);
        session_accept(forwarder, fd, NULL);
        return;
    }
    on_event(fd, 0, arrival);
}

void burst_resume(struct forwarder *forwarder)
{
    const struct settings *settings = &forwarder->settings;
    DIR *opened = settings->bursts && settings->burst_flash ? opendir(settings->burst_flash) : NULL;
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        struct burst burst = {.option_count = 1, .options = {"write-back=flash"}};
        struct stat status;
        if (strlen(entry->d_name) < sizeof burst.name && strchr(entry->d_name, '.') && entry->d_name[0] != '.' &&
            has_data(settings, entry->d_name) && !fstatat(dirfd(opened), entry->d_name, &status, AT_SYMLINK_NOFOLLOW)) {
            memcpy(burst.name, entry->d_name, strlen(entry->d_name) + 1);
            burst.user = status.st_uid;
            start(forwarder, &burst);
        }
    }
    if (opened) {
        closedir(opened);
    }
}
