/*
 * et_comms.c - finds the collective that a job's GPU operation runs.
 *
 * Threads, memory: see et_comms.h.
 */
#include "write/chakra/et_comms.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "event/collective.h"
#include "event/collective_args.h"
#include "event/op_detail.h"
#include "event/ops.h"
#include "write/distributed.h"

enum {
    CALLS = 16384, /* sizes of the tables; powers of two */
    TOLD = 1024,
    COMMS_BYTES = 1 << 20,
};

/* A call's entry, in which the call's operations find their collective. The entries are a ring, so
 * that the ids of other calls, of which a thread that polls makes very many, evict none of them. */
struct joined {
    uint64_t correlation; /* 0: free */
    uint32_t next;        /* next entry in the same bucket: index + 1 */
    struct sl_collective does;
};

/* An operator's detail text (event/op_detail.h) that was parsed. */
struct told {
    uint32_t detail;  /* 0: free */
    uint32_t version; /* the job's groups that were known when the text was parsed */
    int is_known;
    struct sl_collective does;
};

struct sl_et_comms {
    const struct sl_intern *places, *details;
    struct sl_collectives *comms;
    struct joined joined[CALLS];
    uint32_t bucket[CALLS]; /* by correlation id: index in `joined` + 1 */
    uint32_t newest;        /* index of the entry that is used next */
    struct told told[TOLD];
    uint32_t version; /* of the job's groups (write/distributed.h); 0: none */
};

int sl_et_comms_create(struct sl_et_comms **out, const struct sl_intern *places,
                       const struct sl_intern *details)
{
    struct sl_et_comms *x = sl_pages_map(sizeof(*x));

    if (!x)
        return -ENOMEM;
    x->places = places;
    x->details = details;
    if (sl_collectives_create(&x->comms, COMMS_BYTES) != 0) {
        sl_pages_unmap(x, sizeof(*x));
        return -ENOMEM;
    }
    *out = x;
    return 0;
}

void sl_et_comms_world(struct sl_et_comms *x, uint32_t size)
{
    sl_collectives_world(x->comms, size);
}

void sl_et_comms_destroy(struct sl_et_comms *x)
{
    if (!x)
        return;
    sl_collectives_destroy(x->comms);
    sl_pages_unmap(x, sizeof(*x));
}

/* ---- the job's groups ---- */

#define NAME  "\"pg_name\": \""
#define RANKS "\"ranks\": ["

/* Returns the end of the first `text` in [at, end), or NULL. */
static const char *behind(const char *at, const char *end, const char *text)
{
    const char *found = memmem(at, (size_t)(end - at), text, strlen(text));

    return found ? found + strlen(text) : NULL;
}

/* Reads the ranks of all groups that the job has reported. PyTorch truncates the list of a group of
 * more than 30 ranks in a collective's description. A text in the JSON cannot be taken for one of
 * the two members, because JSON escapes the quotes in a text. */
static void learn_groups(struct sl_et_comms *x)
{
    uint32_t version;
    size_t length;
    const char *json = sl_distributed_get(&length, &version), *end = json + length, *at, *next;

    if (!json || version == x->version)
        return;
    x->version = version;
    for (at = behind(json, end, NAME); at; at = next) {
        const char *name = memchr(at, '"', (size_t)(end - at)), *ranks, *last;

        next = behind(at, end, NAME);
        ranks = behind(at, next ? next : end, RANKS);
        last = ranks ? memchr(ranks, ']', (size_t)(end - ranks)) : NULL;
        if (!name || !last)
            continue;
        sl_collectives_name(x->comms, (struct sl_collective_text){at, (size_t)(name - at)});
        sl_collectives_name_ranks(x->comms,
                                  (struct sl_collective_text){ranks, (size_t)(last - ranks)});
        sl_collectives_name_end(x->comms);
    }
}

/* ---- collectives ---- */

/* Parses the description of a collective. Returns 0 or -EINVAL. */
static int read_detail(struct sl_et_comms *x, uint32_t id, struct sl_collective *out)
{
    size_t length = 0;
    const char *text = sl_intern_get(x->details, id, &length);
    struct sl_op_detail detail;
    struct sl_collective_args told;

    if (sl_op_detail_unpack(&detail, text, length) != 0)
        return -EINVAL;
    told = sl_collective_args_of(&detail);
    return sl_collectives_read(x->comms, &told, out);
}

/* ---- calls ---- */

/* Returns the link to the call's entry. If the call has none, the link is 0. */
static uint32_t *link_to(struct sl_et_comms *x, uint64_t correlation)
{
    uint32_t *link = &x->bucket[correlation % CALLS];

    while (*link && x->joined[*link - 1].correlation != correlation)
        link = &x->joined[*link - 1].next;
    return link;
}

/* Stores the collective of a call, in place of that of the oldest call. */
static void join(struct sl_et_comms *x, uint64_t correlation, const struct sl_collective *does)
{
    struct joined *j = &x->joined[x->newest];
    uint32_t *link = link_to(x, correlation);

    if (*link) {
        x->joined[*link - 1].does = *does;
        return;
    }
    if (j->correlation)
        *link_to(x, j->correlation) = j->next;
    link = &x->bucket[correlation % CALLS];
    *j = (struct joined){correlation, *link, *does};
    *link = x->newest + 1;
    x->newest = (x->newest + 1) % CALLS;
}

int sl_et_comms_call(struct sl_et_comms *x, const struct sl_event *call)
{
    uint32_t detail = sl_op_place_of(x->places, call).collective;
    struct told *told = &x->told[detail % TOLD];
    size_t groups = sl_collectives_group_count(x->comms);

    if (!detail)
        return 0;
    learn_groups(x);
    if (told->detail != detail || (!told->is_known && told->version != x->version)) {
        told->detail = detail;
        told->version = x->version;
        told->is_known = read_detail(x, detail, &told->does) == 0;
    }
    if (told->is_known && call->correlation)
        join(x, call->correlation, &told->does);
    return sl_collectives_group_count(x->comms) > groups;
}

int sl_et_comms_find(void *et_comms, const struct sl_event *op, struct sl_collective *out)
{
    struct sl_et_comms *x = et_comms;
    uint32_t index = op->correlation ? *link_to(x, op->correlation) : 0;

    if (index)
        *out = x->joined[index - 1].does;
    return index != 0;
}

void sl_et_comms_groups(const struct sl_et_comms *x,
                        void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                     size_t ranks),
                        void *user)
{
    sl_collectives_groups(x->comms, take, user);
}
