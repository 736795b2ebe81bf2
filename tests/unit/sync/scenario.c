/*
 * scenario.c - reads scenarios and runs them. The test's thread alone.
 *
 * A line is taken apart each time it is run, because a loop changes what it says. A mistake leaves
 * scenario_run() by longjmp(), from however deep in a line.
 */
#include "sync/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/edge.h"
#include "sync/scenario_rows.h"

#define US 1000u

enum {
    WORDS = 32,
    LINE = 256,
    FACT = 256, /* an edge in words */
    SEEDS = 50  /* orders of delivery of a scenario that is shuffled */
};

struct scenario_script {
    char *name, *text;
    char **line; /* line[0] is line 1 */
    size_t lines;
    struct scenario *scenario;
    size_t count;
};

/* A call that has a name. */
struct label {
    char name[32];
    uint64_t id;
    uint32_t thread, device;
    unsigned plain; /* its operations that are no graph's nodes */
};

/* Edges in words, and the line that expects each. */
struct facts {
    struct fact {
        char text[FACT];
        unsigned line;
    } * at;
    size_t count, slots;
};

struct run {
    const struct scenario_script *script;
    unsigned line;
    char *word[WORDS + 1]; /* of the line; the one behind the last is NULL */
    size_t words, next;
    char buffer[LINE];
    uint64_t variable[26]; /* a to z */
    uint32_t known;        /* bit 0: a is a loop's variable */

    struct sl_edges *edges;
    struct sl_shape_table *shapes;
    uint64_t last_id;
    struct label *label;
    size_t labels, label_slots;
    struct facts expected, found;
    uint64_t lost[SL_EDGE_LOST_COUNT]; /* expected; UINT64_MAX (printed as -1): at least 1 */

    unsigned seed; /* 0: not shuffled */
    struct sl_event held[LINE];
    size_t held_count;

    jmp_buf out;
    char *why;
    size_t why_size;
};

static int is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

/* ---- what is wrong ---- */

static __attribute__((format(printf, 2, 3))) void say(struct run *r, const char *format, ...)
{
    size_t used = strlen(r->why);
    va_list args;

    va_start(args, format);
    vsnprintf(r->why + used, r->why_size - used, format, args);
    va_end(args);
}

static _Noreturn __attribute__((format(printf, 2, 3))) void wrong(struct run *r, const char *format,
                                                                  ...)
{
    int used = snprintf(r->why, r->why_size, "%s:%u: ", r->script->name, r->line);
    va_list args;

    va_start(args, format);
    vsnprintf(r->why + used, r->why_size - (size_t)used, format, args);
    va_end(args);
    longjmp(r->out, 1);
}

static void *grow(void *array, size_t count, size_t *slots, size_t size)
{
    if (count < *slots)
        return array;
    *slots = *slots ? 2 * *slots : 64;
    array = realloc(array, *slots * size);
    if (!array)
        abort();
    return array;
}

/* ---- words and numbers ---- */

