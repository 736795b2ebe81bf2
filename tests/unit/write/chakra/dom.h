/*
 * dom.h - reads an .et file for tests: frames, nodes and attributes. Also simulates a replay of the
 * file. This reader was written from Chakra's schema, and shares no code with the writer. A
 * malformed file fails the test.
 */
#ifndef SL_CHAKRA_DOM_H
#define SL_CHAKRA_DOM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DOM_ATTRS 14

struct dom_attr {
    char name[24];
    unsigned field; /* field number of the value: 9 int64, 27 bool, 29 string */
    int64_t number;
    char text[40];
};

struct dom_node {
    uint64_t id, start_us, duration_us;
    unsigned type;
    char *name;
    uint64_t *dep;
    size_t deps;
    struct dom_attr attr[DOM_ATTRS];
    size_t attrs;
    uint64_t replay_start, replay_end; /* ns */
};

struct dom_file {
    struct dom_node meta; /* GlobalMetadata: its attributes; `name` is the version */
    struct dom_node *node;
    size_t nodes;
    size_t raw_bytes, name_bytes;
};

struct dom_span {
    const uint8_t *at, *end;
};

static inline uint64_t dom_varint(struct dom_span *s)
{
    uint64_t v = 0;
    unsigned shift = 0;

    for (;;) {
        assert_true(s->at < s->end && shift < 64);
        v |= (uint64_t)(*s->at & 0x7f) << shift;
        shift += 7;
        if (!(*s->at++ & 0x80))
            return v;
    }
}

static inline struct dom_span dom_bytes(struct dom_span *s)
{
    uint64_t n = dom_varint(s);
    struct dom_span out = {s->at, s->at + n};

    assert_true(n <= (uint64_t)(s->end - s->at));
    s->at += n;
    return out;
}

/* Returns a copy that the caller frees. strndup() is not used, because with AddressSanitizer's
 * strict checks it requires a NUL-terminated string. */
static inline char *dom_text(struct dom_span s)
{
    size_t n = (size_t)(s.end - s.at);
    char *text = malloc(n + 1);

    memcpy(text, s.at, n);
    text[n] = '\0';
    return text;
}

static inline void dom_read_attr(struct dom_span s, struct dom_attr *a)
{
    memset(a, 0, sizeof(*a));
    while (s.at < s.end) {
        uint64_t tag = dom_varint(&s);

        if ((tag & 7) == 0) {
            a->field = (unsigned)(tag >> 3);
            a->number = (int64_t)dom_varint(&s);
        } else {
            struct dom_span text = dom_bytes(&s);
            char *to = tag >> 3 == 1 ? a->name : a->text;
            size_t room = tag >> 3 == 1 ? sizeof(a->name) : sizeof(a->text);

            assert_int_equal(tag & 7, 2);
            assert_true((size_t)(text.end - text.at) < room);
            memcpy(to, text.at, (size_t)(text.end - text.at));
            if (tag >> 3 != 1)
                a->field = (unsigned)(tag >> 3);
        }
    }
}

static inline void dom_read_message(struct dom_span s, int is_node, struct dom_node *n)
{
    memset(n, 0, sizeof(*n));
    while (s.at < s.end) {
        uint64_t tag = dom_varint(&s);
        unsigned field = (unsigned)(tag >> 3);
        struct dom_span in;

        if ((tag & 7) == 0) {
            uint64_t v = dom_varint(&s);

            assert_true(is_node);
            switch (field) {
            case 1:
                n->id = v;
                break;
            case 3:
                n->type = (unsigned)v;
                break;
            case 6:
                n->start_us = v;
                break;
            case 7:
                n->duration_us = v;
                break;
            default:
                fail_msg("varint in field %u", field);
            }
            continue;
        }
        assert_int_equal(tag & 7, 2);
        in = dom_bytes(&s);
        if (field == (is_node ? 2u : 1u)) {
            n->name = dom_text(in);
        } else if (field == (is_node ? 10u : 2u)) {
            assert_true(n->attrs < DOM_ATTRS);
            dom_read_attr(in, &n->attr[n->attrs++]);
        } else {
            assert_true(is_node);
            assert_int_equal(field, 5);
            n->dep = malloc((size_t)(in.end - in.at) * sizeof(*n->dep));
            while (in.at < in.end)
                n->dep[n->deps++] = dom_varint(&in);
        }
    }
}

