// SPDX-License-Identifier: Apache-2.0
#include "fids.h"

#include <stdlib.h>
#include <string.h>

struct root *root_new(const char *export, size_t bytes, uint32_t user)
{
    struct root *root = calloc(1, sizeof *root);
    if (root) {
        *root = (struct root){.references = 1, .user = user, .export = strndup(export, bytes)};
        if (!root->export) {
            free(root);
            return NULL;
        }
    }
    return root;
}

void root_release(struct root *root)
{
    if (root && --root->references == 0) {
        free(root->export);
        free(root);
    }
}

struct fid *fids_find(const struct session *session, uint32_t number)
{
    struct fid *fid = session->fids[number % FID_BUCKETS];
    while (fid && fid->number != number) {
        fid = fid->next;
    }
    return fid;
}

struct fid *fids_create(struct session *session, uint32_t number, struct root *root)
{
    struct fid *fid =
        session->fid_count < FIDS_MAX && session->next_upstream_fid != NO_FID ? calloc(1, sizeof *fid) : NULL;
    if (fid) {
        struct fid **bucket = &session->fids[number % FID_BUCKETS];
        *fid =
            (struct fid){.references = 1, .number = number, .upstream = session->next_upstream_fid++, .pending = true};
        fid->root = root;
        if (root) {
            root->references++;
        }
        fid->next = *bucket;
        *bucket = fid;
        session->fid_count++;
    }
    return fid;
}

struct fid *fid_share(struct fid *fid)
{
    fid->references++;
    return fid;
}

void fid_release(struct fid *fid)
{
    if (fid && --fid->references == 0) {
        root_release(fid->root);
        free(fid->path);
        free(fid);
    }
}

void fids_remove(struct session *session, struct fid *fid)
{
    struct fid **place = &session->fids[fid->number % FID_BUCKETS];
    while (*place && *place != fid) {
        place = &(*place)->next;
    }
    if (*place) {
        *place = fid->next;
        session->fid_count--;
        fid_release(fid);
    }
}

void fids_clear(struct session *session)
{
    for (size_t i = 0; i < FID_BUCKETS; i++) {
        while (session->fids[i]) {
            fids_remove(session, session->fids[i]);
        }
    }
}

char *fid_path(const char *path, const char *name, size_t bytes)
{
    if (!path || memchr(name, '/', bytes) || memchr(name, '\0', bytes)) {
        return NULL;
    }
    const size_t length = strlen(path);
    if (bytes == 2 && !memcmp(name, "..", 2)) {
        const char *slash = strrchr(path, '/');
        return strndup(path, slash ? (size_t)(slash - path) : 0);
    }
    if (length + bytes + 2 > PATH_BYTES_MAX) {
        return NULL;
    }
    char *result = malloc(length + bytes + 2);
    if (result) {
        char *end = mempcpy(result, path, length);
        if (length) {
            *end++ = '/';
        }
        end = mempcpy(end, name, bytes);
        *end = '\0';
    }
    return result;
}
