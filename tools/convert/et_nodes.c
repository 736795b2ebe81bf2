/*
 * et_nodes.c - reads PyTorch's execution trace in both of its schemas. Before 1.1 (torch 2.2) a
 * node has separate lists of inputs, shapes and types. Since 1.1 one object holds inputs, shapes
 * and types, and attributes are a list.
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
#include "base/store.h"
#include "print/progress.h"
#include "read/input_file.h"
#include "read/json_event.h"
#include "read/number.h"
#include "read/split.h"
#include "read/unescape.h"
#include "write/chakra/wire.h"

#define BYTES_MAX      (192u << 20)
#define TABLE_MAX      (64u << 20)
#define CHUNK          (1u << 20)
#define NODE_MAX       (28u << 10) /* bytes; the Chakra writer accepts no larger node */
#define ATTRIBUTES_MAX 256         /* per node; further attributes are left out */
#define TEXT_MAX       (8u << 10)  /* bytes; a longer list or attribute is left out */
#define NAME_BYTES     (4u << 10)  /* nodes with longer names are not operators */

/* Fields of a Chakra Node. */
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
    struct sl_map by_function; /* map from record function to `struct kept` */
    struct sl_et_nodes_counts counts;
};

/* The JSON members that are read from a node. The first three belong to an attribute of the
 * node. */
static const char *const wanted[] = {
    "attrs.name",    "attrs.value",   "attrs.type",     "attrs",          "id",
    "name",          "rf_id",         "ctrl_deps",      "parent",         "fw_parent",
    "scope",         "fw_tid",        "op_schema",      "inputs",         "input_shapes",
    "input_types",   "inputs.values", "inputs.shapes",  "inputs.types",   "outputs",
    "output_shapes", "output_types",  "outputs.values", "outputs.shapes", "outputs.types"};

enum {
    WANTED = sizeof(wanted) / sizeof(*wanted),
    WANTED_OF_ATTRIBUTE = 3
};

/* A node being built. */
struct node {
    struct sl_text member[WANTED]; /* raw text of each member; data NULL if it is absent */
    char bytes[NODE_MAX];
    size_t size;
    int64_t record_function; /* 0: none */
    char name[NAME_BYTES];
    size_t name_size;
    struct sl_text attribute[ATTRIBUTES_MAX]; /* names of the attributes so far */
    unsigned attributes;
    unsigned cut; /* number of attributes, lists and texts that did not fit */
};

static struct sl_text *member(struct node *n, const char *path)
{
    for (unsigned i = 0; i < WANTED; i++)
        if (strcmp(path, wanted[i]) == 0)
            return &n->member[i];
    return NULL;
}

/* Stores a value of a node. The elements of an array are reported before the array, with the same
 * path. */
static void take_member(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    struct sl_text *m = member(user, path);

    if (m && type == SL_JSON_STRING)
        *m = (struct sl_text){value.data - 1, value.size + 2};
    else if (m)
        *m = value;
}

/* Returns whether the text is a number that fits int64. If the text is not a number, *out is 0. */
static int read_number(struct sl_text t, int64_t *out)
{
    int exact = 0;

    if (!t.data || sl_number_scaled(t.data, t.size, 0, out, &exact) != 0)
        *out = exact = 0;
    return exact;
}

static int is_text(struct sl_text t)
{
    return t.data && t.size >= 2 && t.data[0] == '"';
}

static struct sl_text inside(struct sl_text t)
{
    return (struct sl_text){t.data + 1, t.size - 2};
}

/* Adds a field with these bytes if there is room. */
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

/* Adds the inputs or the outputs of a node. The file has them as an object of three lists (since
 * schema 1.1) or as three members. */
static void put_io(struct node *n, uint32_t field, const char *values, const char *list)
{
    char info[3 * (TEXT_MAX + 16)];
    const struct sl_text *from = member(n, values);
    char *end = info;

    if (from->data && from->data[0] == '{')
        from = member(n, list);
    for (uint32_t i = 0; i < 3; i++)
        end = put_list(n, end, i + 1, from[i]);
    if (end > info)
        put(n, field, info, (size_t)(end - info));
}

/* Returns whether the node already has an attribute of this name. If a node repeats an attribute,
 * only the first is used. A member of the old schema counts as an attribute. */