static void split(struct run *r, const char *text)
{
    char *save, *word;

    snprintf(r->buffer, sizeof r->buffer, "%s", text);
    r->buffer[strcspn(r->buffer, "#")] = '\0';
    r->words = r->next = 0;
    for (word = strtok_r(r->buffer, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (r->words == WORDS)
            wrong(r, "more than %d words", WORDS);
        r->word[r->words++] = word;
    }
    r->word[r->words] = NULL;
}

static const char *take(struct run *r, const char *what)
{
    if (r->next == r->words)
        wrong(r, "%s is missing", what);
    return r->word[r->next++];
}

static int take_if(struct run *r, const char *word)
{
    if (r->next == r->words || !is(r->word[r->next], word))
        return 0;
    r->next++;
    return 1;
}

static uint64_t factor(struct run *r, const char **at)
{
    char *end;
    uint64_t value;

    if (**at >= 'a' && **at <= 'z' && r->known >> (**at - 'a') & 1)
        return r->variable[*(*at)++ - 'a'];
    value = strtoull(*at, &end, 0);
    if (end == *at || **at == '-')
        wrong(r, "'%s' is not a number", *at);
    *at = end;
    return value;
}

static uint64_t product(struct run *r, const char **at)
{
    uint64_t value = factor(r, at);

    while (**at == '*' || **at == '%') {
        int times = *(*at)++ == '*';
        uint64_t by = factor(r, at);

        if (!times && by == 0)
            wrong(r, "modulo 0");
        value = times ? value * by : value % by;
    }
    return value;
}

static uint64_t sum(struct run *r, const char **at)
{
    uint64_t value = product(r, at);

    while (**at == '+' || **at == '-') {
        int plus = *(*at)++ == '+';
        uint64_t by = product(r, at);

        value = plus ? value + by : value - by;
    }
    return value;
}

static void at_end(struct run *r, const char *at, const char *word)
{
    if (*at)
        wrong(r, "'%s' has '%s' at its end", word, at);
}

static uint64_t number(struct run *r, const char *word)
{
    const char *at = word;
    uint64_t value = sum(r, &at);

    at_end(r, at, word);
    return value;
}

/* Microseconds, with up to three decimals. */
static uint64_t time_ns(struct run *r, const char **at)
{
    uint64_t ns = sum(r, at) * US;

    if (**at == '.' && (*at)[1] != '.') {
        ++*at;
        for (unsigned unit = US / 10; **at >= '0' && **at <= '9'; unit /= 10)
            ns += unit * (uint64_t)(*(*at)++ - '0');
    }
    return ns;
}

static uint64_t one_time(struct run *r)
{
    const char *word = take(r, "a time"), *at = word;
    uint64_t ns = time_ns(r, &at);

    at_end(r, at, word);
    return ns;
}

/* "10..12" */
static void span(struct run *r, const char *word, uint64_t *from_ns, uint64_t *to_ns)
{
    const char *at = word;

    *from_ns = time_ns(r, &at);
    if (strncmp(at, "..", 2) != 0)
        wrong(r, "'%s' is not of the form FROM..TO", word);
    at += 2;
    *to_ns = time_ns(r, &at);
    at_end(r, at, word);
}

static enum sl_edge_loss reason(struct run *r)
{
    const char *word = take(r, "a reason");

    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        if (is(word, sl_edge_loss_name((enum sl_edge_loss)i)))
            return (enum sl_edge_loss)i;
    wrong(r, "'%s' is not a reason why an edge is left out", word);
}

/* ---- names of calls ---- */

/* "kernel[i]" is named by its number, too. */
static void make_name(struct run *r, const char *word, size_t length, char name[32])
{
    char copy[LINE], *open, *close;

    snprintf(copy, sizeof copy, "%.*s", (int)length, word);
    open = strchr(copy, '[');
    close = strchr(copy, ']');
    if (!open || !close) {
        snprintf(name, 32, "%.31s", copy);
        return;
    }
    *open = *close = '\0';
    snprintf(name, 32, "%.10s[%llu]", copy, (unsigned long long)number(r, open + 1));
}

static struct label *label_find(struct run *r, const char *word, size_t length)
{
    char name[32];

    make_name(r, word, length, name);
    for (size_t i = r->labels; i-- > 0;)
        if (is(r->label[i].name, name))
            return &r->label[i];
    wrong(r, "no call is named '%s'", name);
}

static struct label *label_of(const struct run *r, uint64_t id)
{
    for (size_t i = r->labels; i-- > 0;)
        if (r->label[i].id == id)
            return &r->label[i];
    return NULL;
}

/* A name that is given again, in a loop, is the later call's. */
static struct label *label_put(struct run *r, const char *word, uint64_t id)
{
    struct label new = {.id = id}, *label = NULL;

    make_name(r, word, strlen(word) - 1, new.name);
    for (size_t i = 0; r->known && i < r->labels && !label; i++)
        if (is(r->label[i].name, new.name))
            label = &r->label[i];
    if (!label) {
        r->label = grow(r->label, r->labels, &r->label_slots, sizeof *r->label);
        label = &r->label[r->labels++];
    }
    *label = new;
    return label;
}

/* ---- edges in words ---- */

static void fact_add(struct facts *facts, unsigned line, const char *text)
{
    facts->at = grow(facts->at, facts->count, &facts->slots, sizeof *facts->at);
    facts->at[facts->count].line = line;
    snprintf(facts->at[facts->count++].text, FACT, "%s", text);
}

/* The call's name, and which of its operations, if it has several. */
static void name_op(const struct run *r, const struct sl_edge_op *op, char name[64])
{
    const struct label *label = label_of(r, op->correlation);
    int used = label ? snprintf(name, 64, "%s", label->name)
                     : snprintf(name, 64, "call_%llu", (unsigned long long)op->correlation);

    if (op->graph_node)
        used +=
            snprintf(name + used, 64 - (size_t)used, ".%llu", (unsigned long long)op->graph_node);
    else if (label && label->plain > 1)
        used += snprintf(name + used, 64 - (size_t)used, "@%u", op->stream);
    if (label && label->device != op->device)
        snprintf(name + used, 64 - (size_t)used, "(device %u)", op->device);
}

/* Edges of these kinds end at an operation's start, the others at a call's return. */
static int ends_at_start(enum sl_edge_kind kind)
{
    return kind == SL_EDGE_STREAM_WAIT || kind == SL_EDGE_LEGACY_DEFAULT || kind == SL_EDGE_GRAPH;
}

static void tell_edge(struct run *r, const struct sl_edge *edge)
{
    const struct label *label = label_of(r, edge->dst_correlation);
    struct sl_edge_op call = {.correlation = edge->dst_correlation};
    char from[64], to[64], text[FACT];
    enum sl_edge_kind kind = (enum sl_edge_kind)edge->kind;

    call.device = (uint16_t)(label ? label->device : 0);
    name_op(r, &edge->source, from);
    name_op(r, edge->at_start ? &edge->dst_op : &call, to);
    if (!edge->at_start)
        to[strcspn(to, "@")] = '\0';
    snprintf(text, sizeof text, "%s -> %s %s%s%s%s%s wait %g wake %g", from, to,
             sl_edge_kind_name(kind), edge->basis == SL_BASIS_EXACT ? "" : " ",
             edge->basis == SL_BASIS_EXACT ? ""
                                           : sl_edge_basis_name((enum sl_edge_basis)edge->basis),
             edge->released ? "" : " unreleased",
             edge->at_start == ends_at_start(kind) ? "" : " (at the wrong end)",
             (double)edge->wait_ns / US, (double)edge->wake_ns / US);
    if (label && label->thread != edge->dst_thread)
        snprintf(text + strlen(text), sizeof text - strlen(text), " (thread %u)", edge->dst_thread);
    fact_add(&r->found, 0, text);
}

/* The engine tells of all edges of a call's return, or of an operation's start, at once. */
static void sink(void *user, const struct sl_edge *edges, size_t count)
{
    struct run *r = user;

    for (size_t i = 0; i < count; i++) {
        if (edges[i].dst_correlation != edges[0].dst_correlation)
            fact_add(&r->found, 0, "edges of two calls at once");
        tell_edge(r, &edges[i]);
    }
}

/* "kernel", "graph.101" or "graph@90", with the name as the engine's edges have it. */
static void read_end(struct run *r, char name[64])
{
    const char *word = take(r, "a call");
    size_t length = strcspn(word, ".@");
    const struct label *label = label_find(r, word, length);

    if (!word[length])
        snprintf(name, 64, "%s", label->name);
    else
        snprintf(name, 64, "%s%c%llu", label->name, word[length],
                 (unsigned long long)number(r, word + length + 1));
}

static const char *read_kind(struct run *r)
{
    const char *word = take(r, "the edge's kind");

    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        if (is(word, sl_edge_kind_name((enum sl_edge_kind)i)))
            return word;
    wrong(r, "'%s' is not a kind of edge", word);
}

static double read_us(struct run *r, const char *what)
{
    if (!take_if(r, what))
        wrong(r, "'%s' and a time are missing", what);
    return (double)one_time(r) / US;
}

/* expect FROM -> TO KIND [inferred|overlapping] [unreleased] wait US wake US */
static void run_expect(struct run *r)
{
    char from[64], to[64], text[FACT];
    const char *kind, *basis = "", *released = "";
    double wait;

    read_end(r, from);
    if (!take_if(r, "->"))
        wrong(r, "'->' is missing");
    read_end(r, to);
    kind = read_kind(r);
    if (take_if(r, "inferred"))
        basis = " inferred";
    else if (take_if(r, "overlapping"))
        basis = " overlapping";
    if (take_if(r, "unreleased"))
        released = " unreleased";
    wait = read_us(r, "wait");
    snprintf(text, sizeof text, "%s -> %s %s%s%s wait %g wake %g", from, to, kind, basis, released,
             wait, read_us(r, "wake"));
    fact_add(&r->expected, r->line, text);
}

/* ---- comparing ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct fact *)a)->text, ((const struct fact *)b)->text);
}

static void sort(struct facts *facts)
{
    if (facts->count)
        qsort(facts->at, facts->count, sizeof *facts->at, by_text);
}

/* Both lists side by side, if they differ. Returns 1 if so. */
static int differ(struct run *r)
{
    struct facts *e = &r->expected, *f = &r->found;
    size_t i = 0, k = 0;
    int differs = e->count != f->count;

    sort(e);
    sort(f);
    for (size_t n = 0; !differs && n < e->count; n++)
        differs = by_text(&e->at[n], &f->at[n]) != 0;
    if (!differs)
        return 0;
    say(r, "  line  %-60s  found\n", "expected");
    while (i < e->count || k < f->count) {
        int order = i == e->count ? 1 : k == f->count ? -1 : by_text(&e->at[i], &f->at[k]);

        if (order <= 0)
            say(r, "%6u  ", e->at[i].line);
        else
            say(r, "%6s  ", "");
        say(r, "%-60s", order <= 0 ? e->at[i++].text : "-");
        say(r, "%s%s\n", order == 0 ? "  " : "! ", order >= 0 ? f->at[k++].text : "-");
    }
    return 1;
}

/* All edges since the last check, and all counters. */
static void check(struct run *r)
{
    int differs;

    snprintf(r->why, r->why_size, "%s:%u: not as expected\n", r->script->name, r->line);
    differs = differ(r);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++) {
        uint64_t found = sl_edges_lost(r->edges, (enum sl_edge_loss)i);

        if (r->lost[i] == UINT64_MAX ? found > 0 : found == r->lost[i])
            continue;
        differs = 1;
        say(r, "        lost %s: expected %lld, found %lld\n",
            sl_edge_loss_name((enum sl_edge_loss)i), (long long)r->lost[i], (long long)found);
    }
    if (differs)
        longjmp(r->out, 1);
    r->expected.count = r->found.count = 0;
}

