/*
 * scenario.c - reads scenarios and runs them line by line. Only the test's thread uses this file.
 *
 * A line is parsed each time it is run, because a loop changes the line's numbers. If a line has a
 * mistake, longjmp() returns to scenario_run() from any depth of calls.
 */
#include "sync/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/facts.h"
#include "sync/scenario_rows.h"
#include "sync/words.h"

enum {
    SEEDS = 50, /* number of random orders in which a `shuffled` scenario is delivered */
    HELD = 100  /* greatest number of records of a `shuffled` scenario */
};

struct scenario_script {
    char *name, *text;
    char **line; /* line[0] is line 1 */
    size_t lines;
    struct scenario *scenario;
    size_t count;
};

struct run {
    const struct scenario_script *script;
    struct words words;
    struct facts facts;
    uint64_t lost[SL_EDGE_LOST_COUNT]; /* expected counts; UINT64_MAX (printed as -1): at least 1 */
    struct sl_edges *edges;
    struct sl_shape_table *shapes;
    uint64_t last_id;
    unsigned seed; /* seed of the order of delivery; 0 if not shuffled */
    struct sl_event held[HELD];
    size_t held_count;
};

/* Compares the edges found since the last check, and all counters, with the expected ones. */
static void check(struct run *r)
{
    struct words *w = &r->words;
    int differs;

    snprintf(w->why, w->why_size, "%s:%u: not as expected\n", w->file, w->line);
    differs = facts_differ(&r->facts, w);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++) {
        uint64_t found = sl_edges_lost(r->edges, (enum sl_edge_loss)i);

        if (r->lost[i] == UINT64_MAX ? found > 0 : found == r->lost[i])
            continue;
        differs = 1;
        words_say(w, "        lost %s: expected %lld, found %lld\n",
                  sl_edge_loss_name((enum sl_edge_loss)i), (long long)r->lost[i], (long long)found);
    }
    if (differs)
        longjmp(w->out, 1);
}

/* ---- the lines of a scenario ---- */

/* Reads an attribute of a row: s13, c1, d0, t100, k3, e5, e5/77 or n101. */
static int read_letter(struct words *w, const char *word, struct scenario_row *row)
{
    const char *at = word + 1;

    switch (*word) {
    case 's':
        row->stream = (uint32_t)words_sum(w, &at);
        break;
    case 'c':
        row->context = (uint32_t)words_sum(w, &at);
        break;
    case 'd':
        row->device = (uint32_t)words_sum(w, &at);
        break;
    case 't':
        row->thread = (uint32_t)words_sum(w, &at);
        break;
    case 'k':
        row->name = (uint32_t)words_sum(w, &at);
        break;
    case 'n':
        row->node = words_sum(w, &at);
        break;
    case 'e':
        row->event = (uint32_t)words_sum(w, &at);
        if (*at == '/') {
            at++;
            row->sync_id = words_sum(w, &at);
        }
        break;
    default:
        return 0;
    }
    words_end(w, at, word);
    return 1;
}

/* Reads the kinds of memory: "device>pinned" of a copy, or "managed" of a memset. */
static int read_memory(const char *word, struct scenario_row *row)
{
    const char *to = strchr(word, '>');
    char from[WORDS_LINE];
    int src, dst = scenario_memory_find(to ? to + 1 : word);

    snprintf(from, sizeof from, "%.*s", (int)strcspn(word, ">"), word);
    src = scenario_memory_find(from);
    if (src < 0 || dst < 0)
        return 0;
    row->src_memory = (uint32_t)src;
    row->dst_memory = (uint32_t)dst;
    return 1;
}

static void read_ran(struct words *w, struct scenario_row *row)
{
    row->ran = 1;
    words_span(w, words_take(w, "when it ran"), &row->ran_from_ns, &row->ran_to_ns);
}

static void read_row(struct run *r, struct scenario_row *row)
{
    struct words *w = &r->words;

    while (w->next < w->count) {
        const char *word = words_take(w, "a word");

        if (words_equal(word, "call_only"))
            row->call_only = 1;
        else if (words_equal(word, "record_only"))
            row->record_only = 1;
        else if (words_equal(word, "failed"))
            row->failed = 1;
        else if (words_equal(word, "pending"))
            row->pending = 1;
        else if (words_equal(word, "peer"))
            row->peer = 1;
        else if (words_equal(word, "untimed"))
            row->ran = 1;
        else if (words_equal(word, "ran"))
            read_ran(w, row);
        else if (words_equal(word, "of"))
            row->id = facts_take_id(&r->facts, w);
        else if (strstr(word, ".."))
            words_span(w, word, &row->from_ns, &row->to_ns);
        else if (!read_memory(word, row) && !read_letter(w, word, row))
            words_wrong(w, "'%s' is not known here", word);
    }
}

