/* facts.c - writes edges as text, and prints the differences between expected and found edges. Only
 * the test's thread uses this file. */
#include "sync/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000.0

enum {
    TEXT = 256,
    END = 64 /* greatest length of an end's name: the source or destination of an edge */
};

struct facts_edge {
    char text[TEXT];
    unsigned line;
};

void facts_free(struct facts *f)
{
    free(f->call);
    free(f->expected.at);
    free(f->found.at);
}

void *facts_grow(void *array, size_t count, size_t *slots, size_t size)
{
    if (count < *slots)
        return array;
    *slots = *slots ? 2 * *slots : 64;
    array = realloc(array, *slots * size);
    if (!array)
        abort();
    return array;
}

/* ---- names of calls ---- */

static void make_name(struct words *w, const char *word, size_t length, char name[32])
{
    char copy[WORDS_LINE], *open;
    const char *at;

    snprintf(copy, sizeof copy, "%.*s", (int)length, word);
    open = strchr(copy, '[');
    if (!open) {
        snprintf(name, 32, "%.31s", copy);
        return;
    }
    *open = '\0';
    at = open + 1;
    snprintf(name, 32, "%.10s[%llu]", copy, (unsigned long long)words_sum(w, &at));
    if (!words_equal(at, "]"))
        words_wrong(w, "']' is missing behind '%s'", word);
}

static struct facts_call *find_name(const struct facts *f, const char *name)
{
    for (size_t i = f->calls; i-- > 0;)
        if (words_equal(f->call[i].name, name))
            return &f->call[i];
    return NULL;
}

struct facts_call *facts_call_of(const struct facts *f, uint64_t id)
{
    for (size_t i = f->calls; i-- > 0;)
        if (f->call[i].id == id)
            return &f->call[i];
    return NULL;
}

void facts_name(struct facts *f, struct words *w, const char *name, uint64_t id)
{
    struct facts_call new = {.id = id}, *call;

    make_name(w, name, strlen(name), new.name);
    call = find_name(f, new.name);
    if (call && !w->known)
        words_wrong(w, "two calls are named '%s'", new.name);
    if (!call) {
        f->call = facts_grow(f->call, f->calls, &f->slots, sizeof *f->call);
        call = &f->call[f->calls++];
    }
    *call = new;
}

static const struct facts_call *read_name(const struct facts *f, struct words *w, const char *word,
                                          size_t length)
{
    const struct facts_call *call;
    char name[32];

    make_name(w, word, length, name);
    call = find_name(f, name);
    if (!call)
        words_wrong(w, "no call is named '%s'", name);
    return call;
}

uint64_t facts_take_id(struct facts *f, struct words *w)
{
    const char *word = words_take(w, "a call");

    return read_name(f, w, word, strlen(word))->id;
}

/* ---- edges as text ---- */

static void add(struct facts_list *list, unsigned line, const char *text)
{
    list->at = facts_grow(list->at, list->count, &list->slots, sizeof *list->at);
    list->at[list->count].line = line;
    snprintf(list->at[list->count++].text, TEXT, "%s", text);
}

/* Writes the name of an operation: the name of the call that launched it. If the call has several
 * operations, the node or the stream is added. */
static void name_op(const struct facts *f, const struct sl_edge_op *op, char name[END])
{
    const struct facts_call *call = facts_call_of(f, op->correlation);
    int used = call ? snprintf(name, END, "%s", call->name)
                    : snprintf(name, END, "call_%llu", (unsigned long long)op->correlation);

    if (op->graph_node)
        used +=
            snprintf(name + used, END - (size_t)used, ".%llu", (unsigned long long)op->graph_node);
    else if (call && call->plain > 1)
        used += snprintf(name + used, END - (size_t)used, "@%u", op->stream);
    if (call && call->device != op->device)
        snprintf(name + used, END - (size_t)used, "(device %u)", op->device);
}

/* Writes the name of an edge's destination: an operation that waited to start, or a call that
 * waited to return. */
static void name_destination(const struct facts *f, const struct sl_edge *edge, char name[END])
{
    const struct facts_call *call = facts_call_of(f, edge->dst_correlation);

    if (edge->at_start)
        name_op(f, &edge->dst_op, name);
    else if (call)
        snprintf(name, END, "%s", call->name);
    else
        snprintf(name, END, "call_%llu", (unsigned long long)edge->dst_correlation);
    if (call && call->thread != edge->dst_thread)
        snprintf(name + strlen(name), END - strlen(name), "(thread %u)", edge->dst_thread);
}

/* Edges of these kinds end at an operation's start. Other edges end at a call's return. */
static int ends_at_start(enum sl_edge_kind kind)
{
    return kind == SL_EDGE_STREAM_WAIT || kind == SL_EDGE_LEGACY_DEFAULT || kind == SL_EDGE_GRAPH;
}

static void write_edge(char text[TEXT], const char *from, const char *to, enum sl_edge_kind kind,
                       enum sl_edge_basis basis, int released, uint64_t wait_ns, uint64_t wake_ns)
{
    snprintf(text, TEXT, "%s -> %s %s%s%s%s wait %.12g wake %.12g", from, to,
             sl_edge_kind_name(kind), basis == SL_BASIS_EXACT ? "" : " ",
             basis == SL_BASIS_EXACT ? "" : sl_edge_basis_name(basis),
             released ? "" : " unreleased", (double)wait_ns / US, (double)wake_ns / US);
}