/* ---- lines ---- */

/* s13, c1, d0, t100, e5, e5/77, n101 */
static int read_letter(struct run *r, const char *word, struct scenario_row *row)
{
    const char *at = word + 1;

    switch (*word) {
    case 's':
        row->stream = (uint32_t)sum(r, &at);
        break;
    case 'c':
        row->context = (uint32_t)sum(r, &at);
        break;
    case 'd':
        row->device = (uint32_t)sum(r, &at);
        break;
    case 't':
        row->thread = (uint32_t)sum(r, &at);
        break;
    case 'n':
        row->node = sum(r, &at);
        break;
    case 'e':
        row->event = (uint32_t)sum(r, &at);
        if (*at == '/') {
            at++;
            row->sync_id = sum(r, &at);
        }
        break;
    default:
        return 0;
    }
    at_end(r, at, word);
    return 1;
}

/* "device>pinned", or "managed" */
static int read_memory(const char *word, struct scenario_row *row)
{
    const char *to = strchr(word, '>');
    char from[LINE];
    int src, dst = scenario_memory_find(to ? to + 1 : word);

    snprintf(from, sizeof from, "%.*s", (int)strcspn(word, ">"), word);
    src = scenario_memory_find(from);
    if (src < 0 || dst < 0)
        return 0;
    row->src_memory = (uint32_t)src;
    row->dst_memory = (uint32_t)dst;
    return 1;
}

