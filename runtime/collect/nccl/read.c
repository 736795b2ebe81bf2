/*
 * read.c - turns NCCL's events in the lanes into what each launched kernel does.
 *
 * NCCL sends, for a group of calls (a call outside of a group is a group of its own):
 *   - a CALL for each call, on the thread that makes the call;
 *   - then for each kernel, on the launching thread: a LAUNCH, and a COLL or P2P for each
 * collective and message in that kernel. With a captured or persistent plan the latter may come on
 *     CUDA's host-callback thread.
 * The parent of a CALL and of a LAUNCH is the group; the parent of a COLL and of a P2P is its CALL.
 *
 * A CALL has the count and type that the program gave. A COLL has bytes for some functions, and an
 * AlltoAll has only P2Ps. So function, count and type are taken from the CALL, if it is known.
 *
 * Threads, memory: see read.h.
 */
#include "collect/nccl/read.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/pages.h"
#include "base/text_table.h"
#include "collect/nccl/plugin.h"

#define CALLS     4096 /* number of calls that are kept, a power of two */
#define KERNELS   256  /* number of launched kernels that are kept, a power of two */
#define MEMBERS   32   /* number of calls of a kernel that are told apart */
#define LOOK_BACK 1024 /* number of calls among which the calls of a group are looked for */
#define TEXT_MOST 4096

struct kernel {
    struct sl_launch_about *about; /* NULL: no span, or the launch has not ended */
    uint64_t start_ns, launch;     /* start and handle of the launch */
    uint64_t group;
    uint32_t thread, comm;
    uint32_t tasks;             /* number of collectives and messages so far */
    uint32_t calls;             /* number of calls of these */
    uint64_t call[MEMBERS];     /* handles of these calls */
    uint64_t bytes;             /* sum over the calls */
    struct sl_nccl_event first; /* the first collective or message, with the data of its call */
    int is_mixed;               /* 1: the functions differ */
    int has_call;               /* 1: `first` has the data of its call */
};

struct sl_nccl_read {
    struct sl_nccl_read_options opt;
    struct sl_nccl_event call[CALLS];
    uint64_t calls; /* number of calls so far */
    struct kernel kernel[KERNELS];
    uint64_t kernels;
    size_t texts_used;
    uint64_t lost;
};

