/*
 * objects.c - stores threads, contexts, streams and devices, with their names, flags and
 * priorities.
 *
 * Threads: the recorder thread. Memory: two open-addressed tables of fixed size. A key is never
 * removed, because CUPTI never reuses the number of a context or stream. If Linux reuses a thread
 * id, the id keeps the name of its first thread.
 */
#include "collect/cupti/objects.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own_file.h"
#include "base/pages.h"
#include "base/stats.h"

#define SLOTS     32768u /* number of slots, a power of two; at most half of the slots are used */
#define NO_STREAM UINT32_MAX
#define NO_DEVICE UINT32_MAX

struct object {
    uint32_t context; /* CUPTI's id of the context, from 1; 0 = free slot */
    uint32_t stream;  /* CUPTI's id of the stream; NO_STREAM: the object is the context itself */
    uint32_t device;  /* NO_DEVICE: the stream was described before its context was seen */
    uint32_t flags;
    int32_t priority;
    uint32_t name;
};

struct thread {
    uint32_t id; /* system id of the thread; 0 = free slot */
    uint32_t name;
};

struct sl_cupti_objects {
    struct sl_cupti_objects_options opt;
    struct object *last; /* the object of the last record, stored because consecutive records mostly
                          * belong to one stream */
    uint32_t last_thread;
    uint32_t objects, threads;
    uint32_t nowhere; /* number of streams whose device is not known yet (NO_DEVICE) */
    uint64_t devices; /* bit mask of the devices that were described */
    uint32_t device_name[SL_DEVICE_MAX];
    struct object object[SLOTS];
    struct thread thread[SLOTS];
};

int sl_cupti_objects_create(struct sl_cupti_objects **out,
                            const struct sl_cupti_objects_options *opt)
{
    struct sl_cupti_objects *s = sl_pages_map(sizeof *s);

    if (!s)
        return -ENOMEM;
    s->opt = *opt;
    *out = s;
    return 0;
}

void sl_cupti_objects_destroy(struct sl_cupti_objects *s)
{
    sl_pages_unmap(s, sizeof *s);
}

/* Returns the object's slot, or a free slot if the object is new. NULL if the object is new and the
 * table is full. */
static struct object *find_object(struct sl_cupti_objects *s, uint32_t context, uint32_t stream)
{
    uint64_t key = (uint64_t)context << 32 | stream;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40);
    struct object *o;

    for (;; at++) {
        o = &s->object[at % SLOTS];
        if (o->context == context && o->stream == stream)
            return o;
        if (o->context == 0)
            return s->objects < SLOTS / 2 ? o : NULL;
    }
}

static void tell_object(struct sl_cupti_objects *s, const struct object *o)
{
    int is_stream = o->stream != NO_STREAM;

    if (o->device == NO_DEVICE)
        return; /* the stream is reported once its context is seen */
    struct sl_event ev = {
        .kind = is_stream ? SL_EV_META_STREAM : SL_EV_META_CONTEXT,
        .device = sl_event_device(o->device),
        .context = o->context,
        .stream = is_stream ? o->stream : SL_STREAM_NONE,
        .name = o->name,
    };

    if (is_stream) {
        ev.u.meta.flags = o->flags;
        ev.u.meta.priority = o->priority;
    }
    s->opt.sink(s->opt.sink_user, &ev);
}

static struct object *add_object(struct sl_cupti_objects *s, struct object *o, uint32_t device,
                                 uint32_t context, uint32_t stream)
{
    *o = (struct object){
        .context = context, .stream = stream, .device = device, .priority = SL_PRIORITY_UNKNOWN};
    s->objects++;
    return o;
}

/* Reports streams that were described before their context. */
static void place_streams(struct sl_cupti_objects *s, const struct object *context)
{
    for (uint32_t i = 0; s->nowhere && i < SLOTS; i++) {
        struct object *o = &s->object[i];

        if (o->context != context->context || o->device != NO_DEVICE)
            continue;
        o->device = context->device;
        s->nowhere--;
        tell_object(s, o);
    }
}

/* Stores the device and the name of a context. If the table has no room for the context, counts a
 * lost name. */
void sl_cupti_objects_describe_context(struct sl_cupti_objects *s, uint32_t device,
                                       uint32_t context, uint32_t name)
{
    struct object *o = context == 0 ? NULL : find_object(s, context, NO_STREAM);
    int is_new = o && o->context == 0;

    if (!o) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return;
    }
    if (is_new)
        add_object(s, o, device, context, NO_STREAM);
    if (is_new || o->device != device || (name && o->name != name)) {
        o->device = device;
        if (name)
            o->name = name;
        tell_object(s, o);
    }
    place_streams(s, o);
}

