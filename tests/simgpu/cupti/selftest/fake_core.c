/*
 * fake_core.c - see fake_core.h. This core is linked into the test program, and replaces
 * libsimgpu.so for the library under test. Any thread; a lock guards the log.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_core.h"

const struct sim_probe *fake_probe;
bool fake_replaying;

static _Atomic uint64_t correlation, op_id, randoms;
static _Atomic long alive;
static const char *failing;
static int failing_code;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **lines;
static size_t line_count;

void sim_probe_set(const struct sim_probe *probe)
{
    fake_probe = probe;
}

bool sim_replaying(void)
{
    return fake_replaying;
}

void sim_op_ref(struct sim_op *op)
{
    op->refs++;
}

void sim_op_unref(struct sim_op *op)
{
    if (--op->refs == 0) {
        alive--;
        free(op);
    }
}

uint64_t sim_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_progress(void)
{
}

uint64_t sim_correlation_now(void)
{
    return correlation;
}

uint32_t sim_correlation_of_thread(void)
{
    return 0;
}

void sim_log(const char *format, ...)
{
    va_list arguments;
    char *line = NULL;

    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) < 0) {
        abort();
    }
    va_end(arguments);
    pthread_mutex_lock(&lock);
    lines = realloc(lines, (line_count + 1) * sizeof *lines);
    lines[line_count++] = line;
    pthread_mutex_unlock(&lock);
}

const char *sim_option(const char *name)
{
    char variable[64] = "SIMGPU_";
    size_t at = strlen(variable);

    for (; *name; name++) {
        variable[at++] = *name == '-' ? '_' : (char)toupper((unsigned char)*name);
    }
    variable[at] = 0;
    return getenv(variable);
}

double sim_random(const char *point, uint64_t n)
{
    uint64_t x = (randoms++ + 1) * 0x9e3779b97f4a7c15u + n + (unsigned char)*point;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

int sim_fail(const char *function)
{
    return failing && strcmp(failing, function) == 0 ? failing_code : 0;
}

uint32_t sim_device_count(void)
{
    return 1;
}

const struct sim_device_info *sim_device_info(uint32_t device)
{
    static const struct sim_device_info info = {.name = "Fake GPU",
                                                .uuid = {1, 2, 3},
                                                .major = 9,
                                                .multiprocessors = 132,
                                                .max_threads_per_sm = 2048,
                                                .warp_size = 32,
                                                .memory_bytes = 1ull << 36};
    return device == 0 ? &info : NULL;
}

int sim_context_id(const void *context, uint32_t *id, uint32_t *device)
{
    *id = context ? (uint32_t)(uintptr_t)context : 1;
    *device = 0;
    return *id < 100 ? 0 : -1;
}

int sim_stream_id(const void *context, const void *stream, int per_thread, uint32_t *id)
{
    *id = stream ? (uint32_t)(uintptr_t)stream : per_thread ? 8 : 7;
    return 0;
}

int sim_graph_id(const void *graph, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)graph;
    return 0;
}

int sim_graph_node_id(const void *node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return 0;
}

uint64_t fake_new_correlation(void)
{
    return ++correlation;
}

static struct sim_op *new_op(enum sim_op_kind kind)
{
    struct sim_op *op = calloc(1, sizeof *op);

    alive++;
    op->refs = 1;
    op->kind = kind;
    op->id = ++op_id;
    op->correlation_wide = fake_new_correlation();
    op->correlation = (uint32_t)op->correlation_wide;
    op->context = 1;
    op->stream = 7;
    return op;
}

struct sim_op *fake_kernel(const char *name)
{
    struct sim_op *op = new_op(SIM_OP_KERNEL);

    op->name = name;
    op->grid[0] = 10;
    op->grid[1] = op->grid[2] = 1;
    op->block[0] = 256;
    op->block[1] = op->block[2] = 1;
    op->registers = 40;
    op->dynamic_shared = 1024;
    op->graph = 5;
    op->graph_node = 0x500000003;
    op->priority = -2;
    fake_probe->op_enqueued(op);
    return op;
}

struct sim_op *fake_copy(int peer)
{
    struct sim_op *op = new_op(SIM_OP_MEMCPY);

    op->copy_kind = peer ? 10 : 1;
    op->src_memory = 2;
    op->dst_memory = 3;
    op->flags = 1;
    op->bytes = 1ull << 33;
    op->is_peer = peer;
    op->dst_device = 1;
    op->dst_context = 2;
    fake_probe->op_enqueued(op);
    return op;
}

struct sim_op *fake_memset(void)
{
    struct sim_op *op = new_op(SIM_OP_MEMSET);

    op->value = 0xab;
    op->bytes = 4096;
    op->dst_memory = 3;
    fake_probe->op_enqueued(op);
    return op;
}

void fake_finish(struct sim_op *op)
{
    op->start_ns = sim_now_ns();
    op->end_ns = op->start_ns + 1500;
    op->done = 1;
    fake_probe->op_done(op);
    sim_op_unref(op);
}

void fake_call(enum sim_domain domain, uint32_t cbid, uint32_t id, int result)
{
    uint64_t now = sim_now_ns();

    fake_probe->api_enter(domain, cbid, id, now);
    fake_probe->api_exit(domain, cbid, id, now, sim_now_ns(), result);
}

long fake_ops_alive(void)
{
    return alive;
}

int fake_log_count(const char *text)
{
    int count = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < line_count; i++) {
        count += strstr(lines[i], text) != NULL;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

void fake_fail(const char *function, int code)
{
    failing = function;
    failing_code = code;
}
