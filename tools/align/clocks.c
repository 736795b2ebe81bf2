/*
 * clocks.c - fits a line between each two clocks, and chains the lines to a reference clock.
 *
 * Between clocks a and b (a < b), y(x) = (time of a) - (time of b) when b shows x. A fact in which
 * `a` left and `b` began says y(began) <= left - began; the other way round, y(left) >= began -
 * left. So y passes below some points and above others. For a slope k, the line's height at x = 0
 * lies between the largest y - k x of the lower points and the smallest of the upper points. The
 * width of this gap is a concave function of k, as is the highest line at any x; both are searched
 * by sections.
 *
 * Threads, memory: see clocks.h.
 */
#include "align/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/grow.h"

#define KNOTS    9  /* the error is kept at this many times, and is a convex function of time */
#define SECTIONS 80 /* of a search */
#define TIME_MAX (1ll << 61)

/* A bound of the difference of two clocks. */
struct point {
    uint32_t a, b;
    int64_t x, y;
};

/* A point relative to the first of its pair of clocks. */
struct spot {
    double x, y;
};

/* The line from a clock to another one: x becomes at + (x - from) (1 + slope). */
struct line {
    int64_t from, at;
    double slope;
    double step;         /* from one knot to the next, in ns; the first is at `from` */
    double error[KNOTS]; /* in ns */
};

struct link {
    uint32_t a, b;
    struct line line; /* of b to a */
};

struct clock {
    uint32_t reference; /* the clock that it is aligned to; itself: it is a reference */
    uint32_t through;   /* the next clock on the way */
    struct line line;   /* to `through` */
    int is_done;
};

struct sl_clocks {
    uint32_t *host, *clock; /* of each rank; a clock has the number of its first rank */
    struct clock *of;       /* of each clock */
    size_t ranks;
    struct point *upper, *lower;
    size_t uppers, lowers, upper_slots, lower_slots;
    struct link *link;
    size_t links, link_slots;
    struct sl_clocks_conflict *conflict;
    size_t conflicts, conflict_slots;
    int failed; /* -ENOMEM */
};

int sl_clocks_create(struct sl_clocks **out, const uint32_t *host, size_t ranks)
{
    struct sl_clocks *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->ranks = ranks;
    c->host = calloc(ranks + 1, sizeof(*c->host));
    c->clock = calloc(ranks + 1, sizeof(*c->clock));
    c->of = calloc(ranks + 1, sizeof(*c->of));
    if (!c->host || !c->clock || !c->of) {
        sl_clocks_destroy(c);
        return -ENOMEM;
    }
    if (ranks)
        memcpy(c->host, host, ranks * sizeof(*host));
    *out = c;
    return 0;
}

void sl_clocks_destroy(struct sl_clocks *c)
{
    if (!c)
        return;
    free(c->host);
    free(c->clock);
    free(c->of);
    free(c->upper);
    free(c->lower);
    free(c->link);
    free(c->conflict);
    free(c);
}

static void add_conflict(struct sl_clocks *c, uint32_t a, uint32_t b, int is_one_host, uint64_t ns)
{
    struct sl_clocks_conflict *found = NULL;
    uint32_t low = a < b ? a : b, high = a < b ? b : a;

    for (size_t i = 0; i < c->conflicts && !found; i++)
        if (c->conflict[i].a == low && c->conflict[i].b == high)
            found = &c->conflict[i];
    if (!found) {
        found = sl_grow((void **)&c->conflict, &c->conflicts, &c->conflict_slots, sizeof(*found));
        if (!found) {
            c->failed = -ENOMEM;
            return;
        }
        *found = (struct sl_clocks_conflict){low, high, is_one_host, 0};
    }
    if (ns > found->ns)
        found->ns = ns;
}

/* Damaged files may have times whose differences do not fit. */
static int is_usable(int64_t ns)
{
    return ns > -TIME_MAX && ns < TIME_MAX;
}

void sl_clocks_add(struct sl_clocks *c, uint32_t left, int64_t left_ns, uint32_t began,
                   int64_t began_ns)
{
    int is_upper = left < began;
    struct point *p;
    int64_t y;

    if (left == began || !is_usable(left_ns) || !is_usable(began_ns))
        return;
    y = left_ns - began_ns;
    if (c->host[left] == c->host[began]) {
        if (-y > SL_CLOCKS_TOLERANCE_NS)
            add_conflict(c, left, began, 1, (uint64_t)-y);
        if (c->host[left] != SL_CLOCKS_UNKNOWN)
            return;
    }
    p = is_upper ? sl_grow((void **)&c->upper, &c->uppers, &c->upper_slots, sizeof(*p))
                 : sl_grow((void **)&c->lower, &c->lowers, &c->lower_slots, sizeof(*p));
    if (!p)
        c->failed = -ENOMEM;
    else
        *p = is_upper ? (struct point){left, began, began_ns, y}
                      : (struct point){began, left, left_ns, -y};
}