static void read_ran(struct run *r, struct scenario_row *row)
{
    row->ran = 1;
    span(r, take(r, "when it ran"), &row->ran_from_ns, &row->ran_to_ns);
}

static uint64_t read_id(struct run *r)
{
    const char *name = take(r, "a call");

    return label_find(r, name, strlen(name))->id;
}

static void read_row(struct run *r, struct scenario_row *row)
{
    while (r->next < r->words) {
        const char *word = take(r, "a word");

        if (is(word, "call_only"))
            row->call_only = 1;
        else if (is(word, "record_only"))
            row->record_only = 1;
        else if (is(word, "failed"))
            row->failed = 1;
        else if (is(word, "pending"))
            row->pending = 1;
        else if (is(word, "peer"))
            row->peer = 1;
        else if (is(word, "untimed"))
            row->ran = 1;
        else if (is(word, "ran"))
            read_ran(r, row);
        else if (is(word, "of"))
            row->id = read_id(r);
        else if (strstr(word, ".."))
            span(r, word, &row->from_ns, &row->to_ns);
        else if (!read_memory(word, row) && !read_letter(r, word, row))
            wrong(r, "'%s' is not known here", word);
    }
}

static void feed(struct run *r, const struct sl_event *ev)
{
    if (!r->seed) {
        sl_edges_event(r->edges, ev);
        return;
    }
    if (r->held_count == LINE)
        wrong(r, "too many records to shuffle");
    r->held[r->held_count++] = *ev;
}

