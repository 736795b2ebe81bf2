/*
 * source.c - which line of the user's source a thread was on at a time.
 *
 * The pieces lie in one ring in the order in which they begin, so that the oldest is what a new one
 * takes the place of; nothing needs to be freed. A piece is named by its number, of which the ring
 * has the last ones: a link to one that is gone is seen by its distance. Each thread's pieces are a
 * list by start, with the piece around each; a thread that is looked at remembers where it was.
 *
 * Threads, memory: see source.h.
 */
#include "event/source.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"

enum {
    THREADS = 4096, /* a power of two */
    DEFAULT_CAP_BYTES = 4 << 20,
    CAP_MIN_BYTES = 256 << 10,
};

struct piece {
    uint64_t start_ns, end_ns;
    uint32_t line;
    uint32_t older, newer; /* of the same thread; lower halves of numbers, 0: none */
    uint32_t around;       /* what was open when it began */
};

struct thread {
    uint32_t id;
    uint32_t taken;
    uint64_t newest, open, cursor; /* numbers; 0: none */
};

struct sl_sources {
    uint64_t next; /* number; 0 is none's */
    uint64_t pieces;
    unsigned threads;
    struct thread *thread;
    struct piece *piece;
    size_t memory_bytes;
};

/* ---- numbers ---- */

static struct piece *piece_of(const struct sl_sources *s, uint64_t number)
{
    return &s->piece[number % s->pieces];
}

static int is_there(const struct sl_sources *s, uint64_t number)
{
    return number && s->next - number < s->pieces;
}

/* From a piece that is there to one that was when it began: it is at most twice the ring away. */
static uint64_t follow(const struct sl_sources *s, uint32_t link)
{
    uint32_t ago = (uint32_t)s->next - link;

    return link && ago < s->pieces ? s->next - ago : 0;
}

static uint32_t link_to(const struct sl_sources *s, uint64_t number)
{
    return is_there(s, number) ? (uint32_t)number : 0;
}

/* ---- threads ---- */

static struct thread *probe(const struct sl_sources *s, uint32_t id)
{
    uint32_t at = (id * 2654435761u >> 8) & (THREADS - 1);

    while (s->thread[at].taken && s->thread[at].id != id)
        at = (at + 1) & (THREADS - 1);
    return &s->thread[at];
}

/* Those of which nothing is there any more go; all of them if that is not enough. */
static void sweep(struct sl_sources *s)
{
    struct thread kept[THREADS / 4];
    unsigned count = 0;

    for (unsigned i = 0; i < THREADS; i++)
        if (s->thread[i].taken && is_there(s, s->thread[i].newest) && count < THREADS / 4)
            kept[count++] = s->thread[i];
    memset(s->thread, 0, THREADS * sizeof(*s->thread));
    s->threads = count < THREADS / 4 ? count : 0;
    for (unsigned i = 0; i < s->threads; i++)
        *probe(s, kept[i].id) = kept[i];
}

static struct thread *get_thread(struct sl_sources *s, uint32_t id)
{
    struct thread *t = probe(s, id);

    if (t->taken)
        return t;
    if (s->threads >= THREADS / 2) {
        sweep(s);
        t = probe(s, id);
    }
    *t = (struct thread){.id = id, .taken = 1};
    s->threads++;
    return t;
}

/* ---- pieces ---- */

void sl_sources_begin(struct sl_sources *s, uint32_t thread, uint64_t ns, uint32_t line)
{
    struct thread *t = get_thread(s, thread);
    uint64_t number = ++s->next;
    struct piece *p;

    if (!(uint32_t)number) /* reads as no link */
        number = ++s->next;
    p = piece_of(s, number);
    *p = (struct piece){.start_ns = ns,
                        .end_ns = UINT64_MAX,
                        .line = line,
                        .older = link_to(s, t->newest),
                        .around = link_to(s, t->open)};
    if (p->older)
        piece_of(s, t->newest)->newer = (uint32_t)number;
    t->newest = t->open = number;
}

static void end(struct sl_sources *s, struct thread *t, uint64_t ns)
{
    struct piece *p = piece_of(s, t->open);

    if (!is_there(s, t->open)) {
        t->open = 0;
        return;
    }
    p->end_ns = ns > p->start_ns ? ns : p->start_ns;
    t->open = follow(s, p->around);
}

void sl_sources_end(struct sl_sources *s, uint32_t thread, uint64_t ns)
{
    struct thread *t = probe(s, thread);

    if (t->taken && t->open)
        end(s, t, ns);
}

void sl_sources_end_thread(struct sl_sources *s, uint32_t thread, uint64_t ns)
{
    struct thread *t = probe(s, thread);

    while (t->taken && t->open)
        end(s, t, ns);
}

/* ---- the past ---- */

uint32_t sl_sources_at(struct sl_sources *s, uint32_t thread, uint64_t ns)
{
    struct thread *t = probe(s, thread);
    uint64_t at, next;

    if (!t->taken)
        return 0;
    at = is_there(s, t->cursor) ? t->cursor : is_there(s, t->newest) ? t->newest : 0;
    while (at && piece_of(s, at)->start_ns > ns) {
        t->cursor = at; /* many may be asked for that are older than all */
        at = follow(s, piece_of(s, at)->older);
    }
    if (!at)
        return 0;
    while ((next = follow(s, piece_of(s, at)->newer)) && piece_of(s, next)->start_ns <= ns)
        at = next;
    t->cursor = at;
    while (at && piece_of(s, at)->end_ns <= ns)
        at = follow(s, piece_of(s, at)->around);
    return at ? piece_of(s, at)->line : 0;
}

/* ---- life ---- */

int sl_sources_create(struct sl_sources **out, size_t cap_bytes)
{
    size_t cap = cap_bytes ? cap_bytes : DEFAULT_CAP_BYTES, fixed = THREADS * sizeof(struct thread);
    struct sl_sources *s;

    if (cap < CAP_MIN_BYTES)
        return -EINVAL;
    s = sl_pages_map(sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->memory_bytes = cap;
    s->thread = sl_pages_map(cap);
    if (!s->thread) {
        sl_pages_unmap(s, sizeof(*s));
        return -ENOMEM;
    }
    s->piece = (struct piece *)((char *)s->thread + fixed);
    s->pieces = (cap - fixed) / sizeof(*s->piece);
    *out = s;
    return 0;
}

void sl_sources_destroy(struct sl_sources *s)
{
    if (!s)
        return;
    sl_pages_unmap(s->thread, s->memory_bytes);
    sl_pages_unmap(s, sizeof(*s));
}
