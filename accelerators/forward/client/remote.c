// SPDX-License-Identifier: Apache-2.0
#include "remote.h"

#include "clock.h"
#include "debts.h"

struct remote_file *remote_find(struct link *link, const struct stat *status, bool writing)
{
    for (int i = 0; i < REMOTE_FILES_MAX; i++) {
        struct remote_file *file = &link->files[i];
        if (file->fid && file->ino == status->st_ino && file->dev == status->st_dev && file->writing == writing) {
            file->used = ++link->clock;
            return file;
        }
    }
    return NULL;
}

// Return whether acknowledged data may be lost if a connection ends with this result.
static bool may_lose(const struct link *link, enum link_result result)
{
    return (result == LINK_LOST || (result == LINK_ENDED && link->delays)) && !state_settings()->burst_keeps;
}

enum link_result remote_close(struct state *state, struct link *link, struct remote_file *file, int64_t deadline_ns)
{
    struct message message, reply;
    const struct remote_file closed = *file;
    session_begin(link, &message, TCLUNK);
    message_put(&message, file->fid, 4);
    *file = (struct remote_file){0};
    const enum link_result result = session_ask(link, &message, RCLUNK, &reply, deadline_ns);
    if (closed.dirty) {
        debts_add(&state->debts, &closed, link->address, may_lose(link, result), result == LINK_REFUSED);
    }
    return result;
}

enum link_result remote_sync(struct link *link, struct remote_file *file, bool only_data, int64_t deadline_ns)
{
    struct message message, reply;
    session_begin(link, &message, TFSYNC);
    message_put(&message, file->fid, 4);
    message_put(&message, only_data, 4);
    const enum link_result result = session_ask(link, &message, RFSYNC, &reply, deadline_ns);
    file->dirty = file->dirty && result != LINK_OK;
    return result;
}

// Return an entry for a new file, after the least recently used file was closed if there is no free one.
static enum link_result make_room(struct state *state, struct link *link, struct remote_file **room,
                                  int64_t deadline_ns)
{
    struct remote_file *oldest = &link->files[0];
    for (int i = 0; i < REMOTE_FILES_MAX; i++) {
        if (!link->files[i].fid) {
            *room = &link->files[i];
            return LINK_OK;
        }
        oldest = link->files[i].used < oldest->used ? &link->files[i] : oldest;
    }
    *room = oldest;
    const enum link_result result = remote_close(state, link, oldest, deadline_ns);
    return result == LINK_REFUSED ? LINK_OK : result;
}

// Walk from a fid to another one along the names of a path, as far as one message goes. Moves `*path` on.
static enum link_result walk_on(struct link *link, uint32_t from, uint32_t to, const char **path, int64_t deadline_ns)
{
    struct message message, reply;
    unsigned names = 0;
    session_begin(link, &message, TWALK);
    message_put(&message, from, 4);
    message_put(&message, to, 4);
    uint8_t *count = message.at;
    message_put(&message, 0, 2);
    for (; **path == '/' && names < NAMES_MAX; names++) {
        const size_t length = strcspn(*path + 1, "/");
        message_put_string(&message, *path + 1, length);
        *path += 1 + length;
    }
    struct message number = message_of(count, 2);
    message_put(&number, names, 2);
    const enum link_result result = session_ask(link, &message, RWALK, &reply, deadline_ns);
    return result == LINK_OK && message_get(&reply, 2) != names ? LINK_REFUSED : result;
}

static enum link_result walk(struct link *link, int prefix, uint32_t fid, int64_t deadline_ns, bool *made)
{
    const char *path = link->path + state_settings()->prefixes[prefix].length;
    uint32_t from = session_root(prefix);
    enum link_result result = LINK_OK;
    while (result == LINK_OK && *path) {
        result = walk_on(link, from, fid, &path, deadline_ns);
        *made |= result == LINK_OK;
        from = fid;
    }
    return result;
}

// Return LINK_OK if a fid is the file that this node has open.
static enum link_result compare(struct state *state, struct link *link, uint32_t fid, const struct stat *status,
                                int64_t deadline_ns)
{
    struct message message, reply;
    session_begin(link, &message, TGETATTR);
    message_put(&message, fid, 4);
    message_put(&message, MESSAGE_GETATTR_BASIC, 8);
    const enum link_result result = session_ask(link, &message, RGETATTR, &reply, deadline_ns);
    if (result != LINK_OK) {
        return result;
    }
    message_get(&reply, 8);
    const uint64_t inode = message_get_qid(&reply);
    const uint64_t mode = message_get(&reply, 4);
    if (!reply.bad && inode == status->st_ino && mode == status->st_mode) {
        return LINK_OK;
    }
    state_count(&state->counters.other_files, 1);
    return LINK_REFUSED;
}

