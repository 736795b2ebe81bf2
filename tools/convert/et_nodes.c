/*
 * et_nodes.c - PyTorch's execution trace, in both of its forms: before 1.1 (torch 2.2) a node's
 * inputs, shapes and types are lists beside each other, since then they are one object, and
 * attributes are a list.
 *
 * Threads, memory: see et_nodes.h.
 */
#include "convert/et_nodes.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "print/progress.h"
#include "read/input_file.h"
#include "read/json_event.h"
#include "read/member.h"
#include "read/number.h"
#include "read/split.h"
#include "read/unescape.h"
#include "sync/store.h"
#include "write/chakra/attribute.h"

#define BYTES_MAX      (192u << 20)
#define TABLE_MAX      (64u << 20)
#define CHUNK          (1u << 20)
#define NODE_MAX       (28u << 10) /* what the writer takes */
#define ATTRIBUTES_MAX 256         /* of a node: more are left out */
#define TEXT_MAX       (8u << 10)  /* of a list or an attribute: longer ones are left out */
#define NAME_BYTES     (4u << 10)  /* nodes of longer names are no operator's */
#define PROGRESS_NODES 4096

/* Fields of Chakra's Node. */
enum {
    NODE_INPUTS = 8,
    NODE_OUTPUTS = 9,
    NODE_ATTR = 10
};

struct kept {
    uint32_t size, name_size;
    char bytes[]; /* the fields, then the name */
};

struct sl_et_nodes {
    struct sl_arena arena;
    struct sl_store store;
    struct sl_map by_function; /* record function -> struct kept */
    struct sl_et_nodes_counts counts;
};

/* A node in the making. */
struct node {
    char bytes[NODE_MAX];
    size_t size;
    uint64_t record_function;
    char name[NAME_BYTES];
    size_t name_size;
    struct sl_text attribute[ATTRIBUTES_MAX]; /* the names of those that it has */
    unsigned attributes;
    unsigned cut; /* what it has no room for */
};

static int64_t number_of(struct sl_text t, int64_t fallback)
{
    int64_t value;
    int exact;

    if (!t.data || sl_number_scaled(t.data, t.size, 0, &value, &exact) != 0)
        return fallback;
    return value;
}

/* One that 64 bits with a sign hold. */
static int is_whole_number(struct sl_text t)
{
    int64_t value;
    int exact;

    return t.data && sl_number_scaled(t.data, t.size, 0, &value, &exact) == 0 && exact;
}

static int is_text(struct sl_text t)
{
    return t.data && t.size >= 2 && t.data[0] == '"';
}

static struct sl_text inside(struct sl_text t)
{
    return (struct sl_text){t.data + 1, t.size - 2};
}

/* A field with these bytes, if there is room. */
static void put(struct node *n, uint32_t field, const char *data, size_t size)
{
    if (size + 2 * SL_WIRE_VARINT_MAX <= sizeof(n->bytes) - n->size)
        n->size = (size_t)(sl_wire_bytes(n->bytes + n->size, field, data, size) - n->bytes);
    else
        n->cut++;
}

static char *put_list(struct node *n, char *at, uint32_t field, struct sl_text list)
{
    n->cut += list.data && list.size > TEXT_MAX;
    if (!list.data || list.size > TEXT_MAX || (list.size == 2 && list.data[0] == '['))
        return at;
    return sl_wire_bytes(at, field, list.data, list.size);
}

static void put_lists(struct node *n, uint32_t field, struct sl_text values, struct sl_text shapes,
                      struct sl_text types)
{
    char info[3 * (TEXT_MAX + 16)];
    char *end = put_list(n, info, 1, values);

    end = put_list(n, end, 2, shapes);
    end = put_list(n, end, 3, types);
    if (end > info)
        put(n, field, info, (size_t)(end - info));
}

/* "inputs" as an object of three lists, or as the first of three members. */
static void put_io(struct node *n, uint32_t field, struct sl_text node, const char *name,
                   const char *shapes, const char *types)
{
    struct sl_text io = sl_member_find(node, name);

    if (io.data && io.data[0] == '{')
        put_lists(n, field, sl_member_find(io, "values"), sl_member_find(io, "shapes"),
                  sl_member_find(io, "types"));
    else
        put_lists(n, field, io, sl_member_find(node, shapes), sl_member_find(node, types));
}

static char *put_name(char *at, struct sl_text name)
{
    return sl_wire_bytes(at, SL_CHAKRA_NAME, name.data, name.size);
}

/* Where two have one name (an old member and an attribute, too) the first is the node's. */
static int is_there(const struct node *n, struct sl_text name)
{
    for (unsigned i = 0; i < n->attributes; i++)
        if (n->attribute[i].size == name.size &&
            memcmp(n->attribute[i].data, name.data, name.size) == 0)
            return 1;
    return 0;
}

