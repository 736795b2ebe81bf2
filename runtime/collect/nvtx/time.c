/*
 * time.c - converts times of deferred events from the program's clocks to the trace's clock.
 *
 * Threads, memory: see time.h. Clocks are the nodes of a graph. A link between two clocks holds
 * pairs of readings and a rate. A time is converted link by link, along the shortest path from its
 * clock to the trace's clock. While functions of the program are called, the table is not locked.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/time.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "collect/nvtx/system_clock.h"

/* How long a reading of a clock is used for later events. In this time, a clock that is slewed by 1
 * ppm becomes wrong by at most 100 ns. */
#define REFRESH_NS (100u * 1000 * 1000)
/* Shortest time between two readings from which a rate is computed. A reading error of 50 ns is 50
 * ppm of this time. */
#define SPAN_MIN_NS (1000u * 1000)

enum {
    CLOCKS = 64,
    LINKS = 128,
    POINTS = 16, /* maximum number of points of a link; when a link is full, every second point is
                  * dropped */
    ROUNDS = 3,  /* number of tries to read two clocks at the same moment; the best try is kept */
    TRIES = 1000,
    TRACE = 0, /* number of the node of the trace's clock */
};

/* The values of the link's two clocks at one moment. */
struct point {
    int64_t at[2];
};

struct link {
    unsigned end[2];
    unsigned points;
    double rate;                /* ticks of end[1] per tick of end[0]; 0: computed from the
                                 * points */
    struct point point[POINTS]; /* readings of both clocks, sorted by at[0] */
};

struct node {
    struct sl_nvtx_clock clock;
    struct sl_nvtx_timer timer;
    unsigned scope_domain; /* domain of the clock's scope; an assigned id belongs to no domain */
    uint64_t read_ns;      /* when the clock was last read (monotonic); 0: never */
};

static struct {
    struct node node[CLOCKS];
    struct link link[LINKS];
    unsigned nodes, links;
    _Atomic int is_taken;
    _Atomic uint32_t last_id;
} table;

/* ---- the table's lock ---- */

/* Locks the table. Returns 0 if another owner of the lock does not free it in time. The owner may
 * be descheduled. If we are in a signal handler, the owner may even be the thread that the handler
 * interrupted. */
static int take_table(void)
{
    for (unsigned i = 0; i < TRIES; i++) {
        /* Acquire pairs with the release in free_table(). */
        if (!atomic_exchange_explicit(&table.is_taken, 1, memory_order_acquire))
            return 1;
    }
    return 0;
}

static void free_table(void)
{
    atomic_store_explicit(&table.is_taken, 0, memory_order_release);
}

/* ---- links ---- */

static struct link *find_link(unsigned a, unsigned b)
{
    for (unsigned i = 0; i < table.links; i++)
        if (table.link[i].end[0] == a && table.link[i].end[1] == b)
            return &table.link[i];
    return NULL;
}

/* Returns NULL if the table is full. */
static struct link *make_link(unsigned a, unsigned b)
{
    const int64_t per_s[] = {table.node[a].clock.ticks_per_s, table.node[b].clock.ticks_per_s};
    struct link *l;

    if (table.links == LINKS) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return NULL;
    }
    l = &table.link[table.links++];
    *l = (struct link){.end = {a, b}};
    if (per_s[0] > 0 && per_s[1] > 0)
        l->rate = (double)per_s[1] / (double)per_s[0];
    return l;
}

static void add_point(struct link *l, struct point p)
{
    unsigned i;

    if (l->points == POINTS) {
        for (i = 0; i < POINTS / 2; i++)
            l->point[i] = l->point[2 * i];
        l->points = POINTS / 2;
    }
    for (i = l->points; i > 0 && l->point[i - 1].at[0] > p.at[0]; i--)
        ;
    if (i > 0 && l->point[i - 1].at[0] == p.at[0]) {
        l->point[i - 1] = p;
        return;
    }
    memmove(&l->point[i + 1], &l->point[i], (l->points - i) * sizeof(p));
    l->point[i] = p;
    l->points++;
}

/* If `rate` is 0, adds only the point, without a rate. */
static void add_to_link(unsigned a, unsigned b, struct point p, double rate)
{
    struct link *l = find_link(a, b), *turned = find_link(b, a);

    if (turned) {
        l = turned;
        p = (struct point){{p.at[1], p.at[0]}};
        rate = rate != 0 ? 1 / rate : 0;
    } else if (!l) {
        l = make_link(a, b);
    }
    if (!l)
        return;
    if (rate != 0)
        l->rate = rate;
    add_point(l, p);
}

/* Returns a - b without overflow for any values that a program may give. A double has too few bits
 * for ns since 1970, so the result is a long double. */
static long double difference(int64_t a, int64_t b)
{
    return (long double)(int64_t)((uint64_t)a - (uint64_t)b);
}

/* Converts a time from the clock of end `from` to the clock of the other end. Returns 0 if the link
 * has too few points. */
