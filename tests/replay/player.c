/*
 * player.c - plays a recording to the library that CUDA_INJECTION64_PATH names.
 *
 *     player [--speed X] FILE        started by tests/replay/run, which sets the library path
 *
 * FILE is a replay stream (README.md) or a dump (docs/cupti-dump.md). The process starts like any
 * CUDA program: cuInit() loads the injected library and its CUPTI. Then CUPTI delivers the
 * recording's records, as fast as the client accepts them, or at X times the recorded speed.
 *
 * Threads: the main thread plays. All other threads belong to the client or to CUPTI.
 */
#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "play.h"
#include "stream.h"
#include "wall_clock.h"

#define NS_PER_S    1000000000ull
#define NS_PER_MS   1000000ull
#define MAX_DEVICES 16
/* Time between the start of the process's clock and the first record. The client's window must be
 * open when the recording begins, and cuInit() may take some time. */
#define LEAD_NS (60 * NS_PER_S)
/* The player waits at most this long for a client to flush by itself. */
#define CLIENT_WAIT_NS (5 * NS_PER_S)
/* The first flush may already be running. The second flush delivers all complete buffers. The third
 * flush shows that the client has processed these buffers. At the fourth flush, syncline has
 * noticed that the player set the wall clock, because it checks its own clock twice a second and
 * flushes four times a second. */
#define FLUSHES_FOR_ALL 4

struct recording {
    uint8_t *bytes;
    size_t size;
    int is_dump;
    struct sim_device_info devices[MAX_DEVICES];
    uint32_t device_count;
    struct replay_span span;
};

static struct {
    double speed; /* multiple of the recorded speed; 0 if the player does not wait between
                     records */
    uint64_t first_ns, began_ns;
} pace;

static int read_file(struct recording *r, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t cap = 0, got;

    if (!f) {
        return -errno;
    }
    do {
        cap = cap ? cap * 2 : 1 << 20;
        uint8_t *more = realloc(r->bytes, cap);

        if (!more) {
            break;
        }
        r->bytes = more;
        got = fread(r->bytes + r->size, 1, cap - r->size, f);
        r->size += got;
    } while (got);
    int err = ferror(f) ? -EIO : r->bytes && r->size < cap ? 0 : -ENOMEM;

    fclose(f);
    return err;
}

static int survey(struct recording *r)
{
    size_t magic = strlen(REPLAY_DUMP_MAGIC);
    int err;

    r->is_dump = r->size >= magic && memcmp(r->bytes, REPLAY_DUMP_MAGIC, magic) == 0;
    if (r->is_dump) {
        err = replay_dump_survey(r->bytes, r->size, r->devices, MAX_DEVICES, &r->device_count,
                                 &r->span);
    } else {
        err = replay_play_survey((const char *)r->bytes, r->size, r->devices, MAX_DEVICES,
                                 &r->device_count, &r->span);
    }
    if (!err && r->span.first_ns <= LEAD_NS) {
        fprintf(stderr, "replay: nothing in the recording has a time\n");
        err = -EINVAL;
    }
    return err;
}

static void keep_pace(uint64_t ns)
{
    if (pace.speed <= 0 || ns <= pace.first_ns) {
        return;
    }
    uint64_t due = pace.began_ns + (uint64_t)((double)(ns - pace.first_ns) / pace.speed);
    uint64_t now = replay_monotonic_now();

    if (now < due) {
        replay_sleep(due - now);
    }
}

static void wait_for_flushes(const struct sim_probe *probe, uint64_t count)
{
    uint64_t until = replay_monotonic_now() + CLIENT_WAIT_NS, before = probe->flushes();

    while (probe->flushes() - before < count && replay_monotonic_now() < until) {
        replay_sleep(NS_PER_MS);
    }
}

/* The process's clock starts before the recording's start and ends after the recording's end. */
static int play(struct recording *r)
{
    sim_replay_begin(r->devices, r->device_count);
    replay_wall_clock_set(r->span.first_ns - LEAD_NS);
    CUresult result = cuInit(0);
    const struct sim_probe *probe = sim_replay_probe();

    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "replay: cuInit fails with %d\n", (int)result);
        return -ENODEV;
    }
    if (!probe) {
        fprintf(stderr, "replay: nobody listens: CUDA_INJECTION64_PATH names no library that uses "
                        "CUPTI\n");
        return -ENOENT;
    }
    pace.first_ns = r->span.first_ns;
    pace.began_ns = replay_monotonic_now();
    int err = r->is_dump ? replay_dump_play(r->bytes, r->size, probe, keep_pace)
                         : replay_play((const char *)r->bytes, r->size, probe, keep_pace);

    if (replay_wall_clock_now() <= r->span.last_ns) {
        replay_wall_clock_set(r->span.last_ns + NS_PER_S);
    }
    wait_for_flushes(probe, FLUSHES_FOR_ALL);
    return err;
}

int main(int argc, char **argv)
{
    static struct recording recording;
    int at = 1, err;

    if (argc > 2 && strcmp(argv[at], "--speed") == 0) {
        pace.speed = strtod(argv[at + 1], NULL);
        at += 2;
    }
    if (argc != at + 1) {
        fprintf(stderr, "usage: player [--speed X] FILE\n");
        return 2;
    }
    err = read_file(&recording, argv[at]);
    if (err) {
        fprintf(stderr, "replay: %s: %s\n", argv[at], strerror(-err));
        return 1;
    }
    err = survey(&recording);
    if (!err) {
        err = play(&recording);
    }
    free(recording.bytes);
    return err != 0;
}