/* An attribute; `as` 0: by what the value looks like. */
static void put_attribute(struct node *n, struct sl_text name, struct sl_text value, unsigned as)
{
    char bytes[256 + TEXT_MAX + 32], text[TEXT_MAX];
    char *at = bytes;

    if (!name.data || !value.data || is_there(n, name))
        return;
    if (name.size > 256 || value.size > TEXT_MAX || n->attributes == ATTRIBUTES_MAX) {
        n->cut++;
        return;
    }
    at = put_name(at, name);
    if (is_text(value)) {
        size_t size = sl_unescape(text, inside(value).data, inside(value).size);

        if (size == 0)
            return;
        at = sl_wire_bytes(at, SL_CHAKRA_STRING, text, size);
    } else if (value.data[0] == 't' || value.data[0] == 'f') {
        at = sl_wire_u64(at, SL_CHAKRA_BOOL, value.data[0] == 't');
    } else if (is_whole_number(value)) {
        at = sl_wire_u64(at, as ? as : SL_CHAKRA_INT64, (uint64_t)number_of(value, 0));
    } else if (value.data[0] == '-' || isdigit((unsigned char)value.data[0])) {
        at = sl_wire_bytes(at, SL_CHAKRA_STRING, value.data, value.size); /* as it stands */
    } else {
        return;
    }
    n->attribute[n->attributes++] = name;
    put(n, NODE_ATTR, bytes, (size_t)(at - bytes));
}

static int is_one_of(struct sl_text name, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == name.size && memcmp(*names, name.data, name.size) == 0)
            return 1;
    return 0;
}

/* What the writer says itself, and what simulators take for a GPU operation's. */
static const char *const ours[] = {
    "rf_id",      "tid",         "seq_id",    "et_id",      "et_parent",     "is_cpu_op",
    "start_ns",   "duration_ns", "delay_ns",  "stream",     "device",        "context",
    "num_ops",    "tensor_size", "comm_type", "comm_size",  "comm_priority", "comm_src",
    "comm_dst",   "comm_tag",    "pg_name",   "collective", "correlation",   "no_launch",
    "overlap_ns", NULL};

static void put_attributes(struct node *n, struct sl_text list)
{
    static const char *const type_name[] = {"uint64", NULL};
    struct sl_text attribute;
    size_t at = 0;

    while (list.data && list.data[0] == '[' && sl_member_next(list, &at, NULL, &attribute)) {
        struct sl_text name = sl_member_find(attribute, "name");
        struct sl_text value = sl_member_find(attribute, "value");
        struct sl_text type = sl_member_find(attribute, "type");

        if (!is_text(name))
            continue;
        if (inside(name).size == 5 && memcmp(inside(name).data, "rf_id", 5) == 0)
            n->record_function = (uint64_t)number_of(value, 0);
        if (!is_one_of(inside(name), ours))
            put_attribute(n, inside(name), value,
                          is_text(type) && is_one_of(inside(type), type_name) ? SL_CHAKRA_UINT64
                                                                              : SL_CHAKRA_INT64);
    }
}

static void put_member(struct node *n, struct sl_text node, const char *from, const char *as)
{
    put_attribute(n, (struct sl_text){as, strlen(as)}, sl_member_find(node, from), 0);
}

static void take_name(struct node *n, struct sl_text name)
{
    int fits = is_text(name) && inside(name).size <= sizeof(n->name);

    n->name_size = fits ? sl_unescape(n->name, inside(name).data, inside(name).size) : 0;
}

/* The node's fields. 0 without a record function. */
static int make(struct node *n, struct sl_text node)
{
    static const char *const old[] = {"fw_parent", "scope", "fw_tid", "op_schema", NULL};

    n->size = 0;
    n->attributes = 0;
    n->cut = 0;
    take_name(n, sl_member_find(node, "name"));
    n->record_function = (uint64_t)number_of(sl_member_find(node, "rf_id"), 0);
    put_io(n, NODE_INPUTS, node, "inputs", "input_shapes", "input_types");
    put_io(n, NODE_OUTPUTS, node, "outputs", "output_shapes", "output_types");
    put_member(n, node, "id", "et_id");
    put_member(n, node, sl_member_find(node, "ctrl_deps").data ? "ctrl_deps" : "parent",
               "et_parent");
    for (unsigned i = 0; old[i]; i++)
        put_member(n, node, old[i], old[i]);
    put_attributes(n, sl_member_find(node, "attrs"));
    return n->record_function != 0;
}