static int go_along(const struct link *l, unsigned from, int64_t at, int64_t *out)
{
    const unsigned to = !from;
    const struct point *near, *p;
    unsigned before = 0;
    long double rate, moved;

    if (l->points == 0 || (l->points == 1 && l->rate == 0))
        return 0;
    while (before < l->points && l->point[before].at[from] <= at)
        before++;
    near = &l->point[before ? before - 1 : 0];
    if (l->rate != 0 && (before == 0 || before == l->points)) {
        rate = from ? 1 / (long double)l->rate : l->rate;
    } else {
        p = before == l->points ? near - 1 : near;
        rate = difference(p[1].at[to], p->at[to]) / difference(p[1].at[from], p->at[from]);
    }
    moved = difference(at, near->at[from]) * rate;
    /* Rejects infinity, NaN, and results that an int64_t cannot hold. */
    if (!(moved > -9e18L && moved < 9e18L))
        return 0;
    *out = (int64_t)((uint64_t)near->at[to] + (uint64_t)(int64_t)moved);
    return 1;
}

/* ---- clocks ---- */

static unsigned add_node(const struct sl_nvtx_clock *clock)
{
    unsigned n = table.nodes;

    if (n == CLOCKS) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return CLOCKS;
    }
    table.nodes++;
    table.node[n] = (struct node){.clock = *clock};
    return n;
}

/* Returns the domain to which an id belongs. Returns 0 for ids that are valid in the whole process,
 * which are assigned ids and the ids of system clocks. */
static unsigned owner_of(unsigned domain, uint64_t id)
{
    return sl_nvtx_system_clock(id) || id >= NVTX_TIME_DOMAIN_ID_DYNAMIC_START ? 0 : domain;
}

/* Returns the number of the clock's node, or CLOCKS if the clock is not known. */
static unsigned find_node(unsigned domain, uint64_t id)
{
    unsigned n = 0;

    domain = owner_of(domain, id);
    while (n < table.nodes &&
           (table.node[n].clock.id != id || table.node[n].clock.domain != domain))
        n++;
    return n < table.nodes ? n : CLOCKS;
}

/* Finds a clock, and adds the clock if it is new. Returns the number of the clock's node, or CLOCKS
 * if the table is full. */
static unsigned node_of(unsigned domain, uint64_t id)
{
    const struct sl_nvtx_system_clock *s = sl_nvtx_system_clock(id);
    struct sl_nvtx_clock clock = {.domain = owner_of(domain, id), .id = id};
    unsigned n = find_node(domain, id);

    if (n != CLOCKS)
        return n;
    if (s)
        clock.ticks_per_s = s->ticks_per_s;
    n = add_node(&clock);
    if (s && n != CLOCKS && n != TRACE) {
        table.node[n].timer.read = s->read;
        if (!s->read)
            add_to_link(n, TRACE, (struct point){{0, 0}}, 0);
    }
    return n;
}

/* ---- reading clocks ---- */

/* Reads the program's clock between two readings of our clock. Tries several times and keeps the
 * try with the shortest interval. Returns 0, or -EAGAIN if our clock went backwards in every
 * try. */
static int read_both(const struct sl_nvtx_timer *t, struct point *out)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t before = sl_clock_now();
        int64_t at = t->read ? t->read() : t->read_with(t->data);
        uint64_t after = sl_clock_now();

        if (after >= before && after - before < best) {
            best = after - before;
            *out = (struct point){{at, (int64_t)(before + best / 2)}};
        }
    }
    return best == UINT64_MAX ? -EAGAIN : 0;
}

static int is_readable(const struct sl_nvtx_timer *t)
{
    return t->read || t->read_with;
}

/* Returns whether the clock must be read before its times can be converted accurately. */
static int is_due(unsigned n)
{
    const struct node *node = &table.node[n];
    uint64_t age = sl_clock_monotonic() - node->read_ns;
    const struct link *l = find_link(n, TRACE);

    if (!is_readable(&node->timer))
        return 0;
    if (l && l->points == 1 && l->rate == 0)
        return age >= SPAN_MIN_NS;
    return !node->read_ns || age >= REFRESH_NS;
}

/* The caller has locked the table. This function unlocks the table while it reads the clock, and
 * then locks the table again. If the function returns 0, the table is not locked. */
static int read_clock(unsigned n)
{
    const struct sl_nvtx_timer timer = table.node[n].timer;
    struct point p;
    int err;

    if (!is_readable(&timer))
        return 1;
    /* Set before the clock is read, so that other threads do not read the clock too. */
    table.node[n].read_ns = sl_clock_monotonic();
    free_table();
    err = read_both(&timer, &p);
    if (!take_table())
        return 0;
    if (!err)
        add_to_link(n, TRACE, p, 0);
    return 1;
}

/* ---- times ---- */

/* Converts a time to the trace's clock along the fewest links. Returns 0, -ENODATA if no path
 * exists, or -EAGAIN if clock *due must be read first. */