/* ---- which ranks share a clock ---- */

static void find_clocks(struct sl_clocks *c)
{
    int is_split = 0;

    for (size_t i = 0; i < c->conflicts; i++)
        is_split |= c->host[c->conflict[i].a] == SL_CLOCKS_UNKNOWN;
    for (uint32_t i = 0; i < c->ranks; i++) {
        uint32_t first = i;

        if (c->host[i] != SL_CLOCKS_UNKNOWN || !is_split)
            for (first = 0; c->host[first] != c->host[i]; first++)
                ;
        c->clock[i] = first;
        c->of[i].reference = c->of[i].through = i;
    }
    /* Conflicts of ranks that have clocks of their own are none. */
    for (size_t i = 0; i < c->conflicts;)
        if (c->clock[c->conflict[i].a] != c->clock[c->conflict[i].b])
            c->conflict[i] = c->conflict[--c->conflicts];
        else
            i++;
}

/* ---- the line between two clocks ---- */

struct fit {
    struct spot *upper, *lower; /* the points that can touch a line, by x */
    size_t uppers, lowers;
    double slack;    /* all bounds are wider by this much, because they contradict each other */
    double from, to; /* the slopes that lines may have */
};

static double highest_at(const struct fit *f, double slope, double x)
{
    double y = INFINITY;

    for (size_t i = 0; i < f->uppers; i++)
        y = fmin(y, f->upper[i].y + slope * (x - f->upper[i].x));
    return y + f->slack;
}

static double lowest_at(const struct fit *f, double slope, double x)
{
    double y = -INFINITY;

    for (size_t i = 0; i < f->lowers; i++)
        y = fmax(y, f->lower[i].y + slope * (x - f->lower[i].x));
    return y - f->slack;
}

static double gap_at(const struct fit *f, double slope, double x)
{
    return highest_at(f, slope, x) - lowest_at(f, slope, x);
}

static double minus_lowest_at(const struct fit *f, double slope, double x)
{
    return -lowest_at(f, slope, x);
}

/* Finds the largest value of a concave function of the slope. Returns the slope. */
static double search(const struct fit *f, double (*value)(const struct fit *, double, double),
                     double x)
{
    double low = f->from, high = f->to;

    for (int i = 0; i < SECTIONS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;

        if (value(f, a, x) < value(f, b, x))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

/* Returns the slope nearest to `limit` for which a line fits; one fits for `inside`. */
static double edge_of(const struct fit *f, double inside, double limit)
{
    if (gap_at(f, limit, 0) >= 0)
        return limit;
    for (int i = 0; i < SECTIONS; i++) {
        double middle = (inside + limit) / 2;

        if (gap_at(f, middle, 0) >= 0)
            inside = middle;
        else
            limit = middle;
    }
    return inside;
}

static int order_of_points(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    if (x->x != y->x)
        return x->x < y->x ? -1 : 1;
    return (x->y > y->y) - (x->y < y->y);
}

/* Keeps the points that a line from below (sign 1) or above (sign -1) can touch. */
static size_t keep_hull(struct spot *hull, const struct point *p, size_t count,
                        const struct point *zero, double sign)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct spot s = {(double)(p[i].x - zero->x), (double)(p[i].y - zero->y)};

        while (kept > 1 &&
               sign * ((hull[kept - 1].x - hull[kept - 2].x) * (s.y - hull[kept - 2].y) -
                       (hull[kept - 1].y - hull[kept - 2].y) * (s.x - hull[kept - 2].x)) <=
                   0)
            kept--;
        if (kept && hull[kept - 1].x == s.x && sign * (s.y - hull[kept - 1].y) >= 0)
            continue;
        hull[kept++] = s;
    }
    return kept;
}