static enum link_result open_fid(struct link *link, uint32_t fid, bool writing, uint32_t *chunk, int64_t deadline_ns)
{
    struct message message, reply;
    session_begin(link, &message, TLOPEN);
    message_put(&message, fid, 4);
    message_put(&message, writing, 4); // O_RDONLY or O_WRONLY
    const enum link_result result = session_ask(link, &message, RLOPEN, &reply, deadline_ns);
    if (result != LINK_OK) {
        return result;
    }
    message_get_qid(&reply);
    const uint64_t unit = message_get(&reply, 4);
    const uint32_t most = link->message_bytes - MESSAGE_TWRITE_BYTES - 1;
    *chunk = unit && unit < most ? (uint32_t)unit : most;
    return reply.bad ? LINK_ENDED : LINK_OK;
}

static enum link_result drop_fid(struct link *link, uint32_t fid, int64_t deadline_ns)
{
    struct message message, reply;
    session_begin(link, &message, TCLUNK);
    message_put(&message, fid, 4);
    return session_ask(link, &message, RCLUNK, &reply, deadline_ns);
}

// Walk to the file of a descriptor. The new fid is dropped unless the result is LINK_OK.
static enum link_result visit(struct state *state, struct link *link, int fd, const struct target *target,
                              uint32_t *visited, int64_t deadline_ns)
{
    ino_t root = 0;
    const int prefix = target_path(state, fd, target, link->path, &root);
    const uint32_t fid = session_new_fid(link);
    bool made = false;
    enum link_result result = prefix < 0 ? LINK_REFUSED : session_attach(link, prefix, root, deadline_ns);
    if (result == LINK_OK) {
        result = walk(link, prefix, fid, deadline_ns, &made);
    }
    if (result == LINK_OK) {
        result = compare(state, link, fid, &target->status, deadline_ns);
    }
    if (result == LINK_REFUSED && made) {
        result = drop_fid(link, fid, deadline_ns);
        result = result == LINK_OK ? LINK_REFUSED : result;
    }
    *visited = fid;
    return result;
}

// A Tsetattr that sets nothing waits for the delayed writes of its file, and does nothing on other servers.
static enum link_result set_nothing(struct link *link, uint32_t fid, int64_t deadline_ns)
{
    struct message message, reply;
    session_begin(link, &message, TSETATTR);
    message_put(&message, fid, 4);
    for (int i = 0; i < 4; i++) { // valid[4] mode[4] uid[4] gid[4]
        message_put(&message, 0, 4);
    }
    for (int i = 0; i < 5; i++) { // size[8], and the seconds and nanoseconds of two times
        message_put(&message, 0, 8);
    }
    return session_ask(link, &message, RSETATTR, &reply, deadline_ns);
}

enum link_result remote_settle(struct state *state, struct link *link, int fd, const struct target *target,
                               int64_t deadline_ns)
{
    const struct remote_file *file = remote_find(link, &target->status, true);
    uint32_t fid = 0;
    file = file ? file : remote_find(link, &target->status, false);
    if (file) {
        return set_nothing(link, file->fid, deadline_ns);
    }
    enum link_result result = visit(state, link, fd, target, &fid, deadline_ns);
    if (result == LINK_OK) {
        result = set_nothing(link, fid, deadline_ns);
        const enum link_result dropped =
            result == LINK_OK || result == LINK_REFUSED ? drop_fid(link, fid, deadline_ns) : result;
        result = result == LINK_OK ? dropped : result;
    }
    return result;
}

enum link_result remote_open(struct state *state, struct link *link, int fd, const struct target *target, bool writing,
                             struct remote_file **file, int64_t deadline_ns)
{
    uint32_t fid = 0, chunk = 0;
    enum link_result result = visit(state, link, fd, target, &fid, deadline_ns);
    const bool visited = result == LINK_OK;
    if (result == LINK_OK) {
        result = open_fid(link, fid, writing, &chunk, deadline_ns);
    }
    if (result == LINK_OK) {
        result = make_room(state, link, file, deadline_ns);
    }
    if (result == LINK_OK) {
        **file = (struct remote_file){
            .dev = target->status.st_dev, .ino = target->status.st_ino, .fid = fid, .chunk = chunk, .writing = writing};
        (*file)->used = ++link->clock;
        return LINK_OK;
    }
    if (result == LINK_REFUSED) {
        target_shun(state, &target->status, clock_now_ns() + SHUN_NS);
        result = visited ? drop_fid(link, fid, deadline_ns) : result;
        result = result == LINK_OK ? LINK_REFUSED : result;
    }
    return result;
}

void remote_end(struct state *state, struct link *link, enum link_result result)
{
    const bool lost = may_lose(link, result);
    if (lost && link->delays) {
        debts_lose(&state->debts, link->address);
    }
    for (int i = 0; i < REMOTE_FILES_MAX; i++) {
        if (link->files[i].fid && link->files[i].dirty) {
            debts_add(&state->debts, &link->files[i], link->address, lost, false);
        }
        link->files[i] = (struct remote_file){0};
    }
    for (int i = 0; i < PREFIXES_MAX; i++) {
        link->attached[i] = false;
    }
    link_close(link);
    link->proven = false;
    link->faulted = false;
    link->delays = false;
    link->checked = false;
    link->address[0] = '\0';
}