static int find_time(unsigned from, int64_t at, int64_t *out, unsigned *due)
{
    int64_t time[CLOCKS];
    unsigned queue[CLOCKS], head = 0, tail = 0;
    uint8_t seen[CLOCKS] = {0};

    time[from] = at;
    seen[from] = 1;
    queue[tail++] = from;
    while (head < tail && queue[head] != TRACE) {
        unsigned n = queue[head++];

        if (is_due(n)) {
            *due = n;
            return -EAGAIN;
        }
        for (unsigned i = 0; i < table.links; i++) {
            const struct link *l = &table.link[i];
            unsigned side = l->end[1] == n, other = l->end[!side];

            if (l->end[side] != n || seen[other] || !go_along(l, side, time[n], &time[other]))
                continue;
            seen[other] = 1;
            queue[tail++] = other;
        }
    }
    if (head == tail)
        return -ENODATA;
    *out = time[TRACE];
    return 0;
}

int sl_nvtx_time_ns(unsigned domain, uint64_t id, int64_t at, uint64_t *ns)
{
    unsigned n, due;
    int64_t time;
    int err = -ENODATA;

    if (!take_table())
        return -ENODATA;
    n = sl_nvtx_system_clock(id) ? node_of(0, id) : find_node(domain, id);
    /* Each clock becomes due at most once, unless this loop takes very long. */
    for (unsigned i = 0; n != CLOCKS && i < CLOCKS; i++) {
        err = find_time(n, at, &time, &due);
        if (err != -EAGAIN)
            break;
        if (!read_clock(due))
            return -ENODATA;
    }
    free_table();
    if (err)
        return -ENODATA;
    *ns = (uint64_t)time;
    return 0;
}

/* ---- clocks and readings from the program ---- */

void sl_nvtx_time_init(void)
{
    static const uint64_t first[] = {NVTX_TIMESTAMP_TYPE_CPU_TSC,
                                     NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW};

    if (!take_table())
        return;
    node_of(0, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED); /* the node with number TRACE */
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        if (sl_nvtx_system_clock(first[i]) && !read_clock(node_of(0, first[i])))
            return;
    free_table();
}

uint64_t sl_nvtx_time_add(const struct sl_nvtx_clock *clock)
{
    struct sl_nvtx_clock own = *clock;
    unsigned n, type;
    int64_t per_s;
    double rate = 1;

    if (!own.id)
        own.id = NVTX_TIME_DOMAIN_ID_DYNAMIC_START +
                 atomic_fetch_add_explicit(&table.last_id, 1, memory_order_relaxed);
    if (!take_table())
        return own.id;
    n = node_of(own.domain, own.id);
    if (n == CLOCKS || sl_nvtx_system_clock(own.id)) {
        free_table();
        return n == CLOCKS ? 0 : own.id;
    }
    table.node[n].clock.type = own.type;
    table.node[n].clock.scope = own.scope;
    table.node[n].scope_domain = own.domain;
    table.node[n].clock.ticks_per_s = own.ticks_per_s;
    type = own.is_unix_time && own.ticks_per_s > 0 ? TRACE
           : sl_nvtx_system_clock(own.type)        ? node_of(0, own.type)
                                                   : CLOCKS;
    if (type != CLOCKS) {
        per_s = table.node[type].clock.ticks_per_s;
        if (per_s && own.ticks_per_s > 0)
            rate = (double)per_s / (double)own.ticks_per_s;
        add_to_link(n, type, (struct point){{0, 0}}, rate);
    }
    free_table();
    return own.id;
}

void sl_nvtx_time_set_timer(unsigned domain, uint64_t id, const struct sl_nvtx_timer *timer)
{
    unsigned n;

    if (sl_nvtx_system_clock(id) || !take_table())
        return;
    n = node_of(domain, id);
    if (n != CLOCKS) {
        table.node[n].timer = *timer;
        if (!read_clock(n))
            return;
    }
    free_table();
}

void sl_nvtx_time_factor(unsigned domain, uint64_t a, uint64_t b, double b_per_a, int64_t at_a,
                         int64_t at_b)
{
    unsigned na, nb;

    if (!take_table())
        return;
    na = node_of(domain, a);
    nb = node_of(domain, b);
    /* A program cannot set links between system clocks, because we measure these links. */
    if (na != CLOCKS && nb != CLOCKS && na != nb &&
        !(sl_nvtx_system_clock(a) && sl_nvtx_system_clock(b)))
        add_to_link(na, nb, (struct point){{at_a, at_b}}, b_per_a);
    free_table();
}

void sl_nvtx_time_point(unsigned domain, uint64_t a, uint64_t b, int64_t at_a, int64_t at_b)
{
    sl_nvtx_time_factor(domain, a, b, 0, at_a, at_b);
}

uint64_t sl_nvtx_time_of_scope(unsigned domain, uint64_t scope)
{
    uint64_t id = 0;

    if (!scope || !take_table())
        return 0;
    for (unsigned n = 0; n < table.nodes && !id; n++)
        if (table.node[n].clock.scope == scope && table.node[n].scope_domain == domain)
            id = table.node[n].clock.id;
    free_table();
    return id;
}
