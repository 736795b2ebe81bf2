/*
 * context.c - contexts: the primary context of each device, contexts that a program creates, and
 * each thread's current context.
 *
 * Any thread. Contexts are never freed. A destroyed context loses its magic number. A primary
 * context that is reset and retained again is a new context with a new id.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/sim.h"

enum {
    MAGIC = 0x51c0c0e1,
    MAX_DEVICES = 16,
    FIRST_STREAM = 13,
    STACK = 16
};

static struct sim_context *primary[MAX_DEVICES];
static uint32_t primary_flags[MAX_DEVICES];
static atomic_uint last_id;

static void tell(const struct sim_object *object)
{
    const struct sim_probe *probe = sim_probe_get();

    if (probe && probe->object) {
        probe->object(object);
    }
    if (sim_truth_on) {
        sim_truth_object(object);
    }
}

/* Reports a device when its first context is created. */
static void announce_device(uint32_t device)
{
    static atomic_uint announced;

    if (!(atomic_fetch_or(&announced, 1u << device) >> device & 1)) {
        tell(&(struct sim_object){.kind = SIM_OBJ_DEVICE,
                                  .created = 1,
                                  .device = device,
                                  .context = SIM_NONE,
                                  .stream = SIM_NONE,
                                  .correlation = sim_correlation_of_thread()});
    }
}

static void announce(const struct sim_context *context, int created)
{
    announce_device(context->device);
    tell(&(struct sim_object){.kind = SIM_OBJ_CONTEXT,
                              .created = created,
                              .device = context->device,
                              .context = context->id,
                              .stream = SIM_NONE,
                              .null_stream = SIM_LEGACY_STREAM,
                              .correlation = sim_correlation_of_thread()});
}

bool sim_context_valid(const struct sim_context *context)
{
    return context && context->magic == MAGIC;
}

static struct sim_context *make(uint32_t device, uint32_t flags)
{
    struct sim_context *context = sim_keep(sizeof *context);

    if (!context) {
        return NULL;
    }
    context->magic = MAGIC;
    context->id = atomic_fetch_add(&last_id, 1) + 1;
    context->device = device;
    context->flags = flags;
    context->next_stream = FIRST_STREAM;
    return sim_stream_create_legacy(context) == SIM_OK ? context : NULL;
}

int sim_context_create(uint32_t device, uint32_t flags, struct sim_context **out)
{
    if (device >= sim_device_count()) {
        return SIM_E_DEVICE;
    }
    struct sim_context *context = make(device, flags);

    if (!context) {
        return SIM_E_MEMORY;
    }
    sim_schedule_start();
    announce(context, 1);
    *out = context;
    return sim_context_push(context);
}

int sim_context_destroy(struct sim_context *context)
{
    struct sim_thread *self = sim_thread_self();

    if (!sim_context_valid(context)) {
        return SIM_E_CONTEXT;
    }
    sim_context_wait_all(context, "implicit");
    announce(context, 0);
    sim_lock();
    context->magic = 0;
    context->sticky = 0;
    sim_unlock();
    if (self->depth && self->stack[self->depth - 1] == context) {
        self->depth--;
    }
    return SIM_OK;
}

int sim_context_primary(uint32_t device, struct sim_context **out)
{
    if (device >= sim_device_count()) {
        return SIM_E_DEVICE;
    }
    sim_lock();
    struct sim_context *context = primary[device];
    bool made = false;

    if (!context) {
        context = primary[device] = make(device, primary_flags[device]);
        made = context != NULL;
        if (made) {
            context->primary = true;
        }
    }
    if (context) {
        context->retained++;
    }
    sim_unlock();
    if (!context) {
        return SIM_E_MEMORY;
    }
    if (made) {
        sim_schedule_start();
        announce(context, 1);
    }
    *out = context;
    return SIM_OK;
}

int sim_context_primary_release(uint32_t device, bool reset)
{
    if (device >= sim_device_count()) {
        return SIM_E_DEVICE;
    }
    sim_lock();
    struct sim_context *context = primary[device];
    bool last = context && (reset || --context->retained <= 0);

    if (last) {
        primary[device] = NULL;
    }
    sim_unlock();
    if (!context) {
        return reset ? SIM_OK : SIM_E_CONTEXT;
    }
    return last ? sim_context_destroy(context) : SIM_OK;
}

bool sim_context_primary_active(uint32_t device, uint32_t *flags)
{
    sim_lock();
    bool active = primary[device] != NULL;

    *flags = primary_flags[device];
    sim_unlock();
    return active;
}

void sim_context_primary_flags(uint32_t device, uint32_t flags)
{
    sim_lock();
    primary_flags[device] = flags;
    if (primary[device]) {
        primary[device]->flags = flags;
    }
    sim_unlock();
}

/* Says whether the call is a runtime call, or a driver call nested in one. */
static bool in_runtime(const struct sim_call *call)
{
    while (call && call->domain != SIM_RUNTIME) {
        call = call->outer;
    }
    return call != NULL;
}

int sim_context_current(struct sim_context **out)
{
    struct sim_thread *self = sim_thread_self();

    while (self->depth && !sim_context_valid(self->stack[self->depth - 1])) {
        self->depth--;
    }
    if (!self->depth) {
        /* The runtime creates the primary context when it is first needed. The driver returns an
         * error instead. */
        if (!in_runtime(self->call)) {
            return SIM_E_CONTEXT;
        }
        int error = sim_context_primary((uint32_t)self->device, &self->stack[0]);

        if (error) {
            return error;
        }
        self->depth = 1;
    }
    *out = self->stack[self->depth - 1];
    return SIM_OK;
}

void sim_context_set(struct sim_context *context)
{
    struct sim_thread *self = sim_thread_self();

    if (!context) {
        self->depth -= self->depth > 0;
        return;
    }
    self->depth += self->depth == 0;
    self->stack[self->depth - 1] = context;
    self->device = (int)context->device;
}

int sim_context_push(struct sim_context *context)
{
    struct sim_thread *self = sim_thread_self();

    if (!sim_context_valid(context)) {
        return SIM_E_CONTEXT;
    }
    if (self->depth == STACK) {
        return SIM_E_VALUE;
    }
    self->stack[self->depth++] = context;
    self->device = (int)context->device;
    return SIM_OK;
}

int sim_context_pop(struct sim_context **out)
{
    struct sim_thread *self = sim_thread_self();

    if (!self->depth) {
        return SIM_E_CONTEXT;
    }
    *out = self->stack[--self->depth];
    return SIM_OK;
}

int sim_context_peer(struct sim_context *context, uint32_t device, bool enable)
{
    uint64_t bit = (uint64_t)1 << device;

    if (device >= sim_device_count() || device == context->device) {
        return SIM_E_DEVICE;
    }
    sim_lock();
    bool enabled = context->peers & bit;

    context->peers = enable ? context->peers | bit : context->peers & ~bit;
    sim_unlock();
    if (enable) {
        return enabled ? SIM_E_PEER_ENABLED : SIM_OK;
    }
    return enabled ? SIM_OK : SIM_E_PEER_NOT_ENABLED;
}
