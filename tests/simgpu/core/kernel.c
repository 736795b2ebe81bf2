/*
 * kernel.c - kernels: names, parameters and the duration of a launch.
 *
 * Any thread. Kernels and names are never freed. The duration of a launch comes from the first of
 * these sources that applies: the option --kernel 'GLOB=DURATION', a spin_ns parameter, the
 * estimate of the launching library (from bytes and FLOPs), the cost model by number of threads.
 * The duration is multiplied by --kernel-factor.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/count.h"
#include "core/fork.h"
#include "core/sim.h"

enum {
    MAGIC = 0x6be47e10,
    BUCKETS = 1 << 15,
    FIXED_NS = 1200, /* the shortest kernels of real traces take about this long */
    OWN_NS = 1600,   /* the shortest times of two kernels differ by at most this much */
    WAVE_NS = 1500,
    MAX_DYNAMIC_SHARED = 227 * 1024 /* the most shared memory that a kernel can opt in to */
};

static const double SPREAD = 0.08; /* variation between launches of one kernel */

/* x, y and z on an H100 */
static const uint32_t max_grid[3] = {0x7fffffff, 65535, 65535}, max_block[3] = {1024, 1024, 64};

struct name {
    struct name *next;
    struct sim_kernel *kernel; /* from sim_kernel_named() */
    char text[];
};

SIM_MUTEX(lock);
static struct name *names[BUCKETS];

static struct name *find_name(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    }
    struct name **bucket = &names[(hash ^ (hash >> 32)) % BUCKETS], *name = *bucket;

    while (name && (strncmp(name->text, text, length) != 0 || name->text[length])) {
        name = name->next;
    }
    if (!name && (name = malloc(sizeof *name + length + 1))) {
        memcpy(name->text, text, length);
        name->text[length] = 0;
        name->kernel = NULL;
        name->next = *bucket;
        *bucket = name;
    }
    return name;
}

const char *sim_intern(const char *text, size_t length)
{
    pthread_mutex_lock(&lock);
    const struct name *name = find_name(text, length);

    pthread_mutex_unlock(&lock);
    return name ? name->text : "";
}

/* Applies --kernel 'GLOB=DURATION', separated by semicolons. The first pattern that matches the
 * kernel's name applies. */
static void apply_options(struct sim_kernel *kernel)
{
    const char *text = sim_option("KERNEL");
    char *copy = text ? strdup(text) : NULL, *rest = NULL;

    for (char *item = copy ? strtok_r(copy, ";", &rest) : NULL; item && !kernel->fixed;
         item = strtok_r(NULL, ";", &rest)) {
        char *equals = strrchr(item, '=');

        if (!equals || !sim_option_duration(equals + 1, &kernel->fixed_ns)) {
            fprintf(stderr, "simgpu: --kernel %s: expected GLOB=DURATION\n", item);
            continue;
        }
        *equals = 0;
        kernel->fixed = fnmatch(item, kernel->name, 0) == 0;
    }
    free(copy);
}

/* Finds the type of the first parameter in a mangled name: _Z7spin_nsy takes an unsigned long
 * long. */
static void find_spin_in_name(struct sim_kernel *kernel)
{
    const char *at = strstr(kernel->name, "spin_ns");

    kernel->spin_index = -1;
    if (at) {
        char type = at[strlen("spin_ns")];

        kernel->spin_index = 0;
        kernel->spin_size = type == 'j' || type == 'i' ? 4 : 8;
    }
}

static struct sim_kernel *make(const char *interned)
{
    struct sim_kernel *kernel = sim_keep(sizeof *kernel);

    if (!kernel) {
        return NULL;
    }
    kernel->magic = MAGIC;
    kernel->name = interned;
    kernel->registers = 16 + (uint32_t)(strlen(interned) % 48);
    for (const char *at = interned; *at; at++) {
        kernel->own_ns = (kernel->own_ns * 31 + (unsigned char)*at) % OWN_NS;
    }
    find_spin_in_name(kernel);
    kernel->count_parameter = sim_count_parameter(interned);
    apply_options(kernel);
    return kernel;
}

struct sim_kernel *sim_kernel_new(const char *name, size_t length)
{
    return make(sim_intern(name, length));
}

struct sim_kernel *sim_kernel_named(const char *name)
{
    struct sim_kernel *kernel = NULL;

    pthread_mutex_lock(&lock);
    struct name *found = find_name(name, strlen(name));

    if (found && !found->kernel) {
        found->kernel = make(found->text);
    }
    kernel = found ? found->kernel : NULL;
    pthread_mutex_unlock(&lock);
    return kernel;
}

bool sim_kernel_valid(const struct sim_kernel *kernel)
{
    return kernel && kernel->magic == MAGIC;
}