static int is_there(const struct node *n, struct sl_text name)
{
    for (unsigned i = 0; i < n->attributes; i++)
        if (n->attribute[i].size == name.size &&
            memcmp(n->attribute[i].data, name.data, name.size) == 0)
            return 1;
    return 0;
}

/* Adds an attribute. If `as` is 0, the value determines the type. */
static void put_attribute(struct node *n, struct sl_text name, struct sl_text value, unsigned as)
{
    char bytes[256 + TEXT_MAX + 32], text[TEXT_MAX];
    char *at = bytes;
    int64_t number;

    if (!name.data || !value.data || is_there(n, name))
        return;
    if (name.size > 256 || value.size > TEXT_MAX || n->attributes == ATTRIBUTES_MAX) {
        n->cut++;
        return;
    }
    at = sl_wire_bytes(at, SL_CHAKRA_NAME, name.data, name.size);
    if (is_text(value)) {
        size_t size = sl_unescape(text, inside(value).data, inside(value).size);

        if (size == 0)
            return;
        at = sl_wire_bytes(at, SL_CHAKRA_STRING, text, size);
    } else if (value.data[0] == 't' || value.data[0] == 'f') {
        at = sl_wire_u64(at, SL_CHAKRA_BOOL, value.data[0] == 't');
    } else if (read_number(value, &number)) {
        at = sl_wire_u64(at, as ? as : SL_CHAKRA_INT64, (uint64_t)number);
    } else if (value.data[0] == '-' || isdigit((unsigned char)value.data[0])) {
        at = sl_wire_bytes(at, SL_CHAKRA_STRING, value.data, value.size); /* the JSON text of the
                                                                             value, unchanged */
    } else {
        return;
    }
    n->attribute[n->attributes++] = name;
    put(n, NODE_ATTR, bytes, (size_t)(at - bytes));
}

/* Names of attributes that are not copied. The Chakra writer sets some of these attributes itself.
 * The others would make simulators treat the node as a GPU operation. */
static const char *const ours[] = {
    "rf_id",     "tid",           "seq_id",      "et_id",       "et_parent",
    "is_cpu_op", "start_ns",      "duration_ns", "delay_ns",    "stream",
    "device",    "context",       "num_ops",     "tensor_size", "comm_type",
    "comm_size", "comm_priority", "comm_src",    "comm_dst",    "comm_tag",
    "pg_name",   "collective",    "correlation", "no_launch",   "overlap_ns"};

static int is_ours(struct sl_text name)
{
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (sl_text_is(name, ours[i]))
            return 1;
    return 0;
}

/* Reads a value in the list of attributes. Each attribute is an object, so it is complete at the
 * object's end. */
static void take_attribute(void *user, const char *path, enum sl_json_type json,
                           struct sl_text text)
{
    struct node *n = user;
    struct sl_text name = n->member[0], value = n->member[1], type = n->member[2];

    take_member(n, path, json, text);
    if (json != SL_JSON_OBJECT || strcmp(path, "attrs") != 0)
        return;
    memset(n->member, 0, WANTED_OF_ATTRIBUTE * sizeof(*n->member));
    if (!is_text(name))
        return;
    if (sl_text_is(inside(name), "rf_id"))
        (void)read_number(value, &n->record_function);
    if (!is_ours(inside(name)))
        put_attribute(n, inside(name), value,
                      sl_text_is(type, "\"uint64\"") ? SL_CHAKRA_UINT64 : SL_CHAKRA_INT64);
}

static void put_member(struct node *n, const char *from, const char *as)
{
    put_attribute(n, (struct sl_text){as, strlen(as)}, *member(n, from), 0);
}

static void take_name(struct node *n, struct sl_text name)
{
    int fits = is_text(name) && inside(name).size <= sizeof(n->name);

    n->name_size = fits ? sl_unescape(n->name, inside(name).data, inside(name).size) : 0;
}