/* Stores edges that the engine has found. All edges of an array have the same destination: the
 * return of one call or the start of one operation. */
void facts_found(struct facts *f, const struct sl_edge *edges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum sl_edge_kind kind = (enum sl_edge_kind)edges[i].kind;
        char from[END], to[END], text[TEXT];

        if (edges[i].dst_correlation != edges[0].dst_correlation)
            add(&f->found, 0, "edges of two calls at once");
        if (edges[i].at_start != ends_at_start(kind))
            add(&f->found, 0, "the next one is at the wrong end of its call");
        name_op(f, &edges[i].source, from);
        name_destination(f, &edges[i], to);
        write_edge(text, from, to, kind, (enum sl_edge_basis)edges[i].basis, edges[i].released,
                   edges[i].wait_ns, edges[i].wake_ns);
        add(&f->found, 0, text);
    }
}

/* Reads the name of an edge's source or destination, such as "kernel", "graph.101" or
 * "graph@90". */
static void take_end(const struct facts *f, struct words *w, char name[END])
{
    const char *word = words_take(w, "a call"), *at = word + strcspn(word, ".@");
    const struct facts_call *call = read_name(f, w, word, (size_t)(at - word));
    char mark = *at;

    snprintf(name, END, "%s", call->name);
    if (!mark)
        return;
    at++;
    snprintf(name + strlen(name), END - strlen(name), "%c%llu", mark,
             (unsigned long long)words_sum(w, &at));
    words_end(w, at, word);
}

static void take_ends(const struct facts *f, struct words *w, char from[END], char to[END])
{
    take_end(f, w, from);
    if (!words_take_if(w, "->"))
        words_wrong(w, "'->' is missing");
    take_end(f, w, to);
}

static enum sl_edge_kind take_kind(struct words *w)
{
    const char *word = words_take(w, "the edge's kind");

    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        if (words_equal(word, sl_edge_kind_name((enum sl_edge_kind)i)))
            return (enum sl_edge_kind)i;
    words_wrong(w, "'%s' is not a kind of edge", word);
}

static enum sl_edge_basis take_basis(struct words *w)
{
    if (words_take_if(w, "inferred"))
        return SL_BASIS_INFERRED;
    return words_take_if(w, "overlapping") ? SL_BASIS_OVERLAPPING : SL_BASIS_EXACT;
}

static uint64_t take_ns(struct words *w, const char *what)
{
    if (!words_take_if(w, what))
        words_wrong(w, "'%s' and a time are missing", what);
    return words_take_time(w);
}

void facts_expect(struct facts *f, struct words *w)
{
    char from[END], to[END], text[TEXT];

    take_ends(f, w, from, to);
    enum sl_edge_kind kind = take_kind(w);
    enum sl_edge_basis basis = take_basis(w);
    int released = !words_take_if(w, "unreleased");
    uint64_t wait_ns = take_ns(w, "wait"), wake_ns = take_ns(w, "wake");

    write_edge(text, from, to, kind, basis, released, wait_ns, wake_ns);
    add(&f->expected, w->line, text);
}

void facts_never(const struct facts *f, struct words *w)
{
    char from[END], to[END], text[TEXT];

    take_ends(f, w, from, to);
    snprintf(text, sizeof text, "%s -> %s ", from, to);
    for (size_t i = 0; i < f->found.count; i++) {
        const char *found = f->found.at[i].text;

        if (strncmp(found, text, strlen(text)) == 0 && !strstr(found, " inferred") &&
            !strstr(found, " overlapping") && !strstr(found, " unreleased"))
            words_wrong(w, "found %s", found);
    }
}

/* ---- comparison of expected and found edges ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct facts_edge *)a)->text, ((const struct facts_edge *)b)->text);
}

static void sort(struct facts_list *list)
{
    if (list->count)
        qsort(list->at, list->count, sizeof *list->at, by_text);
}

static int are_equal(const struct facts_list *a, const struct facts_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (by_text(&a->at[i], &b->at[i]) != 0)
            return 0;
    return a->count == b->count;
}

static void say_both(const struct facts_list *e, const struct facts_list *f, struct words *w)
{
    size_t i = 0, k = 0;

    words_say(w, "  line  %-60s  found\n", "expected");
    while (i < e->count || k < f->count) {
        int order = i == e->count ? 1 : k == f->count ? -1 : by_text(&e->at[i], &f->at[k]);

        if (order <= 0)
            words_say(w, "%6u  %-60s", e->at[i].line, e->at[i].text);
        else
            words_say(w, "%6s  %-60s", "", "-");
        words_say(w, "%s%s\n", order == 0 ? "  " : "! ", order >= 0 ? f->at[k].text : "-");
        i += order <= 0;
        k += order >= 0;
    }
}

int facts_differ(struct facts *f, struct words *w)
{
    sort(&f->expected);
    sort(&f->found);
    if (!are_equal(&f->expected, &f->found)) {
        say_both(&f->expected, &f->found, w);
        return 1;
    }
    f->expected.count = f->found.count = 0;
    return 0;
}