/* Feeds what was held, in an order that the seed decides. */
static void feed_shuffled(struct run *r)
{
    srand(r->seed);
    for (; r->held_count; r->held_count--) {
        size_t i = (size_t)rand() % r->held_count;

        sl_edges_event(r->edges, &r->held[i]);
        sl_edges_delivered(r->edges, 0);
        r->held[i] = r->held[r->held_count - 1];
    }
}

/* [NAME:] VERB ... */
static void run_row(struct run *r, const char *name, const struct scenario_verb *verb)
{
    struct scenario_row row = {.thread = 100, .context = 1, .stream = SL_STREAM_NONE};
    struct sl_event ev[2];
    struct label *label;
    int has_call = verb->cbid != 0;
    size_t count;

    read_row(r, &row);
    if (!has_call) {
        row.ran = 1;
        row.ran_from_ns = row.from_ns;
        row.ran_to_ns = row.to_ns;
    }
    if (row.id == 0)
        row.id = has_call ? ++r->last_id : r->last_id;
    if (name)
        label_put(r, name, row.id);
    label = label_of(r, row.id);
    if (label && has_call)
        label->thread = row.thread;
    if (label && row.ran) {
        label->device = row.device;
        label->plain += row.node == 0;
    }
    count = scenario_row_events(verb, &row, r->shapes, ev);
    if (count == 0)
        wrong(r, "the line makes no record");
    for (size_t i = 0; i < count; i++)
        feed(r, &ev[i]);
}

/* stream s13 blocking */
static void run_stream(struct run *r)
{
    struct scenario_row row = {.context = 1, .stream = SL_STREAM_NONE};
    struct sl_event ev;
    const char *flag;

    if (r->words < 3)
        wrong(r, "expected `stream sN FLAG`");
    flag = r->word[--r->words];
    read_row(r, &row);
    if (scenario_stream_event(&row, flag, &ev) != 0)
        wrong(r, "'%s' is not a stream's flag", flag);
    sl_edges_event(r->edges, &ev);
}

/* node 1..4 created; node 3 depends 1; node 1..4 copied 101 (as 101 to 104) */
static void run_node(struct run *r)
{
    const char *word = take(r, "a node"), *at = word;
    uint64_t first = sum(r, &at), last = first, other = 0;
    const char *fact = take(r, "a fact");
    struct sl_event ev;

    if (strncmp(at, "..", 2) == 0) {
        at += 2;
        last = sum(r, &at);
    }
    at_end(r, at, word);
    if (r->next < r->words)
        other = number(r, take(r, "a node"));
    for (uint64_t id = first; id <= last; id++) {
        int copied = is(fact, "copied");

        if (scenario_node_event(fact, copied ? other + id - first : id, copied ? id : other, &ev))
            wrong(r, "'%s' is not a fact about a node", fact);
        sl_edges_event(r->edges, &ev);
    }
}

/* lost no_record 2 memory some */
static void run_lost(struct run *r)
{
    memset(r->lost, 0, sizeof r->lost);
    do {
        enum sl_edge_loss what = reason(r);

        r->lost[what] = take_if(r, "some") ? UINT64_MAX : number(r, take(r, "a number"));
    } while (r->next < r->words);
}

