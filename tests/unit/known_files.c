// SPDX-License-Identifier: Apache-2.0
// A program without MPI that makes a known number of reads and writes in its main thread, a second thread and a child.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 256, LARGE = 1 << 20 };

static char data[LARGE];

static void *in_order(void *name)
{
    int fd = open(name, O_RDONLY);

    for (int i = 0; i < BLOCKS; i++)
        if (read(fd, data, BLOCK) != BLOCK)
            abort();
    close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int link[2];

    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (argc < 2 || fd < 0 || write(fd, data, LARGE) != LARGE)
        return 1;
    for (int i = 0; i < BLOCKS; i++) // block by block, backwards
        if (pread(fd, data, BLOCK, (off_t)(BLOCKS - 2 - i % (BLOCKS - 1)) * BLOCK) != BLOCK)
            return 2;
    close(fd);
    pthread_create(&thread, NULL, in_order, argv[1]);
    pthread_join(thread, NULL);
    FILE *stream = fopen(argv[1], "r");
    char byte;
    for (int i = 0; i < LARGE; i++)
        if (fread(&byte, 1, 1, stream) != 1)
            return 3;
    fclose(stream);
    // The pipe gets a descriptor number that a file had before, but its bytes must not count as a file's.
    if (pipe(link) || write(link[1], data, BLOCK) != BLOCK || read(link[0], data, BLOCK) != BLOCK)
        return 4;
    errno = 0;
    struct stat found;
    if (read(-1, data, 1) != -1 || errno != EBADF || stat("/nowhere", &found) != -1 || errno != ENOENT)
        return 5;
    usleep(20000);
    pid_t child = fork();
    if (child == 0) {
        in_order(argv[1]);
        usleep(20000);
        _exit(7);
    }
    int status;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
        return 6;
    if (argc > 2)
        execl("/bin/echo", "echo", "as it was", NULL);
    return 0;
}