static void feed(struct run *r, const struct sl_event *ev)
{
    if (!r->seed) {
        sl_edges_event(r->edges, ev);
        return;
    }
    if (r->held_count == HELD)
        words_wrong(&r->words, "more than %d records to shuffle", HELD);
    r->held[r->held_count++] = *ev;
}

/* Gives the stored records to the engine, in an order that depends on the seed. */
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

/* Runs a line [NAME:] VERB ..., which describes a call. */
static void run_row(struct run *r, const char *name, const struct scenario_verb *verb)
{
    struct scenario_row row = {.thread = 100, .context = 1, .stream = SL_STREAM_NONE};
    struct sl_event ev[2];
    struct facts_call *call;
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
        facts_name(&r->facts, &r->words, name, row.id);
    call = facts_call_of(&r->facts, row.id);
    if (call && has_call)
        call->thread = row.thread;
    if (call && row.ran && verb->kind != SL_EV_OVERHEAD) {
        call->device = row.device;
        call->plain += row.node == 0;
    }
    count = scenario_row_events(verb, &row, r->shapes, ev);
    if (count == 0)
        words_wrong(&r->words, "the line makes no record");
    for (size_t i = 0; i < count; i++)
        feed(r, &ev[i]);
}

/* Runs a line such as: stream s13 blocking */
static void run_stream(struct run *r)
{
    struct scenario_row row = {.context = 1, .stream = SL_STREAM_NONE};
    struct words *w = &r->words;
    struct sl_event ev;
    const char *flag;

    if (w->count < 3)
        words_wrong(w, "expected `stream sN FLAG`");
    flag = w->word[--w->count];
    read_row(r, &row);
    if (scenario_stream_event(&row, flag, &ev) != 0)
        words_wrong(w, "'%s' is not a stream's flag", flag);
    sl_edges_event(r->edges, &ev);
}

/* Runs a line such as: node 1..4 created; node 3 depends 1; node 1..4 copied 101. The copies of the
 * last example are nodes 101 to 104. */
static void run_node(struct run *r)
{
    struct words *w = &r->words;
    const char *word = words_take(w, "a node"), *fact = words_take(w, "a fact");
    uint64_t first, last, other = 0;
    struct sl_event ev;

    words_range(w, word, &first, &last);
    if (w->next < w->count)
        other = words_take_number(w, "a node");
    for (uint64_t id = first; id <= last; id++) {
        int copied = words_equal(fact, "copied");

        if (scenario_node_event(fact, copied ? other + id - first : id, copied ? id : other, &ev))
            words_wrong(w, "'%s' is not a fact about a node", fact);
        sl_edges_event(r->edges, &ev);
    }
}

static enum sl_edge_loss take_reason(struct words *w)
{
    const char *word = words_take(w, "a reason");

    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        if (words_equal(word, sl_edge_loss_name((enum sl_edge_loss)i)))
            return (enum sl_edge_loss)i;
    words_wrong(w, "'%s' is not a reason why an edge is left out", word);
}

/* Runs a line such as: lost no_record 2 memory some */
static void run_lost(struct run *r)
{
    struct words *w = &r->words;

    memset(r->lost, 0, sizeof r->lost);
    do {
        enum sl_edge_loss reason = take_reason(w);

        r->lost[reason] = words_take_if(w, "some") ? UINT64_MAX : words_take_number(w, "a number");
    } while (w->next < w->count);
}

static void run_undecided(struct run *r)
{
    uint64_t found = sl_edges_undecided(r->edges), expected = UINT64_MAX;

    if (!words_take_if(&r->words, "none"))
        expected = facts_take_id(&r->facts, &r->words);
    if (found != expected)
        words_wrong(&r->words,
                    "the first call that is not decided is number %lld (none: -1), not %lld",
                    (long long)found, (long long)expected);
}

/* Runs a line that is not a row. Returns 0 if the line begins with another word. */
static int run_control(struct run *r, const char *word)
{
    struct words *w = &r->words;

    if (words_equal(word, "expect"))
        facts_expect(&r->facts, w);
    else if (words_equal(word, "never"))
        facts_never(&r->facts, w);
    else if (words_equal(word, "ignore"))
        r->facts.found.count = 0;
    else if (words_equal(word, "lost"))
        run_lost(r);
    else if (words_equal(word, "check"))
        check(r);
    else if (words_equal(word, "undecided"))
        run_undecided(r);
    else if (words_equal(word, "stream"))
        run_stream(r);
    else if (words_equal(word, "node"))
        run_node(r);
    else if (words_equal(word, "delivered"))
        sl_edges_delivered(r->edges, words_take_time(w));
    else if (words_equal(word, "close"))
        sl_edges_close(r->edges, words_take_time(w));
    else if (words_equal(word, "flush"))
        sl_edges_flush(r->edges);
    else if (words_equal(word, "forget"))
        sl_edges_forget(r->edges, take_reason(w));
    else if (words_equal(word, "begin"))
        sl_edges_begin(r->edges, words_take_time(w));
    else
        return 0;
    return 1;
}