/* Sets the line of `f` that is in the middle of the bounds, relative to `zero`. */
static void set_line(struct fit *f, struct line *line, const struct point *zero, double first,
                     double last)
{
    double high[KNOTS], low[KNOTS], middle, step = (last - first) / (KNOTS - 1), rise;

    for (int i = 0; i < KNOTS; i++) {
        double x = first + i * step;

        high[i] = highest_at(f, search(f, highest_at, x), x);
        low[i] = lowest_at(f, search(f, minus_lowest_at, x), x);
    }
    middle = (high[0] + low[0]) / 2;
    rise = ((high[KNOTS - 1] + low[KNOTS - 1]) / 2 - middle) / (KNOTS - 1);
    line->from = zero->x + (int64_t)first;
    line->at = line->from + zero->y + llround(middle);
    line->slope = step > 0 ? rise / step : 0;
    line->step = step;
    for (int i = 0; i < KNOTS; i++)
        line->error[i] = fmax(high[i] - (middle + i * rise), middle + i * rise - low[i]);
}

/* Fits the line of one pair of clocks to its upper and lower points. Returns 0 or -ENOMEM. */
static int fit_pair(struct sl_clocks *c, const struct point *upper, size_t uppers,
                    const struct point *lower, size_t lowers)
{
    const struct point *zero = upper;
    struct fit f = {.from = -SL_CLOCKS_DRIFT, .to = SL_CLOCKS_DRIFT};
    double first = (double)(lower->x - zero->x), last = (double)(lower[lowers - 1].x - zero->x);
    double best, gap;
    struct link *link;

    first = fmin(first, 0);
    last = fmax(last, (double)(upper[uppers - 1].x - zero->x));
    f.upper = calloc(uppers, sizeof(*f.upper));
    f.lower = calloc(lowers, sizeof(*f.lower));
    link = sl_grow((void **)&c->link, &c->links, &c->link_slots, sizeof(*link));
    if (!f.upper || !f.lower || !link) {
        free(f.upper);
        free(f.lower);
        return -ENOMEM;
    }
    f.uppers = keep_hull(f.upper, upper, uppers, zero, 1);
    f.lowers = keep_hull(f.lower, lower, lowers, zero, -1);
    best = search(&f, gap_at, 0);
    gap = gap_at(&f, best, 0);
    if (gap < -SL_CLOCKS_TOLERANCE_NS) {
        add_conflict(c, upper->a, upper->b, 0, (uint64_t)-gap);
        c->links--;
    } else {
        f.slack = gap < 0 ? -gap / 2 + 0.5 : 0;
        f.from = edge_of(&f, best, -SL_CLOCKS_DRIFT);
        f.to = edge_of(&f, best, SL_CLOCKS_DRIFT);
        link->a = upper->a;
        link->b = upper->b;
        set_line(&f, &link->line, zero, first, last);
    }
    free(f.upper);
    free(f.lower);
    return 0;
}

/* Gives the points of one kind the numbers of clocks, and sorts them by pair and x. */
static size_t sort_points(const struct sl_clocks *c, struct point *p, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        p[kept] = p[i];
        p[kept].a = c->clock[p[i].a];
        p[kept].b = c->clock[p[i].b];
        kept += p[kept].a != p[kept].b;
    }
    if (kept)
        qsort(p, kept, sizeof(*p), order_of_points);
    return kept;
}

static size_t pair_end(const struct point *p, size_t first, size_t count)
{
    size_t end = first;

    while (end < count && p[end].a == p[first].a && p[end].b == p[first].b)
        end++;
    return end;
}

