/*
 * et_check.c - checks that Chakra readers accept a trace.
 *
 * Threads: one owner. Memory: see et_check.h. Pages of the bit sets use memory only after the first
 * write.
 */
#include "check/et_check.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "base/utf8.h"
#include "read/et_text.h"

#define SET_BYTES (SL_ET_IDS / 8)

static void add(struct sl_et_check *c, enum sl_finding_id rule, const struct sl_et_node *n)
{
    sl_finding_add(&c->findings, rule, 1, n->at, "node %llu", (unsigned long long)n->id);
}

int sl_et_check_create(struct sl_et_check **out)
{
    struct sl_et_check *c = sl_pages_map(sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->seen = sl_pages_map(SET_BYTES);
    c->wanted = sl_pages_map(SET_BYTES);
    if (!c->seen || !c->wanted || sl_et_ids_init(&c->ids) != 0 ||
        sl_et_order_init(&c->order, &c->ids) != 0) {
        sl_et_check_destroy(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

void sl_et_check_destroy(struct sl_et_check *c)
{
    if (!c)
        return;
    sl_pages_unmap(c->seen, SET_BYTES);
    sl_pages_unmap(c->wanted, SET_BYTES);
    sl_et_order_free(&c->order);
    sl_et_ids_free(&c->ids);
    sl_pages_unmap(c, sizeof(*c));
}

static int has(const uint64_t *set, uint64_t slot)
{
    return set[slot / 64] >> slot % 64 & 1;
}

static void check_ids(struct sl_et_check *c, const struct sl_et_node *n)
{
    uint64_t slot = sl_et_ids_slot(&c->ids, n->id), dep;
    unsigned long long id = n->id;
    size_t i;

    for (i = 0; i < n->deps; i++) {
        dep = sl_et_ids_slot(&c->ids, n->dep[i]);
        if (n->dep[i] == n->id)
            sl_finding_add(&c->findings, SL_ET_RULE_DEP_SELF, 1, n->at, "node %llu, in its %s", id,
                           i < n->ctrl_deps ? "ctrl_deps" : "data_deps");
        else if (dep == SL_ET_IDS_NONE)
            sl_finding_add(&c->findings, SL_ET_RULE_NOT_CHECKED, 1, n->at,
                           "dependency of node %llu: too many large ids", id);
        else if (!has(c->seen, dep))
            c->wanted[dep / 64] |= 1ull << dep % 64;
    }
    if (slot == SL_ET_IDS_NONE) {
        sl_finding_add(&c->findings, SL_ET_RULE_NOT_CHECKED, 1, n->at,
                       "node %llu: too many large ids", id);
        return;
    }
    if (has(c->seen, slot))
        add(c, SL_ET_RULE_ID_TWICE, n);
    c->seen[slot / 64] |= 1ull << slot % 64;
    if (has(c->wanted, slot)) {
        add(c, SL_ET_RULE_DEP_LATER, n);
        c->wanted[slot / 64] &= ~(1ull << slot % 64);
    }
}

/* Returns whether a group number fits an int, because ASTRA-sim reads group numbers as int. An
 * empty group name counts as 0. */
static int is_group(struct sl_text b)
{
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < b.size && value <= INT32_MAX; i++) {
        if (b.data[i] < '0' || b.data[i] > '9')
            return 0;
        value = value * 10 + (uint64_t)(b.data[i] - '0');
    }
    return value <= INT32_MAX;
}

/* Returns whether ASTRA-sim has no algorithm for this type: REDUCE, GATHER, SCATTER,
 * REDUCE_SCATTER_BLOCK, BARRIER, and invalid types. */
static int is_refused(uint64_t comm_type)
{
    return comm_type > 9 || (1u << comm_type & (1u << 1 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 9));
}

static void check_communication(struct sl_et_check *c, const struct sl_et_node *n)
{
    static const uint32_t needs[SL_ET_TYPES] = {
        [SL_ET_COMM_COLL] = SL_ET_HAS_COMM_TYPE | SL_ET_HAS_COMM_SIZE,
        [SL_ET_COMM_SEND] = SL_ET_HAS_COMM_SIZE | SL_ET_HAS_COMM_DST | SL_ET_HAS_COMM_TAG,
        [SL_ET_COMM_RECV] = SL_ET_HAS_COMM_SIZE | SL_ET_HAS_COMM_SRC | SL_ET_HAS_COMM_TAG,
    };
    uint64_t to = n->type == SL_ET_COMM_SEND ? n->comm_dst : n->comm_src;
    int32_t peer = n->type == SL_ET_COMM_COLL ? 0 : (int32_t)(uint32_t)to;
    unsigned long long id = n->id;

    if (!needs[n->type])
        return;
    if (n->is_cpu)
        add(c, SL_ET_RULE_COMM_ON_CPU, n);
    if ((n->has & needs[n->type]) != needs[n->type])
        add(c, SL_ET_RULE_COMM_FIELDS, n);
    else if (n->comm_size > INT64_MAX)
        sl_finding_add(&c->findings, SL_ET_RULE_COMM_SIZE, 1, n->at, "node %llu: %lld", id,
                       (long long)n->comm_size);
    else if (peer < 0)
        sl_finding_add(&c->findings, SL_ET_RULE_COMM_PEER, 1, n->at, "node %llu: rank %d", id,
                       (int)peer);
    else if (n->type == SL_ET_COMM_COLL && is_refused(n->comm_type))
        add(c, SL_ET_RULE_COMM_TYPE, n);
    if (!is_group(n->pg_name))
        add(c, SL_ET_RULE_GROUP, n);
}

/* One of the two duration fields is signed. The other field is unsigned, and simulators multiply
 * its value by 1000. */
static void check_duration(struct sl_et_check *c, const struct sl_et_node *n)
{
    int has_ns = (n->has & SL_ET_HAS_DURATION_NS) != 0;
    unsigned long long id = n->id;

    if (n->duration_us > INT64_MAX / 1000)
        sl_finding_add(&c->findings, SL_ET_RULE_DURATION, 1, n->at, "duration_micros of node %llu",
                       id);
    else if (has_ns && n->duration_ns > INT64_MAX)
        sl_finding_add(&c->findings, SL_ET_RULE_DURATION, 1, n->at, "duration_ns of node %llu", id);
    else
        *(n->is_cpu ? &c->cpu_ns : &c->gpu_ns) += has_ns ? n->duration_ns : n->duration_us * 1000;
}

static void add_refused(struct sl_et_check *c, const struct sl_et_node *n)
{
    char name[SL_ET_TEXT_SHOWN];

    sl_et_text_show(name, n->refused_attribute.data, n->refused_attribute.size);
    sl_finding_add(&c->findings, SL_ET_RULE_TEXT, 1, n->at, "%s%s%s of node %llu", n->refused,
                   *name ? " " : "", name, (unsigned long long)n->id);
}

void sl_et_check_node(struct sl_et_check *c, const struct sl_et_node *n)
{
    unsigned long long id = n->id;

    c->nodes++;
    c->deps += n->deps;
    c->ctrl_deps += n->ctrl_deps;
    c->of_type[n->type]++;
    if (n->is_cpu)
        c->cpu_nodes++;
    c->gap_nodes += n->is_cpu && sl_text_is(n->name, "gap");
    c->wait_nodes +=
        n->is_cpu && n->name.size > 5 && memcmp(n->name.data + n->name.size - 5, ".wait", 5) == 0;
    if (n->type == SL_ET_INVALID || n->type == SL_ET_METADATA)
        add(c, SL_ET_RULE_TYPE, n);
    if (!sl_utf8_valid(n->name.data, n->name.size))
        add(c, SL_ET_RULE_NAME, n);
    if (n->refused)
        add_refused(c, n);
    check_duration(c, n);
    if (!(n->has & SL_ET_HAS_IS_CPU))
        add(c, SL_ET_RULE_NO_IS_CPU, n);
    if (n->has & SL_ET_HAS_NO_LAUNCH)
        add(c, SL_ET_RULE_NO_LAUNCH, n);
    if (n->misplaced)
        sl_finding_add(&c->findings, SL_ET_RULE_MEMBER, 1, n->at, "%s of node %llu", n->misplaced,
                       id);
    if (n->twice)
        sl_finding_add(&c->findings, SL_ET_RULE_TWICE, 1, n->at, "%s of node %llu", n->twice, id);
    check_communication(c, n);
    check_ids(c, n);
    sl_et_order_node(&c->order, n);
}

/* Dependencies of one kind on ids that are not in the file. */
struct missing {
    uint64_t deps, ids, first; /* `first` is the lowest of the ids */
};

static void count_missing(struct missing *m, uint64_t deps, uint64_t id)
{
    if (!deps)
        return;
    if (m->ids++ == 0)
        m->first = id;
    m->deps += deps;
}

static void add_missing(struct sl_et_check *c, enum sl_finding_id rule, const struct missing *m)
{
    if (m->deps)
        sl_finding_add(&c->findings, rule, m->deps, SL_FINDING_NO_PLACE,
                       "id %llu, %llu id%s in all", (unsigned long long)m->first,
                       (unsigned long long)m->ids, m->ids == 1 ? "" : "s");
}

/* Reports dependencies on nodes that are not in the file. */
static void check_missing(struct sl_et_check *c)
{
    struct missing ctrl = {0, 0, 0}, data = {0, 0, 0};

    for (uint64_t i = 0; i < SL_ET_IDS / 64; i++) {
        uint64_t missing = c->wanted[i];

        for (; missing; missing &= missing - 1) {
            uint64_t slot = i * 64 + (unsigned)__builtin_ctzll(missing);
            uint64_t id = sl_et_ids_id(&c->ids, slot);
            struct sl_et_deps deps = sl_et_order_missing(&c->order, slot);

            count_missing(&ctrl, deps.ctrl, id);
            /* Without memory to count the dependencies, each id counts as one. */
            count_missing(&data, deps.ctrl || deps.data ? deps.data : 1, id);
        }
    }
    add_missing(c, SL_ET_RULE_CTRL_MISSING, &ctrl);
    add_missing(c, SL_ET_RULE_DEP_MISSING, &data);
}

static void check_order(struct sl_et_check *c)
{
    uint64_t example, stuck = sl_et_order_stuck(&c->order, &example);

    if (c->order.is_full)
        sl_finding_add(&c->findings, SL_ET_RULE_NOT_CHECKED, 1, SL_FINDING_NO_PLACE,
                       "cycles: too many to follow");
    if (!stuck)
        return;
    sl_finding_add(&c->findings, SL_ET_RULE_CYCLE, 1, SL_FINDING_NO_PLACE, "node %llu",
                   (unsigned long long)example);
    c->findings.of[SL_ET_RULE_CYCLE].count = stuck;
}

void sl_et_check_end(struct sl_et_check *c, const struct sl_et *et)
{
    const struct sl_et_state *state = &et->state;
    struct sl_input_status input;

    sl_input_get_status(et->input, &input);
    if (!state->has_metadata)
        sl_finding_add(&c->findings, SL_ET_RULE_METADATA, 1, 0,
                       "the first message is not GlobalMetadata");
    if (*state->refused)
        sl_finding_add(&c->findings, SL_ET_RULE_TEXT, 1, 0, "%s of GlobalMetadata", state->refused);
    if (state->end == SL_ET_CUT)
        sl_finding_add(&c->findings, SL_ET_RULE_CUT, 1, state->position,
                       "the last message is incomplete");
    if (state->end == SL_ET_DAMAGED)
        sl_finding_add(&c->findings, SL_ET_RULE_DAMAGED, 1, state->position,
                       "nothing after it can be read");
    if (input.end == SL_INPUT_CUT || input.end == SL_INPUT_DAMAGED || input.end == SL_INPUT_FAILED)
        sl_finding_add(&c->findings, SL_ET_RULE_INPUT, 1, state->position, "%s", input.what);
    if (c->nodes == 0)
        sl_finding_add(&c->findings, SL_ET_RULE_EMPTY, 1, 0, "no node");
    check_missing(c);
    check_order(c);
}

const char *const sl_et_type_name[SL_ET_TYPES] = {"INVALID", "METADATA",  "MEM_LOAD",  "MEM_STORE",
                                                  "COMP",    "COMM_SEND", "COMM_RECV", "COMM_COLL"};