int32_t sl_cupti_objects_stream(struct sl_cupti_objects *s, uint32_t device, uint32_t context,
                                uint32_t stream)
{
    struct object *o = s->last;

    if (o && o->context == context && o->stream == stream)
        return o->priority;
    if (context == 0 || stream == NO_STREAM)
        return SL_PRIORITY_UNKNOWN;
    o = find_object(s, context, stream);
    if (!o) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return SL_PRIORITY_UNKNOWN;
    }
    if (o->context == 0 || o->device == NO_DEVICE) {
        uint32_t known;

        if (sl_cupti_objects_context_device(s, context, &known))
            sl_cupti_objects_describe_context(s, device, context, 0);
        /* the context may just have taken the free slot that this function found */
        o = find_object(s, context, stream);
        if (!o)
            return SL_PRIORITY_UNKNOWN;
        if (o->context == 0)
            tell_object(s, add_object(s, o, device, context, stream));
    }
    s->last = o;
    return o->priority;
}

int sl_cupti_objects_context_device(struct sl_cupti_objects *s, uint32_t context, uint32_t *device)
{
    const struct object *o = context == 0 ? NULL : find_object(s, context, NO_STREAM);

    if (!o || o->context == 0)
        return -ENOENT;
    *device = o->device;
    return 0;
}

/* Reports the flags of a stream for which the table has no room, because edges need the flags of
 * every stream. */
static void tell_unremembered(struct sl_cupti_objects *s, uint32_t context, uint32_t stream,
                              uint32_t flags, int32_t priority)
{
    struct object o = {.context = context, .stream = stream, .flags = flags, .priority = priority};

    sl_stats_add(SL_STAT_NAMES_LOST, 1);
    if (sl_cupti_objects_context_device(s, context, &o.device) == 0)
        tell_object(s, &o);
}

void sl_cupti_objects_describe_stream(struct sl_cupti_objects *s, uint32_t context, uint32_t stream,
                                      uint32_t flags, int32_t priority, uint32_t name)
{
    struct object *o, before;
    int is_new;

    if (context == 0 || stream == NO_STREAM)
        return;
    o = find_object(s, context, stream);
    if (!o) {
        tell_unremembered(s, context, stream, flags, priority);
        return;
    }
    is_new = o->context == 0;
    if (is_new) {
        uint32_t device = NO_DEVICE;

        s->nowhere += sl_cupti_objects_context_device(s, context, &device) != 0;
        add_object(s, o, device, context, stream);
    }
    before = *o;
    if (flags)
        o->flags = flags;
    if (priority != SL_PRIORITY_UNKNOWN)
        o->priority = priority;
    if (name)
        o->name = name;
    if (is_new || before.flags != o->flags || before.priority != o->priority ||
        before.name != o->name)
        tell_object(s, o);
}

int sl_cupti_objects_is_new_device(const struct sl_cupti_objects *s, uint32_t device)
{
    return device < SL_DEVICE_MAX && !(s->devices >> device & 1);
}

void sl_cupti_objects_describe_device(struct sl_cupti_objects *s, uint32_t device, uint32_t name)
{
    struct sl_event ev = {.kind = SL_EV_META_DEVICE, .device = sl_event_device(device)};

    if (device >= SL_DEVICE_MAX)
        return;
    s->devices |= (uint64_t)1 << device;
    if (name)
        s->device_name[device] = name;
    ev.name = s->device_name[device];
    ev.u.meta.index = device;
    s->opt.sink(s->opt.sink_user, &ev);
}

static struct thread *find_thread(struct sl_cupti_objects *s, uint32_t id)
{
    uint32_t at = id * 2654435761u;

    for (;; at++) {
        struct thread *t = &s->thread[at % SLOTS];

        if (t->id == id)
            return t;
        if (t->id == 0)
            return s->threads < SLOTS / 2 ? t : NULL;
    }
}

static void tell_thread(struct sl_cupti_objects *s, uint32_t pid, const struct thread *t)
{
    struct sl_event ev = {.kind = SL_EV_META_THREAD, .thread = t->id, .name = t->name};

    ev.u.meta.pid = pid;
    s->opt.sink(s->opt.sink_user, &ev);
}

/* Returns the intern id of the thread's own name, or 0 if the thread has ended or belongs to
 * another process. */
static uint32_t name_from_proc(struct sl_cupti_objects *s, uint32_t thread)
{
    char path[64], text[64];
    ssize_t length;

    snprintf(path, sizeof path, "/proc/self/task/%u/comm", thread);
    length = sl_own_file_read(path, text, sizeof text);
    if (length > 0 && text[length - 1] == '\n')
        length--;
    return length > 0 ? sl_intern_put(s->opt.intern, text, (size_t)length) : 0;
}

void sl_cupti_objects_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread)
{
    struct thread *t;

    if (thread == s->last_thread || thread == 0)
        return;
    t = find_thread(s, thread);
    if (!t) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return;
    }
    if (t->id == 0) {
        *t = (struct thread){.id = thread, .name = name_from_proc(s, thread)};
        s->threads++;
        tell_thread(s, pid, t);
    }
    s->last_thread = thread;
}

void sl_cupti_objects_describe_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread,
                                      uint32_t name)
{
    struct thread *t = thread == 0 ? NULL : find_thread(s, thread);

    if (!t || name == 0 || (t->id && t->name == name))
        return;
    s->threads += t->id == 0;
    *t = (struct thread){.id = thread, .name = name};
    tell_thread(s, pid, t);
}