static void keep(struct sl_et_nodes *nodes, const struct node *n)
{
    struct kept *k =
        sl_arena_alloc(&nodes->arena, sizeof(*k) + n->size + n->name_size, _Alignof(struct kept));
    uint64_t *place = k ? sl_map_put(&nodes->by_function, n->record_function) : NULL;

    if (!place) {
        nodes->counts.no_room++;
        return;
    }
    k->size = (uint32_t)n->size;
    memcpy(k->bytes, n->bytes, n->size);
    k->name_size = (uint32_t)n->name_size;
    memcpy(k->bytes + n->size, n->name, n->name_size);
    nodes->counts.nodes += *place == 0;
    nodes->counts.twice += *place != 0;
    nodes->counts.cut += n->cut;
    *place = (uintptr_t)k;
}

static void take(struct sl_et_nodes *nodes, struct sl_json *json, const struct sl_span *span)
{
    static struct node node;
    struct sl_json_error error;

    if (sl_json_visit(json, "", span->text, span->size, NULL, NULL, &error) != 0)
        nodes->counts.invalid++;
    else if (span->text[0] == '{' && make(&node, (struct sl_text){span->text, span->size}))
        keep(nodes, &node);
}

static int read_all(struct sl_et_nodes *nodes, struct sl_input *input, const char *path, char *why,
                    size_t why_size)
{
    struct sl_input_status status;
    struct sl_progress progress;
    struct sl_split *split = NULL;
    struct sl_json *json = NULL;
    struct sl_span span;
    char what[128];
    uint64_t seen = 0;
    int rc = sl_split_create(&split, sl_input_read, input);

    if (rc == 0)
        rc = sl_json_create(&json);
    if (rc) {
        snprintf(why, why_size, "not enough memory to read %s", path);
        sl_split_destroy(split);
        return rc;
    }
    sl_split_array(split, "nodes");
    snprintf(what, sizeof(what), "reading %.100s", path);
    sl_progress_begin(&progress, what);
    for (sl_split_next(split, &span); span.kind < SL_SPAN_END; sl_split_next(split, &span)) {
        if (span.kind != SL_SPAN_EVENT)
            continue;
        take(nodes, json, &span);
        if (++seen % PROGRESS_NODES == 0) {
            sl_input_get_status(input, &status);
            sl_progress_step(&progress, status.read_bytes, status.file_bytes);
        }
    }
    sl_progress_end(&progress);
    sl_input_get_status(input, &status);
    why[0] = '\0';
    if (seen == 0) {
        snprintf(why, why_size, "%s is no execution trace of PyTorch's: it has no nodes", path);
        rc = -EBADMSG;
    } else if (span.kind != SL_SPAN_END || status.end != SL_INPUT_WHOLE) {
        snprintf(why, why_size, "%s is not whole: %s; what comes before is used", path,
                 status.what[0]             ? status.what
                 : span.kind == SL_SPAN_BAD ? span.why
                                            : "the text ends too early");
    }
    sl_json_destroy(json);
    sl_split_destroy(split);
    return rc;
}

int sl_et_nodes_read(struct sl_et_nodes **out, const char *path, char *why, size_t why_size)
{
    struct sl_et_nodes *nodes;
    struct sl_input *input;
    int rc = sl_input_open(&input, path, why, why_size);

    if (rc)
        return rc;
    nodes = calloc(1, sizeof(*nodes));
    if (nodes) {
        sl_arena_init(&nodes->arena, BYTES_MAX, CHUNK);
        nodes->store.cap_bytes = TABLE_MAX;
        sl_map_init(&nodes->by_function, &nodes->store);
        rc = read_all(nodes, input, path, why, why_size);
    } else {
        snprintf(why, why_size, "not enough memory to read %s", path);
        rc = -ENOMEM;
    }
    sl_input_close(input);
    if (rc)
        sl_et_nodes_destroy(nodes);
    else
        *out = nodes;
    return rc;
}

void sl_et_nodes_destroy(struct sl_et_nodes *n)
{
    if (!n)
        return;
    sl_map_free(&n->by_function);
    sl_arena_destroy(&n->arena);
    free(n);
}

const char *sl_et_nodes_find(struct sl_et_nodes *n, uint64_t record_function, struct sl_text name,
                             size_t *size)
{
    const uint64_t *place = record_function ? sl_map_find(&n->by_function, record_function) : NULL;
    const struct kept *k = place ? (const struct kept *)(uintptr_t)*place : NULL;

    n->counts.wanted += record_function != 0;
    if (!k)
        return NULL;
    if (name.size != k->name_size || memcmp(name.data, k->bytes + k->size, name.size) != 0) {
        n->counts.misnamed++;
        return NULL;
    }
    n->counts.found++;
    *size = k->size;
    return k->bytes;
}

void sl_et_nodes_get_counts(const struct sl_et_nodes *n, struct sl_et_nodes_counts *out)
{
    *out = n->counts;
}