/* never FROM -> TO: nothing says for certain that it released that */
static void run_never(struct run *r)
{
    char from[64], to[64], text[FACT];

    read_end(r, from);
    if (!take_if(r, "->"))
        wrong(r, "'->' is missing");
    read_end(r, to);
    snprintf(text, sizeof text, "%s -> %s ", from, to);
    for (size_t i = 0; i < r->found.count; i++) {
        const char *found = r->found.at[i].text;

        if (strncmp(found, text, strlen(text)) == 0 && !strstr(found, " inferred") &&
            !strstr(found, " overlapping") && !strstr(found, " unreleased"))
            wrong(r, "found %s", found);
    }
}

static void run_undecided(struct run *r)
{
    uint64_t found = sl_edges_undecided(r->edges);
    uint64_t expected = take_if(r, "none") ? UINT64_MAX : read_id(r);

    if (found != expected)
        wrong(r, "the first call that is not decided is number %lld (none: -1), not %lld",
              (long long)found, (long long)expected);
}

/* Lines that are no rows. Returns 0: not one of them. */
static int run_control(struct run *r, const char *word)
{
    if (is(word, "expect"))
        run_expect(r);
    else if (is(word, "lost"))
        run_lost(r);
    else if (is(word, "check"))
        check(r);
    else if (is(word, "never"))
        run_never(r);
    else if (is(word, "ignore"))
        r->found.count = 0;
    else if (is(word, "undecided"))
        run_undecided(r);
    else if (is(word, "stream"))
        run_stream(r);
    else if (is(word, "node"))
        run_node(r);
    else if (is(word, "delivered"))
        sl_edges_delivered(r->edges, one_time(r));
    else if (is(word, "close"))
        sl_edges_close(r->edges, one_time(r));
    else if (is(word, "flush"))
        sl_edges_flush(r->edges);
    else if (is(word, "forget"))
        sl_edges_forget(r->edges, reason(r));
    else if (is(word, "begin"))
        sl_edges_begin(r->edges, one_time(r));
    else
        return 0;
    return 1;
}

static void run_line(struct run *r)
{
    const char *word = take(r, "a word"), *name = NULL;
    const struct scenario_verb *verb;

    if (word[strlen(word) - 1] == ':') {
        name = word;
        word = take(r, "what the call is");
    }
    verb = scenario_verb_find(word);
    if (verb) {
        run_row(r, name, verb);
    } else if (is(word, "later") && name) {
        label_put(r, name, ++r->last_id);
    } else if (name || !run_control(r, word)) {
        wrong(r, "'%s' is not known", word);
    }
    if (r->next < r->words)
        wrong(r, "'%s' is one word too many", r->word[r->next]);
}

static unsigned run_lines(struct run *r, unsigned from, unsigned last, int in_loop);

/* repeat i 0..99 ... end. Returns the line of its end. */
static unsigned run_repeat(struct run *r, unsigned last)
{
    const char *name = take(r, "a variable"), *word = take(r, "FROM..TO"), *at = word;
    unsigned from = r->line + 1, end = 0;
    int variable = *name - 'a';
    uint64_t i = sum(r, &at), to;

    if (name[1] || variable < 0 || variable > 25 || strncmp(at, "..", 2) != 0)
        wrong(r, "expected `repeat LETTER FROM..TO`");
    at += 2;
    to = sum(r, &at);
    at_end(r, at, word);
    r->known |= 1u << variable;
    for (; i <= to; i++) {
        r->variable[variable] = i;
        end = run_lines(r, from, last, 1);
    }
    r->known &= ~(1u << variable);
    if (end == 0)
        wrong(r, "the loop runs never");
    return end;
}

/* Returns the line of the loop's end. */
static unsigned run_lines(struct run *r, unsigned from, unsigned last, int in_loop)
{
    for (unsigned line = from; line <= last; line++) {
        r->line = line;
        split(r, r->script->line[line - 1]);
        if (r->words == 0)
            continue;
        if (is(r->word[0], "end") && in_loop)
            return line;
        if (is(r->word[0], "repeat")) {
            r->next = 1;
            line = run_repeat(r, last);
        } else {
            run_line(r);
        }
    }
    if (in_loop)
        wrong(r, "`end` of the loop is missing");
    return last;
}