static void run_line(struct run *r)
{
    struct words *w = &r->words;
    char *name = NULL;
    const char *word = words_take(w, "a word");
    const struct scenario_verb *verb;

    if (word[strlen(word) - 1] == ':') {
        name = w->word[0];
        name[strlen(name) - 1] = '\0';
        word = words_take(w, "what the call is");
    }
    verb = scenario_verb_find(word);
    if (verb)
        run_row(r, name, verb);
    else if (words_equal(word, "later") && name)
        facts_name(&r->facts, w, name, ++r->last_id);
    else if (name || !run_control(r, word))
        words_wrong(w, "'%s' is not known", word);
    if (w->next < w->count)
        words_wrong(w, "'%s' is one word too many", w->word[w->next]);
}

static unsigned run_lines(struct run *r, unsigned from, unsigned last, int in_loop);

/* Runs a loop: repeat i 0..99 ... end. Returns the number of the line `end`. */
static unsigned run_repeat(struct run *r, unsigned last)
{
    struct words *w = &r->words;
    const char *name = words_take(w, "a variable");
    unsigned from = w->line + 1, end = 0;
    int variable = *name - 'a';
    uint64_t i, to;

    if (name[1] || variable < 0 || variable > 25)
        words_wrong(w, "the variable of a loop is a letter, not '%s'", name);
    words_range(w, words_take(w, "FROM..TO"), &i, &to);
    w->known |= 1u << variable;
    for (; i <= to; i++) {
        w->variable[variable] = i;
        end = run_lines(r, from, last, 1);
    }
    w->known &= ~(1u << variable);
    if (end == 0)
        words_wrong(w, "the loop runs never");
    return end;
}

/* Runs the lines `from` to `last`. In a loop, stops at the line `end` and returns its number. */
static unsigned run_lines(struct run *r, unsigned from, unsigned last, int in_loop)
{
    struct words *w = &r->words;

    for (unsigned line = from; line <= last; line++) {
        w->line = line;
        words_split(w, r->script->line[line - 1]);
        if (w->count == 0)
            continue;
        if (in_loop && words_take_if(w, "end"))
            return line;
        if (words_take_if(w, "repeat"))
            line = run_repeat(r, last);
        else
            run_line(r);
    }
    if (in_loop)
        words_wrong(w, "`end` of the loop is missing");
    return last;
}

/* Reads the first line: scenario NAME [online] [foreign] [shuffled] [cap BYTES] [since US] */
static int read_options(struct words *w, struct sl_edges_options *opt)
{
    int shuffled = 0;

    w->next = 2;
    while (w->next < w->count) {
        if (words_take_if(w, "online"))
            opt->online = 1;
        else if (words_take_if(w, "foreign"))
            opt->foreign = 1;
        else if (words_take_if(w, "shuffled"))
            shuffled = 1;
        else if (words_take_if(w, "cap"))
            opt->cap_bytes = words_take_number(w, "bytes");
        else if (words_take_if(w, "since"))
            opt->recording_since_ns = words_take_time(w);
        else
            words_wrong(w, "'%s' is not an option", w->word[w->next]);
    }
    return shuffled;
}

static void sink(void *user, const struct sl_edge *edges, size_t count)
{
    facts_found(user, edges, count);
}

/* Returns whether the scenario is shuffled. */
static int run_once(struct run *r, const struct scenario *scenario)
{
    struct sl_edges_options opt = {.sink = sink, .sink_user = &r->facts, .shapes = r->shapes};
    int shuffled;

    r->words.line = scenario->first;
    words_split(&r->words, r->script->line[scenario->first - 1]);
    shuffled = read_options(&r->words, &opt);
    if (!shuffled)
        r->seed = 0;
    if (sl_edges_create(&r->edges, &opt) != 0)
        words_wrong(&r->words, "no engine");
    run_lines(r, scenario->first + 1, scenario->last, 0);
    feed_shuffled(r);
    sl_edges_flush(r->edges);
    r->words.line = scenario->first;
    check(r);
    return shuffled;
}

int scenario_run(const struct scenario *scenario, char *why, size_t size)
{
    volatile int failed = 0, more = 1;

    for (volatile unsigned seed = 1; more && !failed && seed <= SEEDS; seed++) {
        struct run *r = calloc(1, sizeof *r);

        if (!r || sl_shape_create(&r->shapes, 1 << 20) != 0)
            abort();
        r->script = scenario->script;
        r->seed = seed;
        r->words.file = r->script->name;
        r->words.why = why;
        r->words.why_size = size;
        if (setjmp(r->words.out) == 0)
            more = run_once(r, scenario);
        else
            failed = 1;
        sl_edges_destroy(r->edges);
        sl_shape_destroy(r->shapes);
        facts_free(&r->facts);
        free(r);
    }
    return failed ? -1 : 0;
}

/* ---- splitting a text into scenarios ---- */

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
        s->line = facts_grow(s->line, s->lines, &slots, sizeof *s->line);
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
