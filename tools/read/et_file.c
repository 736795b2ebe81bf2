/*
 * et_file.c - reads a Chakra execution trace, message by message.
 *
 * Threads: one owner. Memory: see et_file.h. Files are untrusted: et_wire.h checks every length
 * against the bytes left.
 */
#include "read/et_file.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "read/et_text.h"
#include "read/et_wire.h"
#include "write/chakra/wire.h"

_Static_assert(sizeof(((struct sl_et_state *)0)->refused) >= SL_ET_TEXT_SHOWN + 16,
               "\"attribute \"");

#define LENGTH_MAX 10

static struct sl_text bytes_of(struct sl_et_span s)
{
    return (struct sl_text){(const char *)s.at, (size_t)(s.end - s.at)};
}

/* ---- parsing of nodes ---- */

#define MEMBER(name) offsetof(struct sl_et_node, name)

static const struct {
    const char *name;
    unsigned value; /* number of the protobuf field that Chakra's feeders read */
    uint32_t has;   /* flag of enum sl_et_has; if 0, only the number of the field is checked */
    size_t member;  /* if 0, the value of the field is not kept */
} known[] = {
    {"is_cpu_op", SL_CHAKRA_BOOL, SL_ET_HAS_IS_CPU, MEMBER(is_cpu)},
    {"comm_type", SL_CHAKRA_INT64, SL_ET_HAS_COMM_TYPE, MEMBER(comm_type)},
    {"comm_size", SL_CHAKRA_INT64, SL_ET_HAS_COMM_SIZE, MEMBER(comm_size)},
    {"comm_src", SL_CHAKRA_INT32, SL_ET_HAS_COMM_SRC, MEMBER(comm_src)},
    {"comm_dst", SL_CHAKRA_INT32, SL_ET_HAS_COMM_DST, MEMBER(comm_dst)},
    {"comm_tag", SL_CHAKRA_INT32, SL_ET_HAS_COMM_TAG, 0},
    {"duration_ns", SL_CHAKRA_INT64, SL_ET_HAS_DURATION_NS, MEMBER(duration_ns)},
    {"no_launch", SL_CHAKRA_BOOL, SL_ET_HAS_NO_LAUNCH, 0},
    {"num_ops", SL_CHAKRA_INT64, 0, 0},
    {"tensor_size", SL_CHAKRA_UINT64, 0, 0},
    {"comm_priority", SL_CHAKRA_INT32, 0, 0},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* Stores which text of the node is not UTF-8, unless an earlier text was stored. */
static void refuse(struct sl_et_node *n, const char *what, struct sl_text attribute)
{
    if (n->refused)
        return;
    n->refused = what;
    n->refused_attribute = attribute;
}

static int take_attribute(struct sl_et_span s, struct sl_et_node *n)
{
    struct sl_et_field value;
    struct sl_et_span at;
    struct sl_text name;
    int refused = 0;
    size_t i;

    if (!sl_et_text_of_attribute(s, &at, &value, &refused))
        return 0;
    name = bytes_of(at);
    if (refused)
        refuse(n, "attribute", name);
    for (i = 0; i < KNOWN && !sl_text_is(name, known[i].name); i++)
        ;
    if (sl_text_is(name, "pg_name") && value.number == SL_CHAKRA_STRING && value.wire == 2) {
        n->pg_name = bytes_of(value.bytes);
    } else if (sl_text_is(name, "pg_name")) {
        n->misplaced = "pg_name";
    } else if (i < KNOWN && (value.number != known[i].value || value.wire != 0)) {
        n->misplaced = known[i].name;
    } else if (i < KNOWN) {
        if (n->has & known[i].has)
            n->twice = known[i].name;
        n->has |= known[i].has;
        if (known[i].member)
            *(uint64_t *)((char *)n + known[i].member) = value.value;
    }
    return 1;
}

static int add_dep(struct sl_et *et, struct sl_et_node *n, uint64_t id, int is_ctrl)
{
    if (n->deps == et->dep_room) {
        size_t room = et->dep_room ? 2 * et->dep_room : 256;
        uint64_t *more = realloc(et->dep, room * sizeof(*more));

        if (!more)
            return 0;
        et->dep = more;
        et->dep_room = room;
    }
    et->dep[n->deps++] = id;
    if (is_ctrl) { /* swaps it with the first data dependency */
        et->dep[n->deps - 1] = et->dep[n->ctrl_deps];
        et->dep[n->ctrl_deps++] = id;
    }
    return 1;
}

static int take_deps(struct sl_et *et, struct sl_et_node *n, struct sl_et_field *f)
{
    int is_ctrl = f->number == 4;
    uint64_t id;

    if (f->wire == 0)
        return add_dep(et, n, f->value, is_ctrl);
    if (f->wire != 2)
        return 0;
    while (f->bytes.at < f->bytes.end)
        if (!sl_et_take_varint(&f->bytes, &id) || !add_dep(et, n, id, is_ctrl))
            return 0;
    return 1;
}

static int take_inputs(struct sl_et_node *n, const char *what, struct sl_et_span s)
{
    int refused = 0;

    if (!sl_et_text_of_strings(s, 3, &refused))
        return 0;
    if (refused)
        refuse(n, what, (struct sl_text){"", 0});
    return 1;
}

static int take_node_field(struct sl_et *et, struct sl_et_node *n, struct sl_et_field *f)
{
    switch (f->number << 3 | f->wire) {
    case 1 << 3:
        n->id = f->value;
        return 1;
    case 2 << 3 | 2:
        n->name = bytes_of(f->bytes);
        return 1;
    case 3 << 3:
        n->type = f->value < SL_ET_TYPES ? (uint32_t)f->value : SL_ET_INVALID;
        return 1;
    case 6 << 3:
        n->start_us = f->value;
        return 1;
    case 7 << 3:
        n->duration_us = f->value;
        return 1;
    case 8 << 3 | 2:
        return take_inputs(n, "inputs", f->bytes);
    case 9 << 3 | 2:
        return take_inputs(n, "outputs", f->bytes);
    case 10 << 3 | 2:
        return take_attribute(f->bytes, n);
    default:
        return f->number == 4 || f->number == 5 ? take_deps(et, n, f) : 1;
    }
}

static int take_node(struct sl_et *et, struct sl_et_span s, struct sl_et_node *n)
{
    struct sl_et_field f;

    while (s.at < s.end)
        if (!sl_et_take_field(&s, &f) || !take_node_field(et, n, &f))
            return 0;
    n->dep = et->dep;
    return 1;
}

/* ---- reading of messages ---- */

/* Buffers at least `need` bytes at the front, unless the text ends earlier. */
static void fill(struct sl_et *et, size_t need)
{
    size_t n;

    if (et->have - et->used >= need)
        return;
    memmove(et->text, et->text + et->used, et->have - et->used);
    et->have -= et->used;
    et->used = 0;
    while (et->have < need) {
        n = sl_input_read(et->input, et->text + et->have,
                          SL_ET_MESSAGE_MAX + LENGTH_MAX - et->have);
        if (n == 0)
            return;
        et->have += n;
    }
}

static int end_with(struct sl_et *et, enum sl_et_end end)
{
    et->state.end = end;
    return 0;
}

/* Reads the next message. Returns 1, or 0 with the reason in et->state.end. */
static int take_message(struct sl_et *et, struct sl_et_span *out)
{
    struct sl_et_span s;
    uint64_t size;
    size_t before;

    if (et->state.end != SL_ET_OPEN)
        return 0;
    fill(et, LENGTH_MAX);
    s.at = (const unsigned char *)et->text + et->used;
    s.end = (const unsigned char *)et->text + et->have;
    before = (size_t)(s.end - s.at);
    if (before == 0)
        return end_with(et, SL_ET_WHOLE);
    if (!sl_et_take_varint(&s, &size))
        return end_with(et, before < LENGTH_MAX ? SL_ET_CUT : SL_ET_DAMAGED);
    if (size > SL_ET_MESSAGE_MAX)
        return end_with(et, SL_ET_DAMAGED);
    before -= (size_t)(s.end - s.at);
    fill(et, before + (size_t)size);
    if (et->have - et->used < before + size)
        return end_with(et, SL_ET_CUT);
    out->at = (const unsigned char *)et->text + et->used + before;
    out->end = out->at + size;
    et->used += before + (size_t)size;
    et->state.position += before + size;
    return 1;
}

int sl_et_next(struct sl_et *et, struct sl_et_node *out)
{
    uint64_t at = et->state.position;
    struct sl_et_span message;

    if (!take_message(et, &message))
        return 0;
    memset(out, 0, sizeof(*out));
    out->at = at;
    if (take_node(et, message, out))
        return 1;
    et->state.position = at;
    return end_with(et, SL_ET_DAMAGED);
}

/* GlobalMetadata holds a version, attributes, or both: MLCommons' converter writes no version. A
 * node begins with its id, or, if the id is 0, with its name, whose first bytes differ from those
 * of any attribute. */
static int is_metadata(struct sl_et_span s)
{
    struct sl_et_field f, name;

    while (s.at < s.end) {
        if (!sl_et_take_field(&s, &f) || f.wire != 2 || f.number > 2)
            return 0;
        if (f.number == 2 &&
            (!sl_et_take_field(&f.bytes, &name) || name.number != 1 || name.wire != 2))
            return 0;
    }
    return 1;
}

/* Stores the version of the metadata if it is printable. */
static void take_version(struct sl_et *et, struct sl_et_span s)
{
    struct sl_et_field f;
    size_t i, size;

    if (!sl_et_take_field(&s, &f) || f.number != 1)
        return;
    size = (size_t)(f.bytes.end - f.bytes.at);
    for (i = 0; i < size; i++)
        if (size >= sizeof(et->state.version) || (!isdigit(f.bytes.at[i]) && f.bytes.at[i] != '.'))
            return;
    memcpy(et->state.version, f.bytes.at, size);
}

/* Keeps the attributes by which files are grouped. A text that is not UTF-8 is not kept. */
static void take_metadata_value(struct sl_et *et, struct sl_et_span name,
                                const struct sl_et_field *value)
{
    struct sl_et_state *state = &et->state;

    if (value->number == SL_CHAKRA_STRING && value->wire == 2) {
        struct sl_text text = bytes_of(value->bytes);

        if (!sl_utf8_valid(text.data, text.size))
            return;
        if (sl_text_is(bytes_of(name), "job"))
            sl_text_copy(state->job, sizeof(state->job), text);
        else if (sl_text_is(bytes_of(name), "run_id"))
            sl_text_copy(state->run, sizeof(state->run), text);
    } else if (value->number == SL_CHAKRA_INT64 && value->wire == 0 &&
               sl_text_is(bytes_of(name), "run_start_ns")) {
        state->run_start_ns = (int64_t)value->value;
    }
}

/* Reads the attributes, and names the first text of the metadata that is not UTF-8. An invalid list
 * of strings counts as a text that is not UTF-8, because readers refuse both. */
static void take_metadata_texts(struct sl_et *et, struct sl_et_span s)
{
    char shown[SL_ET_TEXT_SHOWN];
    struct sl_et_span name;
    struct sl_et_field f, value;
    int refused = 0;

    while (!refused && s.at < s.end && sl_et_take_field(&s, &f)) {
        if (f.number == 1)
            refused = !sl_utf8_valid((const char *)f.bytes.at, bytes_of(f.bytes).size);
        else if (!sl_et_text_of_attribute(f.bytes, &name, &value, &refused))
            refused = 1;
        else
            take_metadata_value(et, name, &value);
    }
    if (!refused)
        return;
    if (f.number == 1) {
        snprintf(et->state.refused, sizeof(et->state.refused), "version");
        return;
    }
    sl_et_text_show(shown, name.at, (size_t)(name.end - name.at));
    snprintf(et->state.refused, sizeof(et->state.refused), "attribute %s", shown);
}

/* Takes the first message if it is the metadata. Any other first message is a node and stays in the
 * buffer. */
static void take_metadata(struct sl_et *et)
{
    struct sl_et_span message;

    if (!take_message(et, &message)) {
        et->state.end = SL_ET_OPEN; /* sl_et_next() reports the end */
        return;
    }
    et->state.has_metadata = is_metadata(message);
    if (et->state.has_metadata) {
        take_version(et, message);
        take_metadata_texts(et, message);
        return;
    }
    et->used -= (size_t)et->state.position;
    et->state.position = 0;
}

int sl_et_open_input(struct sl_et **out, struct sl_input *input)
{
    struct sl_et *et = calloc(1, sizeof(*et));

    if (et)
        et->text = malloc(SL_ET_MESSAGE_MAX + LENGTH_MAX);
    if (!et || !et->text) {
        free(et);
        return -ENOMEM;
    }
    et->input = input;
    take_metadata(et);
    *out = et;
    return 0;
}

int sl_et_open(struct sl_et **out, const char *path, char *why, size_t why_size)
{
    struct sl_input *input;
    int rc = sl_input_open(&input, path, why, why_size);

    if (rc)
        return rc;
    rc = sl_et_open_input(out, input);
    if (rc) {
        sl_input_close(input);
        snprintf(why, why_size, "not enough memory to read %s", path);
    }
    return rc;
}

void sl_et_close(struct sl_et *et)
{
    if (!et)
        return;
    sl_input_close(et->input);
    free(et->dep);
    free(et->text);
    free(et);
}