/* Encodes the node's fields. Returns 0 if the node has no record function. */
static int make(struct node *n, struct sl_json *json)
{
    static const char *const old[] = {"fw_parent", "scope", "fw_tid", "op_schema", NULL};
    struct sl_text attrs = *member(n, "attrs");
    struct sl_json_error error;

    n->size = 0;
    n->attributes = 0;
    n->cut = 0;
    take_name(n, *member(n, "name"));
    (void)read_number(*member(n, "rf_id"), &n->record_function);
    put_io(n, NODE_INPUTS, "inputs", "inputs.values");
    put_io(n, NODE_OUTPUTS, "outputs", "outputs.values");
    put_member(n, "id", "et_id");
    put_member(n, member(n, "ctrl_deps")->data ? "ctrl_deps" : "parent", "et_parent");
    for (unsigned i = 0; old[i]; i++)
        put_member(n, old[i], old[i]);
    memset(n->member, 0, WANTED_OF_ATTRIBUTE * sizeof(*n->member));
    if (attrs.data && attrs.data[0] == '[')
        (void)sl_json_visit(json, "attrs", attrs.data, attrs.size, take_attribute, n, &error);
    return n->record_function != 0;
}

static void keep(struct sl_et_nodes *nodes, const struct node *n)
{
    struct kept *k =
        sl_arena_alloc(&nodes->arena, sizeof(*k) + n->size + n->name_size, _Alignof(struct kept));
    uint64_t *place = k ? sl_map_put(&nodes->by_function, (uint64_t)n->record_function) : NULL;

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

    memset(node.member, 0, sizeof(node.member));
    if (sl_json_visit(json, "", span->text, span->size, take_member, &node, &error) != 0)
        nodes->counts.invalid++;
    else if (make(&node, json))
        keep(nodes, &node);
}

/* Returns 0, or -EBADMSG with a message. */
static int read_all(struct sl_et_nodes *nodes, struct sl_input *input, struct sl_split *split,
                    struct sl_json *json, const char *path, char *why, size_t why_size)
{
    struct sl_input_status status;
    struct sl_progress progress;
    struct sl_span span;
    uint64_t seen = 0;

    sl_split_array(split, "nodes");
    sl_progress_begin(&progress, "reading", path);
    for (sl_split_next(split, &span); span.kind < SL_SPAN_END; sl_split_next(split, &span)) {
        if (span.kind == SL_SPAN_FIELD &&
            sl_text_is((struct sl_text){span.key, span.key_size}, "pid"))
            (void)read_number((struct sl_text){span.text, span.size}, &nodes->counts.pid);
        if (span.kind != SL_SPAN_EVENT)
            continue;
        take(nodes, json, &span);
        seen++;
        if (sl_progress_is_due(&progress)) {
            sl_input_get_status(input, &status);
            sl_progress_step(&progress, status.read_bytes, status.file_bytes);
        }
    }
    sl_progress_end(&progress);
    sl_input_get_status(input, &status);
    why[0] = '\0';
    if (seen == 0)
        snprintf(why, why_size, "%s is not an execution trace of PyTorch: it has no nodes", path);
    else if (span.kind != SL_SPAN_END || status.end != SL_INPUT_WHOLE)
        snprintf(why, why_size, "%s is truncated or damaged: %s; the part before is used", path,
                 status.what[0]             ? status.what
                 : span.kind == SL_SPAN_BAD ? span.why
                                            : "the text ends too early");
    return seen ? 0 : -EBADMSG;
}

int sl_et_nodes_read(struct sl_et_nodes **out, const char *path, char *why, size_t why_size)
{
    struct sl_et_nodes *nodes;
    struct sl_split *split = NULL;
    struct sl_json *json = NULL;
    struct sl_input *input;
    int rc = sl_input_open(&input, path, why, why_size);

    if (rc)
        return rc;
    nodes = calloc(1, sizeof(*nodes));
    if (nodes && sl_split_create(&split, sl_input_read, input) == 0 && sl_json_create(&json) == 0) {
        sl_arena_init(&nodes->arena, BYTES_MAX, CHUNK);
        nodes->store.cap_bytes = TABLE_MAX;
        sl_map_init(&nodes->by_function, &nodes->store);
        rc = read_all(nodes, input, split, json, path, why, why_size);
    } else {
        snprintf(why, why_size, "not enough memory to read %s", path);
        rc = -ENOMEM;
    }
    sl_json_destroy(json);
    sl_split_destroy(split);
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