int sl_nccl_read_create(struct sl_nccl_read **out, const struct sl_nccl_read_options *opt)
{
    struct sl_nccl_read *r = sl_pages_map(sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->opt = *opt;
    *out = r;
    return 0;
}

void sl_nccl_read_destroy(struct sl_nccl_read *r)
{
    if (r)
        sl_pages_unmap(r, sizeof(*r));
}

uint64_t sl_nccl_read_lost(const struct sl_nccl_read *r)
{
    return r->lost;
}

/* ---- texts ---- */

static char *put_text(char *at, uint32_t number)
{
    size_t length = 0;
    const char *text = sl_text_table_get(number, &length);

    *at++ = '"';
    if (text)
        at = sl_json_escape(at, text, length);
    *at++ = '"';
    return at;
}

#define PUT_TEXT(at, name, number) put_text(SL_JSON_LITERAL(at, ",\"" name "\":"), number)
#define PUT_U64(at, name, value)   sl_json_u64(SL_JSON_LITERAL(at, ",\"" name "\":"), value)
#define PUT_I64(at, name, value)   sl_json_i64(SL_JSON_LITERAL(at, ",\"" name "\":"), value)

/* Returns the size of an element: the bits in a name such as "ncclFloat32", divided by 8. */
static uint64_t size_of(uint32_t dtype)
{
    const char *text = sl_text_table_get(dtype, NULL);
    uint64_t bits = 0;

    while (text && *text && !isdigit((unsigned char)*text))
        text++;
    for (; text && isdigit((unsigned char)*text) && bits < 1024; text++)
        bits = bits * 10 + (uint64_t)(*text - '0');
    return bits / 8;
}

static uint64_t bytes_of(const struct sl_nccl_event *e)
{
    uint64_t size = size_of(e->dtype);

    return size && e->count <= UINT64_MAX / size ? e->count * size : 0;
}

static int is_one_of(uint32_t func, const char *const *names)
{
    const char *text = sl_text_table_get(func, NULL);

    for (; text && *names; names++)
        if (strcmp(text, *names) == 0)
            return 1;
    return 0;
}

static char *put_comm(char *at, uint32_t number)
{
    struct sl_nccl_comm comm;

    if (sl_nccl_plugin_comm(number, &comm))
        return at;
    at = sl_json_hex(SL_JSON_LITERAL(at, ",\"Comm\":\"0x"), comm.hash, 16);
    *at++ = '"';
    if (comm.name)
        at = PUT_TEXT(at, "Comm name", comm.name);
    at = PUT_I64(at, "Comm ranks", comm.ranks);
    return PUT_I64(at, "Comm rank", comm.rank);
}

/* Writes the members about a kernel's only call. */
static char *put_only(char *at, const struct kernel *k)
{
    static const char *const rooted[] = {"Broadcast", "Reduce", "Gather", "Scatter", NULL};
    static const char *const messages[] = {"Send", "Recv", NULL};
    const struct sl_nccl_event *e = &k->first;

    at = PUT_U64(at, "NCCL count", e->count);
    at = PUT_TEXT(at, "NCCL dtype", e->dtype);
    if (is_one_of(e->func, rooted))
        at = PUT_I64(at, "NCCL root", e->root);
    if (is_one_of(e->func, messages) && e->record.parts == SL_NCCL_RECORD_P2P)
        at = PUT_I64(at, "NCCL peer", e->root);
    if (e->algorithm)
        at = PUT_TEXT(at, "Algorithm", e->algorithm);
    if (e->protocol)
        at = PUT_TEXT(at, "Protocol", e->protocol);
    return at;
}

/* Interns the members about the kernel, and stores them in its span. The number of the collective
 * changes from kernel to kernel, so it is not part of the text. */
static void tell(struct sl_nccl_read *r, const struct kernel *k)
{
    char text[TEXT_MOST], *at = text;
    uint32_t id;

    if (!k->about || k->about->thread != k->thread)
        return;
    at = k->is_mixed ? SL_JSON_LITERAL(at, ",\"NCCL call\":\"mixed\"")
                     : PUT_TEXT(at, "NCCL call", k->first.func);
    if (k->calls > 1)
        at = PUT_U64(at, "NCCL calls in kernel", k->calls);
    else
        at = put_only(at, k);
    at = PUT_U64(at, "NCCL bytes", k->bytes);
    if (k->first.channels && k->calls == 1)
        at = PUT_U64(at, "Channels", k->first.channels);
    at = put_comm(at, k->comm);
    id = sl_intern_find(r->opt.names, text, (size_t)(at - text));
    if (!id && r->texts_used + (size_t)(at - text) <= r->opt.texts_bytes) {
        id = sl_intern_put(r->opt.names, text, (size_t)(at - text));
        r->texts_used += id ? (size_t)(at - text) : 0;
    }
    r->lost += !id;
    k->about->text = id;
    k->about->number = k->calls == 1 && k->first.record.parts == SL_NCCL_RECORD_COLL
                           ? k->first.number
                           : UINT64_MAX;
}

/* ---- joining ---- */

static const struct sl_nccl_event *call_of(const struct sl_nccl_read *r, uint64_t handle)
{
    uint64_t most = r->calls < CALLS ? r->calls : CALLS;

    for (uint64_t i = 1; handle && i <= most; i++) {
        const struct sl_nccl_event *call = &r->call[(r->calls - i) % CALLS];

        if (call->handle == handle)
            return call;
    }
    return NULL;
}

static int is_new_call(const struct kernel *k, uint64_t handle)
{
    for (uint32_t i = 0; i < k->calls && i < MEMBERS; i++)
        if (k->call[i] == handle)
            return 0;
    return 1;
}

/* Adds a call to a kernel. `e` has the data of the call. */
static void add_call(struct kernel *k, uint64_t handle, const struct sl_nccl_event *e)
{
    if (k->calls < MEMBERS)
        k->call[k->calls] = handle;
    if (!k->calls)
        k->first = *e;
    k->is_mixed |= k->calls && k->first.func != e->func;
    k->bytes += bytes_of(e);
    k->calls++;
}

/* Until collectives of the kernel are reported, the kernel runs the calls of its group for its
 * communicator. A Broadcast of NCCL 2.29 and later is never reported otherwise. */
static void guess(const struct sl_nccl_read *r, struct kernel *k)
{
    uint64_t most = r->calls < LOOK_BACK ? r->calls : LOOK_BACK;

    for (uint64_t i = most; i > 0; i--) {
        const struct sl_nccl_event *call = &r->call[(r->calls - i) % CALLS];

        if (call->parent == k->group && call->record.aux == k->comm)
            add_call(k, call->handle, call);
    }
}

static void take_launch(struct sl_nccl_read *r, uint32_t thread, const struct sl_nccl_event *e,
                        uint64_t ns)
{
    r->kernel[r->kernels++ % KERNELS] = (struct kernel){.start_ns = ns,
                                                        .launch = e->handle,
                                                        .group = e->parent,
                                                        .thread = thread,
                                                        .comm = e->record.aux};
}

static void take_launch_end(struct sl_nccl_read *r, uint32_t thread, const struct sl_nccl_event *e,
                            uint64_t ns)
{
    uint64_t most = r->kernels < KERNELS ? r->kernels : KERNELS;

    for (uint64_t i = 1; i <= most; i++) {
        struct kernel *k = &r->kernel[(r->kernels - i) % KERNELS];

        if (k->launch != e->handle || k->thread != thread)
            continue;
        if (!k->about)
            k->about = sl_launches_add(r->opt.launches, thread, k->start_ns, ns);
        guess(r, k);
        if (k->calls)
            tell(r, k);
        return;
    }
}

/* Returns the kernel of a collective or message, or NULL. It is the last kernel of the group and
 * the communicator. */
static struct kernel *kernel_of(struct sl_nccl_read *r, uint32_t thread, uint32_t comm,
                                const struct sl_nccl_event *call)
{
    uint64_t most = r->kernels < KERNELS ? r->kernels : KERNELS;

    for (uint64_t i = 1; i <= most; i++) {
        struct kernel *k = &r->kernel[(r->kernels - i) % KERNELS];

        if (k->comm == comm && (call ? k->group == call->parent : k->thread == thread))
            return k;
    }
    return NULL;
}

/* NCCL 2.29 and later report neither the launch nor the collective of a Broadcast. Its kernel is
 * launched between its call and the end of the group. If the group has several communicators, it is
 * not known which of them launches when. */
static void take_group_end(struct sl_nccl_read *r, uint32_t thread, uint64_t group, uint64_t ns)
{
    uint64_t most = r->calls < LOOK_BACK ? r->calls : LOOK_BACK;
    struct kernel *k = &r->kernel[r->kernels % KERNELS];
    const struct sl_nccl_event *last = NULL;

    for (uint64_t i = 1; i <= most; i++) {
        const struct sl_nccl_event *call = &r->call[(r->calls - i) % CALLS];

        if (call->parent != group)
            continue;
        if (last && call->record.aux != last->record.aux) {
            r->lost++;
            return;
        }
        last = last ? last : call;
    }
    if (!last)
        return;
    r->kernels++;
    *k = (struct kernel){.group = group, .thread = thread, .comm = last->record.aux};
    k->about = sl_launches_add(r->opt.launches, thread, last->record.stamp, ns);
    guess(r, k);
    tell(r, k);
}

static void take_task(struct sl_nccl_read *r, uint32_t thread, const struct sl_nccl_event *e)
{
    const struct sl_nccl_event *call = call_of(r, e->parent);
    struct kernel *k = kernel_of(r, thread, e->record.aux, call);
    uint64_t handle = call ? call->handle : e->handle;
    struct sl_nccl_event whole = *e;

    if (!k) {
        r->lost++;
        return;
    }
    if (!k->tasks++) { /* replaces the guess */
        k->calls = 0;
        k->bytes = 0;
        k->is_mixed = 0;
    }
    if (!is_new_call(k, handle))
        return;
    if (call) {
        whole.func = call->func;
        whole.dtype = call->dtype;
        whole.count = call->count;
    }
    add_call(k, handle, &whole);
    tell(r, k);
}

void sl_nccl_read_record(struct sl_nccl_read *r, uint32_t thread,
                         const struct sl_lane_record *record, uint64_t ns)
{
    struct sl_nccl_event e;

    if (record->what != SL_LANE_NCCL || record->pairs * 16u != sizeof(e))
        return;
    memcpy(&e, record, sizeof(e));
    switch (record->parts) {
    case SL_NCCL_RECORD_CALL:
        e.record.stamp = ns; /* a call is kept with its time */
        r->call[r->calls++ % CALLS] = e;
        break;
    case SL_NCCL_RECORD_LAUNCH:
        take_launch(r, thread, &e, ns);
        break;
    case SL_NCCL_RECORD_LAUNCH_END:
        take_launch_end(r, thread, &e, ns);
        break;
    case SL_NCCL_RECORD_GROUP_END:
        take_group_end(r, thread, e.handle, ns);
        break;
    case SL_NCCL_RECORD_COLL:
    case SL_NCCL_RECORD_P2P:
        take_task(r, thread, &e);
        break;
    default:
        break;
    }
}
