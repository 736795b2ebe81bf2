/*
 * nccl_shared.c - the memory that the ranks of a communicator share: a sparse file, whose path is
 * in the unique id. Every rank maps the file, and the last rank to attach removes it from its
 * folder.
 *
 * Application threads create and split communicators; the service thread reads and writes the
 * shared data (nccl_task.c). A communicator is freed when the program and all its kernels have
 * released it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "libraries/nccl.h"

enum {
    PAGE = 4096,
    WAIT_NS = 200000,
    GIVE_UP_S = 120 /* longest time that ranks wait for each other when a communicator is split */
};

static const size_t rank_room = (size_t)4 << 30, pair_room = (size_t)1 << 30;

size_t sim_nccl_room(bool pair)
{
    return pair ? pair_room : rank_room;
}

/* Returns a folder in memory if it has enough room (a container's /dev/shm may be small), else a
 * folder on disk. */
static const char *folder(void)
{
    const char *named = getenv("TMPDIR");
    struct statvfs facts;

    if (statvfs("/dev/shm", &facts) == 0 && facts.f_bavail * facts.f_frsize > (1ul << 30) &&
        access("/dev/shm", W_OK) == 0) {
        return "/dev/shm";
    }
    return named && *named ? named : "/tmp";
}

int sim_nccl_new_id(struct sim_nccl_id *id)
{
    memset(id, 0, sizeof *id);
    int n = snprintf(id->path, sizeof id->path - 16, "%s/simgpu-nccl-XXXXXX", folder());
    int fd = n < (int)sizeof id->path - 16 ? mkstemp(id->path) : -1;

    if (fd < 0) {
        return NCCL_SYSTEM_ERROR;
    }
    close(fd);
    return NCCL_SUCCESS;
}

static size_t header_bytes(int ranks)
{
    size_t n = (size_t)ranks;
    size_t bytes = sizeof(struct sim_nccl_shared) + n * sizeof(struct sim_nccl_rank) +
                   n * n * sizeof(struct sim_nccl_pair);

    return (bytes + PAGE - 1) / PAGE * PAGE;
}

struct sim_nccl_pair *sim_nccl_pair(const struct sim_nccl_comm *comm, int from, int to)
{
    struct sim_nccl_pair *pairs = (struct sim_nccl_pair *)&comm->shared->rank[comm->ranks];

    return &pairs[from * comm->ranks + to];
}

char *sim_nccl_data(const struct sim_nccl_comm *comm, int rank)
{
    return (char *)comm->shared + header_bytes(comm->ranks) + (size_t)rank * rank_room;
}

char *sim_nccl_pair_data(const struct sim_nccl_comm *comm, int from, int to)
{
    return sim_nccl_data(comm, comm->ranks) + (size_t)(from * comm->ranks + to) * pair_room;
}

static int map(struct sim_nccl_comm *comm)
{
    size_t n = (size_t)comm->ranks;
    int fd = open(comm->id.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0) {
        return NCCL_SYSTEM_ERROR;
    }
    comm->bytes = header_bytes(comm->ranks) + n * rank_room + n * n * pair_room;
    void *base = ftruncate(fd, (off_t)comm->bytes) ? MAP_FAILED
                                                   : mmap(NULL, comm->bytes, PROT_READ | PROT_WRITE,
                                                          MAP_SHARED | MAP_NORESERVE, fd, 0);

    close(fd);
    if (base == MAP_FAILED) {
        return NCCL_SYSTEM_ERROR;
    }
    comm->shared = base;
    return NCCL_SUCCESS;
}

int sim_nccl_attach(const struct sim_nccl_id *id, int ranks, int rank, struct sim_nccl_comm **out)
{
    struct sim_nccl_comm *comm = calloc(1, sizeof *comm);

    if (!comm || ranks < 1 || ranks > SIM_NCCL_RANKS || rank < 0 || rank >= ranks) {
        free(comm);
        return NCCL_INVALID_ARGUMENT;
    }
    comm->refs = 1;
    comm->ranks = ranks;
    comm->rank = rank;
    comm->id = *id;
    comm->device = sim_thread_self()->device;
    comm->sent = calloc((size_t)ranks, sizeof *comm->sent);
    comm->received = calloc((size_t)ranks, sizeof *comm->received);
    if (!comm->sent || !comm->received || map(comm)) {
        free(comm->sent);
        free(comm->received);
        free(comm);
        return NCCL_SYSTEM_ERROR;
    }
    if (atomic_fetch_add(&comm->shared->attached, 1) + 1 == ranks) {
        unlink(id->path);
    }
    sim_nccl_plugin_attach(comm);
    *out = comm;
    return NCCL_SUCCESS;
}

void sim_nccl_hold(struct sim_nccl_comm *comm)
{
    atomic_fetch_add(&comm->refs, 1);
}

void sim_nccl_release(struct sim_nccl_comm *comm)
{
    if (atomic_fetch_sub(&comm->refs, 1) != 1) {
        return;
    }
    munmap(comm->shared, comm->bytes);
    free(comm->sent);
    free(comm->received);
    free(comm);
}

/* ---- splitting: the calling threads wait for each other ---- */

static int wait_for_all(const struct sim_nccl_comm *comm, uint64_t number, bool read)
{
    const struct timespec pause = {0, WAIT_NS};
    uint64_t give_up = sim_now_ns() + GIVE_UP_S * 1000000000ull;

    for (int r = 0; r < comm->ranks; r++) {
        struct sim_nccl_rank *rank = &comm->shared->rank[r];

        while (atomic_load(read ? &rank->splits_read : &rank->splits) < number) {
            if (atomic_load(&comm->aborted) || sim_now_ns() > give_up) {
                return NCCL_SYSTEM_ERROR;
            }
            nanosleep(&pause, NULL);
        }
    }
    return NCCL_SUCCESS;
}

int sim_nccl_split(struct sim_nccl_comm *comm, int color, int key, int *ranks, int *rank,
                   struct sim_nccl_id *id)
{
    struct sim_nccl_rank *own = &comm->shared->rank[comm->rank];
    uint64_t number = ++comm->splits;
    int error = wait_for_all(comm, number - 1, true);

    if (error) {
        return error;
    }
    own->color = color;
    own->key = key;
    atomic_store(&own->splits, number);
    error = wait_for_all(comm, number, false);
    *ranks = *rank = 0;
    for (int r = 0; r < comm->ranks && !error; r++) {
        const struct sim_nccl_rank *other = &comm->shared->rank[r];
        bool before = other->key < key || (other->key == key && r < comm->rank);

        *ranks += other->color == color;
        *rank += other->color == color && before;
    }
    atomic_store(&own->splits_read, number);
    memset(id, 0, sizeof *id);
    int n = snprintf(id->path, sizeof id->path, "%s-%d.%d", comm->id.path, (int)number, color);

    return error || n < (int)sizeof id->path ? error : NCCL_SYSTEM_ERROR;
}