static inline const struct dom_attr *dom_attr(const struct dom_node *n, const char *name)
{
    for (size_t i = 0; i < n->attrs; i++)
        if (strcmp(n->attr[i].name, name) == 0)
            return &n->attr[i];
    return NULL;
}

/* Returns the value of an integer attribute. Fails if it is missing. */
static inline int64_t dom_number(const struct dom_node *n, const char *name)
{
    const struct dom_attr *a = dom_attr(n, name);

    if (!a)
        fail_msg("node %llu has no %s", (unsigned long long)n->id, name);
    return a->number;
}

static inline void dom_read(const void *data, size_t size, struct dom_file *out)
{
    struct dom_span s = {data, (const uint8_t *)data + size};

    memset(out, 0, sizeof(*out));
    out->raw_bytes = size;
    dom_read_message(dom_bytes(&s), 0, &out->meta);
    while (s.at < s.end) {
        if ((out->nodes & (out->nodes - 1)) == 0)
            out->node = realloc(out->node, (out->nodes ? 2 * out->nodes : 1) * sizeof(*out->node));
        dom_read_message(dom_bytes(&s), 1, &out->node[out->nodes]);
        out->name_bytes += strlen(out->node[out->nodes].name);
        out->nodes++;
    }
}

static inline void dom_free(struct dom_file *d)
{
    for (size_t i = 0; i < d->nodes; i++) {
        free(d->node[i].name);
        free(d->node[i].dep);
    }
    free(d->node);
    free(d->meta.name);
}

static inline struct dom_node *dom_find(struct dom_file *d, const char *name)
{
    for (size_t i = 0; i < d->nodes; i++)
        if (strcmp(d->node[i].name, name) == 0)
            return &d->node[i];
    fail_msg("no node %s", name);
    return NULL;
}

static inline size_t dom_count(const struct dom_file *d, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < d->nodes; i++)
        n += strcmp(d->node[i].name, name) == 0;
    return n;
}

static inline int dom_depends(const struct dom_node *n, const struct dom_node *on)
{
    for (size_t i = 0; i < n->deps; i++)
        if (n->dep[i] == on->id)
            return 1;
    return 0;
}

/* Checks the rules that every file must follow: ids are consecutive, parents exist and precede
 * their children, each parent is listed once, and the fields that readers need exist. */
static inline void dom_check(const struct dom_file *d)
{
    assert_string_equal(d->meta.name, "0.0.4");
    for (size_t i = 0; i < d->nodes; i++) {
        const struct dom_node *n = &d->node[i];

        assert_int_equal(n->id, i + 1);
        assert_int_not_equal(n->type, 0);
        assert_int_equal(dom_attr(n, "is_cpu_op")->field, 27);
        assert_non_null(dom_attr(n, dom_number(n, "is_cpu_op") ? "tid" : "stream"));
        assert_true(dom_number(n, "start_ns") >= 0 && dom_number(n, "duration_ns") >= 0);
        for (size_t j = 0; j < n->deps; j++) {
            assert_in_range(n->dep[j], 1, n->id - 1);
            assert_true(j == 0 || n->dep[j - 1] < n->dep[j]);
        }
    }
}

/* Replays the file by computing the longest path. A node starts delay_ns after its last parent has
 * ended. */
static inline void dom_replay(struct dom_file *d)
{
    for (size_t i = 0; i < d->nodes; i++) {
        struct dom_node *n = &d->node[i];
        uint64_t start = n->deps ? 0 : (uint64_t)dom_number(n, "start_ns");

        for (size_t j = 0; j < n->deps; j++)
            if (d->node[n->dep[j] - 1].replay_end > start)
                start = d->node[n->dep[j] - 1].replay_end;
        if (dom_attr(n, "delay_ns"))
            start += (uint64_t)dom_number(n, "delay_ns");
        n->replay_start = start;
        n->replay_end = start + (uint64_t)dom_number(n, "duration_ns");
    }
}

#endif