static int order_of_pairs(const struct point *x, const struct point *y)
{
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int fit_pairs(struct sl_clocks *c)
{
    size_t u = 0, l = 0;
    int rc = 0;

    while (rc == 0 && u < c->uppers && l < c->lowers) {
        size_t upper_end = pair_end(c->upper, u, c->uppers);
        size_t lower_end = pair_end(c->lower, l, c->lowers);
        int order = order_of_pairs(&c->upper[u], &c->lower[l]);

        if (order == 0)
            rc = fit_pair(c, &c->upper[u], upper_end - u, &c->lower[l], lower_end - l);
        u = order <= 0 ? upper_end : u;
        l = order >= 0 ? lower_end : l;
    }
    return rc;
}

/* ---- the way to the reference clock ---- */

static double error_at(const struct line *line, int64_t ns)
{
    double x = (double)ns - (double)line->from, last = line->step * (KNOTS - 1), at;
    double outside = x < 0 ? -x : x > last ? x - last : 0;
    int i;

    x = x < 0 ? 0 : x > last ? last : x;
    at = line->step > 0 ? x / line->step : 0;
    i = at >= KNOTS - 1 ? KNOTS - 2 : (int)at;
    return line->error[i] + (at - i) * (line->error[i + 1] - line->error[i]) +
           outside * 2 * SL_CLOCKS_DRIFT;
}

static double largest_error(const struct line *line)
{
    return fmax(line->error[0], line->error[KNOTS - 1]);
}

static int64_t limited(int64_t ns)
{
    return ns > TIME_MAX ? TIME_MAX : ns < -TIME_MAX ? -TIME_MAX : ns;
}

static int64_t through(const struct line *line, int64_t ns)
{
    int64_t x = limited(ns) - line->from;

    return line->at + x + llround(line->slope * (double)x);
}

/* Returns the line of a to b, given that of b to a. */
static struct line inverse(const struct line *line)
{
    struct line out = *line;

    out.from = line->at;
    out.at = line->from;
    out.slope = 1 / (1 + line->slope) - 1;
    out.step = line->step * (1 + line->slope);
    return out;
}

/* Adds to each reference clock those that can be reached, the next by the smallest error. */
static void chain(struct sl_clocks *c)
{
    for (uint32_t root = 0; root < c->ranks; root++) {
        if (c->clock[root] != root || c->of[root].is_done)
            continue;
        c->of[root].is_done = 1;
        for (;;) {
            const struct link *best = NULL;
            double least = INFINITY;
            uint32_t to, next;

            for (size_t i = 0; i < c->links; i++) {
                const struct link *k = &c->link[i];
                double error = largest_error(&k->line);

                if (c->of[k->a].is_done != c->of[k->b].is_done && error < least) {
                    best = k;
                    least = error;
                }
            }
            if (!best)
                break;
            next = c->of[best->a].is_done ? best->b : best->a;
            to = c->of[best->a].is_done ? best->a : best->b;
            c->of[next] = (struct clock){
                .reference = c->of[to].reference,
                .through = to,
                .line = next == best->b ? best->line : inverse(&best->line),
                .is_done = 1,
            };
        }
    }
}

static int order_of_conflicts(const void *a, const void *b)
{
    const struct sl_clocks_conflict *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

int sl_clocks_solve(struct sl_clocks *c)
{
    int rc;

    find_clocks(c);
    c->uppers = sort_points(c, c->upper, c->uppers);
    c->lowers = sort_points(c, c->lower, c->lowers);
    rc = fit_pairs(c);
    free(c->upper);
    free(c->lower);
    c->upper = c->lower = NULL;
    c->uppers = c->lowers = c->upper_slots = c->lower_slots = 0;
    chain(c);
    if (c->conflicts)
        qsort(c->conflict, c->conflicts, sizeof(*c->conflict), order_of_conflicts);
    return rc ? rc : c->failed;
}

uint32_t sl_clocks_reference(const struct sl_clocks *c, uint32_t rank)
{
    return c->of[c->clock[rank]].reference;
}

int sl_clocks_is_shared(const struct sl_clocks *c, uint32_t a, uint32_t b)
{
    return c->clock[a] == c->clock[b];
}

int64_t sl_clocks_ns(const struct sl_clocks *c, uint32_t rank, int64_t ns)
{
    for (uint32_t k = c->clock[rank]; c->of[k].through != k; k = c->of[k].through)
        ns = through(&c->of[k].line, ns);
    return ns;
}

uint64_t sl_clocks_error_ns(const struct sl_clocks *c, uint32_t rank, int64_t ns)
{
    double error = 0;

    for (uint32_t k = c->clock[rank]; c->of[k].through != k; k = c->of[k].through) {
        error = error * (1 + SL_CLOCKS_DRIFT) + error_at(&c->of[k].line, ns) + 0.5;
        ns = through(&c->of[k].line, ns);
    }
    return (uint64_t)ceil(error);
}

struct sl_clocks_fit sl_clocks_fit(const struct sl_clocks *c, uint32_t rank)
{
    const struct clock *k = &c->of[c->clock[rank]];
    struct sl_clocks_fit fit = {0};
    double length = k->line.step * (KNOTS - 1), slope = 1;
    int64_t first = k->line.from, middle = first + (int64_t)(length / 2), last;

    if (k->through == c->clock[rank])
        return fit;
    last = first + (int64_t)length;
    fit.offset_ns = middle - sl_clocks_ns(c, rank, middle);
    for (uint32_t at = c->clock[rank]; c->of[at].through != at; at = c->of[at].through)
        slope *= 1 + c->of[at].line.slope;
    fit.drift_ns_per_s = (1 / slope - 1) * 1e9;
    fit.error_ns = sl_clocks_error_ns(c, rank, first);
    if (sl_clocks_error_ns(c, rank, last) > fit.error_ns)
        fit.error_ns = sl_clocks_error_ns(c, rank, last);
    return fit;
}

const struct sl_clocks_conflict *sl_clocks_conflicts(const struct sl_clocks *c, size_t *count)
{
    *count = c->conflicts;
    return c->conflict;
}