/* scenario NAME [online] [foreign] [shuffled] [cap BYTES] [since US] */
static int read_options(struct run *r, struct sl_edges_options *opt)
{
    int shuffled = 0;

    r->next = 2;
    while (r->next < r->words) {
        if (take_if(r, "online"))
            opt->online = 1;
        else if (take_if(r, "foreign"))
            opt->foreign = 1;
        else if (take_if(r, "shuffled"))
            shuffled = 1;
        else if (take_if(r, "cap"))
            opt->cap_bytes = number(r, take(r, "bytes"));
        else if (take_if(r, "since"))
            opt->recording_since_ns = one_time(r);
        else
            wrong(r, "'%s' is not an option", r->word[r->next]);
    }
    return shuffled;
}

/* Returns whether the scenario is shuffled. */
static int run_once(struct run *r, const struct scenario *scenario)
{
    struct sl_edges_options opt = {.sink = sink, .sink_user = r};
    int shuffled;

    r->line = scenario->first;
    split(r, r->script->line[r->line - 1]);
    shuffled = read_options(r, &opt);
    if (!shuffled)
        r->seed = 0;
    opt.shapes = r->shapes;
    if (sl_edges_create(&r->edges, &opt) != 0)
        wrong(r, "no engine");
    run_lines(r, scenario->first + 1, scenario->last, 0);
    feed_shuffled(r);
    sl_edges_flush(r->edges);
    r->line = scenario->first;
    check(r);
    return shuffled;
}

int scenario_run(const struct scenario *scenario, char *why, size_t size)
{
    volatile int failed = 0, more = 1;

    for (volatile unsigned seed = 1; more && !failed && seed <= SEEDS; seed++) {
        struct run *r = calloc(1, sizeof *r);

        if (!r)
            abort();
        r->script = scenario->script;
        r->why = why;
        r->why_size = size;
        r->seed = seed;
        if (sl_shape_create(&r->shapes, 1 << 20) != 0)
            abort();
        if (setjmp(r->out) == 0)
            more = run_once(r, scenario);
        else
            failed = 1;
        sl_edges_destroy(r->edges);
        sl_shape_destroy(r->shapes);
        free(r->label);
        free(r->expected.at);
        free(r->found.at);
        free(r);
    }
    return failed ? -1 : 0;
}

/* ---- reading ---- */

static int add_scenario(struct scenario_script *s, unsigned line, char *why, size_t size)
{
    const char *text = s->line[line - 1];
    struct scenario *new = &s->scenario[s->count];
    size_t length;

    if (strncmp(text, "scenario ", 9) != 0) {
        snprintf(why, size, "%s:%u: a line before the first scenario", s->name, line);
        return s->count ? 0 : -1;
    }
    length = strcspn(text + 9, " ");
    *new = (struct scenario){.script = s, .first = line, .last = line};
    snprintf(new->name, sizeof new->name, "%.*s", (int)length, text + 9);
    s->count++;
    return 0;
}

struct scenario_script *scenario_read(const char *name, const char *text, char *why, size_t size)
{
    struct scenario_script *s = calloc(1, sizeof *s);
    size_t slots = 0;

    if (!s)
        abort();
    s->name = strdup(name);
    s->text = strdup(text);
    for (char *at = s->text, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        s->line = grow(s->line, s->lines, &slots, sizeof *s->line);
        s->line[s->lines++] = at;
    }
    s->scenario = calloc(s->lines, sizeof *s->scenario);
    if (!s->scenario)
        abort();
    for (unsigned line = 1; line <= s->lines; line++) {
        const char *first = s->line[line - 1] + strspn(s->line[line - 1], " ");

        if (!*first || *first == '#')
            continue;
        if (add_scenario(s, line, why, size) != 0) {
            scenario_close(s);
            return NULL;
        }
        s->scenario[s->count - 1].last = line;
    }
    return s;
}

void scenario_close(struct scenario_script *s)
{
    if (!s)
        return;
    free(s->name);
    free(s->text);
    free(s->line);
    free(s->scenario);
    free(s);
}

size_t scenario_count(const struct scenario_script *s)
{
    return s->count;
}

const struct scenario *scenario_at(const struct scenario_script *s, size_t i)
{
    return &s->scenario[i];
}
