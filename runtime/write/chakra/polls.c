/*
 * polls.c - joins runs of queries that found unfinished work.
 *
 * A thread that polls makes up to a million queries in a second. Nobody needs a node for each of
 * them, and held one by one they would take the memory of all other rows. So queries that follow
 * each other on a thread become one row. cpu.c joins the queries when their turn comes. The
 * function here does the same earlier, when the memory is full.
 *
 * Threads: one owner. Memory: the arrays of the sort.
 */
#include "write/chakra/chakra_internal.h"

/* The rows of a thread, from the first to the last in order of start. */
struct walk {
    struct sl_event *run;          /* the last row, if it is a query; otherwise NULL */
    uint64_t end[SL_CHAKRA_DEPTH]; /* ends of the rows around the current row, the innermost last */
    size_t depth;
    int is_deep; /* 1: there were more rows around a row than `end` has entries */
};

static void enclose(struct walk *w, uint64_t end_ns)
{
    if (w->depth == SL_CHAKRA_DEPTH)
        w->is_deep = 1;
    else
        w->end[w->depth++] = end_ns;
}

static void begin_thread(const struct sl_chakra *c, struct walk *w, uint32_t thread)
{
    const struct sl_chakra_thread *t = sl_chakra_find_thread(c, thread);
    const struct sl_chakra_open *o;

    *w = (struct walk){0};
    for (o = t ? t->open : NULL; o; o = o->around)
        enclose(w, o->row.end_ns);
    for (size_t i = 0; i < w->depth / 2; i++) {
        uint64_t end_ns = w->end[i];

        w->end[i] = w->end[w->depth - 1 - i];
        w->end[w->depth - 1 - i] = end_ns;
    }
    if (t && t->pending && sl_chakra_is_outer(&t->row))
        enclose(w, t->row.end_ns);
}

/* Returns 1 if the row was added to the run before it. */
static int take(struct walk *w, struct sl_event *ev)
{
    for (; w->depth && w->end[w->depth - 1] <= ev->start_ns; w->depth--)
        w->run = NULL;
    if (w->run && !w->is_deep && sl_chakra_join_polls(w->run, ev))
        return 1;
    w->run = sl_chakra_is_poll(ev) ? ev : NULL;
    if (sl_chakra_is_outer(ev) && !sl_chakra_is_end(ev))
        enclose(w, ev->end_ns);
    return 0;
}

size_t sl_chakra_join_held_polls(struct sl_chakra *c)
{
    struct sl_chakra_turn *turn;
    struct walk w = {0};
    size_t i, rows = 0, kept = 0, was = c->held_count;

    for (i = 0; i < was; i++)
        if (sl_chakra_is_cpu(&c->held[i]))
            c->turn[rows++] = (struct sl_chakra_turn){c->held[i].start_ns, (uint32_t)i};
    turn = sl_chakra_order(c->held, c->turn, c->turn_spare, rows);
    for (i = 0; i < rows; i++)
        turn[i].key = c->held[turn[i].index].thread;
    turn = sl_chakra_sort(turn, turn == c->turn ? c->turn_spare : c->turn, rows);
    for (i = 0; i < rows; i++) {
        struct sl_event *ev = &c->held[turn[i].index];

        if (i == 0 || turn[i - 1].key != turn[i].key)
            begin_thread(c, &w, ev->thread);
        if (take(&w, ev))
            ev->start_ns = 0;
    }
    for (i = 0; i < was; i++)
        if (c->held[i].start_ns)
            c->held[kept++] = c->held[i];
    c->held_count = kept;
    return was - kept;
}
