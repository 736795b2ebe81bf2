/*
 * closefds.c - a program that works on the GPU, writes its own files, and closes all descriptors,
 * including those that it did not open:
 *
 *     closefds SEED
 *
 * The program runs 50 rounds of random length. Each round closes all descriptors from 3 up, opens
 * two files in the working directory on a few descriptors each, and writes to them until the next
 * round. Then the program works until the library has opened a trace file again (20 s at most), and
 * prints `files N changed N broken N`: the number of the program's files, of its files with wrong
 * contents, and of failed calls on its descriptors.
 *
 * One thread.
 */
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cuda_load.h"
#include "spin_kernel.h"

#define ROUNDS         50
#define FILES_A_ROUND  2
#define PIECE_BYTES    4096
#define MOST_ROUND_NS  80000000
#define KERNELS_A_WAIT 20
#define MOST_COPIES    4
#define FILE_AGAIN_NS  120000000000u

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("plain_spin_ns");

static CUfunction kernel;
static CUstream stream;
static unsigned pieces[ROUNDS * FILES_A_ROUND]; /* number of pieces of text that each file must
                                                   contain */
static int broken;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(uint64_t until_ns)
{
    do {
        for (int i = 0; i < KERNELS_A_WAIT; i++)
            spin_launch(kernel, stream, 1, 32, 1000);
        CHECK(cu.StreamSynchronize(stream));
    } while (now_ns() < until_ns);
}

static const char *name_of(unsigned file)
{
    static char name[32];

    snprintf(name, sizeof(name), "host-%03u", file);
    return name;
}

static const char *piece_of(unsigned file, unsigned number)
{
    static char piece[PIECE_BYTES];

    for (unsigned i = 0; i < sizeof(piece); i++)
        piece[i] = (char)('a' + (file + number + i) % 26);
    return piece;
}

/* Opens a file on a random number of descriptors, so that some descriptors get numbers that the
 * library used before. */
static int open_file(unsigned file)
{
    int fd = open(name_of(file), O_RDWR | O_CREAT | O_EXCL, 0600);

    for (long copies = random() % MOST_COPIES; copies > 0; copies--)
        fd = dup(fd);
    return fd;
}

static void put(int fd, unsigned file)
{
    if (write(fd, piece_of(file, pieces[file]), PIECE_BYTES) == PIECE_BYTES)
        pieces[file]++;
    else
        broken++;
}

/* Closes all descriptors in one of the two ways that daemons use. */
static void close_all(unsigned round)
{
    if (round % 2) {
        closefrom(3);
        return;
    }
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void play(unsigned round)
{
    unsigned first = round * FILES_A_ROUND;
    int fd[FILES_A_ROUND];

    close_all(round);
    for (unsigned i = 0; i < FILES_A_ROUND; i++) {
        fd[i] = open_file(first + i);
        put(fd[i], first + i);
    }
    for (int part = 0; part < 4; part++) {
        work(now_ns() + (uint64_t)(random() % (MOST_ROUND_NS / 4)));
        for (unsigned i = 0; i < FILES_A_ROUND; i++) {
            struct stat named, opened;

            put(fd[i], first + i);
            broken += stat(name_of(first + i), &named) != 0 || fstat(fd[i], &opened) != 0 ||
                      named.st_ino != opened.st_ino || named.st_dev != opened.st_dev;
            broken += lseek(fd[i], 0, SEEK_CUR) != (off_t)pieces[first + i] * PIECE_BYTES;
        }
    }
}

static int is_changed(unsigned file)
{
    int fd = open(name_of(file), O_RDONLY), changed = fd < 0;
    char found[PIECE_BYTES];

    for (unsigned i = 0; !changed && i < pieces[file]; i++)
        changed = read(fd, found, PIECE_BYTES) != PIECE_BYTES ||
                  memcmp(found, piece_of(file, i), PIECE_BYTES) != 0;
    changed = changed || read(fd, found, PIECE_BYTES) != 0;
    if (fd >= 0)
        close(fd);
    return changed;
}

static int has_trace_file(void)
{
    char link[32], name[4096];

    for (int fd = 3; fd < 1024; fd++) {
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name) - 1);
        name[n > 0 ? n : 0] = '\0';
        if (strstr(name, ".pt.trace.json"))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned files = ROUNDS * FILES_A_ROUND, changed = 0;
    CUmodule module;

    srandom(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    cuda_open();
    cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&kernel, module, "plain_spin_ns"));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    work(now_ns());
    for (unsigned round = 0; round < ROUNDS; round++)
        play(round);
    for (uint64_t until_ns = now_ns() + FILE_AGAIN_NS; !has_trace_file() && now_ns() < until_ns;)
        work(now_ns());
    work(now_ns());
    for (unsigned i = 0; i < files; i++)
        changed += (unsigned)is_changed(i);
    printf("files %u changed %u broken %d\n", files, changed, broken);
    return 0;
}
