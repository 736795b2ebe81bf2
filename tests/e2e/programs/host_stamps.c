/*
 * host_stamps.c - the mode of the program `host` that is killed, and leaves a file that says how
 * far it had come.
 *
 * The main thread works. A second thread finds out how long threads of this process wait for a
 * processor.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

#define NS_OF_A_MS 1000000
#define PAUSE_US   5000 /* between a wait and the next kernel */
#define PROBE_MS   10
#define PROBES     200 /* so many last probes are kept: two seconds */

/* The contents of the file `stamps`. The kernel keeps them when the process is killed. Times are of
 * CLOCK_REALTIME, like those of the simulated GPU; 0 means not yet. One writer thread a member. */
struct stamps {
    _Atomic int64_t began_ns;        /* the first wait returned; main thread */
    _Atomic int64_t waited_ns;       /* the last wait returned; main thread */
    _Atomic int64_t probed_ns;       /* the last probe ended; second thread */
    _Atomic int64_t late_ns[PROBES]; /* how late probes ended; second thread */
};

static struct stamps *stamps;

static int64_t wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *probe(void *unused)
{
    int64_t before_ns = wall_ns();

    (void)unused;
    for (unsigned i = 0;; i++) {
        int64_t now_ns;

        host_sleep_ms(PROBE_MS);
        now_ns = wall_ns();
        atomic_store(&stamps->late_ns[i % PROBES], now_ns - before_ns - PROBE_MS * NS_OF_A_MS);
        atomic_store(&stamps->probed_ns, now_ns);
        before_ns = now_ns;
    }
    return NULL;
}

static void run_stamps(int ms)
{
    int fd = open("stamps", O_RDWR | O_CREAT | O_EXCL, 0600);
    int64_t end_ms = host_now_ms() + ms;
    pthread_t thread;

    if (fd < 0 || ftruncate(fd, sizeof(*stamps)))
        exit(1);
    stamps = mmap(NULL, sizeof(*stamps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stamps == MAP_FAILED || pthread_create(&thread, NULL, probe, NULL))
        exit(1);
    host_gpu_setup();
    while (host_now_ms() < end_ms) {
        int64_t now_ns;

        host_gpu_work(1);
        now_ns = wall_ns();
        if (!atomic_load(&stamps->began_ns))
            atomic_store(&stamps->began_ns, now_ns);
        atomic_store(&stamps->waited_ns, now_ns);
        usleep(PAUSE_US);
    }
}

const struct host_mode host_stamps_modes[] = {
    {"stamps", run_stamps, "works for N ms; the file `stamps` has the time of the last wait"},
    {0},
};