static uint64_t read_parameter(const struct sim_kernel *kernel, void **params, void **extra)
{
    const char *at = NULL;
    uint64_t value = 0;

    if (params) {
        at = params[kernel->spin_index];
    } else if (extra) {
        /* CU_LAUNCH_PARAM_BUFFER_POINTER is 1; the packed parameters follow it. */
        for (int i = 0; extra[i]; i += 2) {
            if (extra[i] == (void *)1) {
                at = (const char *)extra[i + 1] +
                     (kernel->offsets ? kernel->offsets[kernel->spin_index] : 0);
            }
        }
    }
    if (at) {
        memcpy(&value, at, kernel->spin_size);
    }
    return value;
}

/* Returns the modelled duration in ns. The base is the launching library's estimate. Without an
 * estimate, the base is a shortest time, which differs between kernels, plus a fixed time for each
 * wave of threads that fills the device. A random variation is added for each launch. */
static uint64_t model(const struct sim_kernel *kernel, uint64_t cost_ns, uint64_t threads)
{
    const struct sim_device_info *device = sim_device_info(0);
    double resident = (double)device->multiprocessors * device->max_threads_per_sm;
    double ns = cost_ns ? (double)cost_ns
                        : FIXED_NS + kernel->own_ns + WAVE_NS * ((double)threads / resident);

    return (uint64_t)(ns * (1 + SPREAD * sim_random("kernel", sim_call_correlation())));
}

int sim_kernel_plan(struct sim_work *work, void **params, void **extra)
{
    struct sim_kernel *kernel = work->launch.kernel;
    uint64_t threads = 1, blocks = 1;

    if (!sim_kernel_valid(kernel)) {
        return SIM_E_HANDLE;
    }
    for (int i = 0; i < 3; i++) {
        if (work->launch.grid[i] > max_grid[i] || work->launch.block[i] > max_block[i]) {
            return SIM_E_CONFIGURATION;
        }
        threads *= work->launch.block[i];
        blocks *= work->launch.grid[i];
    }
    const struct sim_device_info *device = sim_device_info(0);

    if (!threads || !blocks || threads > device->max_threads_per_block) {
        return SIM_E_CONFIGURATION;
    }
    if (work->launch.dynamic_shared > MAX_DYNAMIC_SHARED) {
        return SIM_E_VALUE;
    }
    if (kernel->fixed) {
        work->duration_ns = kernel->fixed_ns;
    } else if (kernel->spin_index >= 0) {
        work->duration_ns = read_parameter(kernel, params, extra);
    } else {
        work->duration_ns = model(kernel, work->launch.cost_ns, threads * blocks);
    }
    sim_count_find(work, params);
    double factor = sim_option_double("KERNEL_FACTOR", 1);

    if (factor > 0) {
        work->duration_ns = (uint64_t)((double)work->duration_ns * factor);
    }
    return SIM_OK;
}

/* --kernel-error GLOB:N:CODE: the n-th matching launch sets CODE as the sticky error of its
 * context. */
static pthread_once_t fault_once = PTHREAD_ONCE_INIT;
static char fault_glob[128];
static unsigned long fault_nth;
static int fault_code;
static atomic_ulong fault_launches;

static void read_fault(void)
{
    const char *text = sim_option("KERNEL_ERROR");

    if (text && sscanf(text, "%127[^:]:%lu:%d", fault_glob, &fault_nth, &fault_code) != 3) {
        fprintf(stderr, "simgpu: --kernel-error %s: expected GLOB:N:CODE\n", text);
        fault_code = 0;
    }
}

int sim_kernel_fault(const struct sim_kernel *kernel)
{
    pthread_once(&fault_once, read_fault);
    if (!fault_code || fnmatch(fault_glob, kernel->name, 0) != 0) {
        return 0;
    }
    return atomic_fetch_add(&fault_launches, 1) + 1 == fault_nth ? fault_code : 0;
}

int sim_kernel_occupancy(const struct sim_kernel *kernel, int block, size_t dynamic_shared)
{
    const struct sim_device_info *device = sim_device_info(0);
    uint64_t limit = device->max_blocks_per_sm;
    uint64_t warps = ((uint64_t)block + device->warp_size - 1) / device->warp_size;
    uint64_t shared = kernel->static_shared + dynamic_shared;
    uint64_t registers = warps * device->warp_size * ((kernel->registers + 7) / 8 * 8);

    if (block <= 0 || (uint32_t)block > device->max_threads_per_block) {
        return 0;
    }
    if (device->max_warps_per_sm / warps < limit) {
        limit = device->max_warps_per_sm / warps;
    }
    if (device->max_registers_per_sm / registers < limit) {
        limit = device->max_registers_per_sm / registers;
    }
    if (shared && device->max_shared_per_sm / (shared + 1024) < limit) {
        limit = device->max_shared_per_sm / (shared + 1024);
    }
    return (int)limit;
}
