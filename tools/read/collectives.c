/*
 * collectives.c - args of record_param_comms and of NCCL kernels -> Chakra's collectives.
 *
 * Threads, memory: see collectives.h.
 */
#include "read/collectives.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "read/number.h"
#include "sync/store.h"

#define KINDS_BYTES  (4u << 20)
#define GROUPS_BYTES (4u << 20)
#define JOIN_BYTES   (32u << 20)
#define RANKS_MAX    65536u
#define NAMED_MAX    4096u

struct group {
    struct group *next;
    uint32_t number, ranks;
    uint32_t rank[];
};

/* distributedInfo.pg_config: a group's name, and its ranks as they come. */
struct named {
    char name[64];
    uint32_t number; /* 0: all ranks, or none were told */
    uint32_t ranks;
};

struct sl_collectives {
    struct sl_intern *kinds; /* struct sl_chakra_collective, each once */
    struct sl_store store;
    struct sl_map by_correlation;
    struct sl_arena arena;
    struct group *groups;
    struct named *named; /* NAMED_MAX */
    size_t named_count;
    int naming;     /* the last of them is not complete */
    uint32_t *rank; /* RANKS_MAX: a group in the making */
    size_t ranks;
    uint64_t world_size, unknown;
};

/* ---- groups ---- */

static int is_everyone(const struct sl_collectives *c)
{
    size_t i;

    for (i = 0; i < c->ranks && c->rank[i] == i; i++)
        ;
    return c->ranks && i == c->ranks && c->ranks == c->world_size;
}

/* Positive as a 32-bit int, as simulators read it, and never 0. */
static uint32_t number_of(const struct sl_collectives *c)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < c->ranks; i++)
        h = (h ^ c->rank[i]) * 0x100000001b3u;
    h ^= h >> 32;
    return ((uint32_t)h & 0x7fffffffu) | 1u;
}

/* The group of c->rank. 0 with its number, 0 being everyone; -ENOSPC; -EEXIST: the number is
 * another group's. */
static int put_group(struct sl_collectives *c, uint32_t *out)
{
    uint32_t number = is_everyone(c) ? 0 : number_of(c);
    struct group *g = c->groups;

    *out = number;
    while (g && g->number != number)
        g = g->next;
    if (g && (g->ranks != c->ranks || memcmp(g->rank, c->rank, c->ranks * sizeof(*c->rank)) != 0))
        return -EEXIST;
    if (number == 0 || g)
        return 0;
    g = sl_arena_alloc(&c->arena, sizeof(*g) + c->ranks * sizeof(*c->rank), _Alignof(uint64_t));
    if (!g)
        return -ENOSPC;
    g->number = number;
    g->ranks = (uint32_t)c->ranks;
    memcpy(g->rank, c->rank, c->ranks * sizeof(*c->rank));
    g->next = c->groups;
    c->groups = g;
    return 0;
}

static void add_rank(struct sl_collectives *c, int64_t rank)
{
    if (rank >= 0 && rank <= INT32_MAX && c->ranks < RANKS_MAX)
        c->rank[c->ranks++] = (uint32_t)rank;
}

/* "[0, 1, 2]"; a long one is cut by "...": then it is not known. 0 or -EINVAL. */
static int read_ranks(struct sl_collectives *c, struct sl_text text)
{
    const char *p = text.data, *end = text.data + text.size;
    int64_t rank;

    c->ranks = 0;
    while (p < end) {
        if (*p == '.')
            return -EINVAL;
        if (!isdigit((unsigned char)*p)) {
            p++;
            continue;
        }
        for (rank = 0; p < end && isdigit((unsigned char)*p) && rank <= INT32_MAX; p++)
            rank = rank * 10 + (*p - '0');
        add_rank(c, rank);
    }
    return c->ranks ? 0 : -EINVAL;
}

static const struct named *find_named(const struct sl_collectives *c, struct sl_text name)
{
    for (size_t i = 0; i < c->named_count; i++) {
        if (strlen(c->named[i].name) == name.size &&
            memcmp(c->named[i].name, name.data, name.size) == 0)
            return &c->named[i];
    }
    return NULL;
}

/* 0 with the number of the row's group, or -EINVAL. */
static int group_of(struct sl_collectives *c, const struct sl_trace_row *row, uint32_t *out)
{
    const struct named *named = row->group.data ? find_named(c, row->group) : NULL;
    uint64_t size = row->has & SL_HAS_GROUP_SIZE ? (uint64_t)row->group_size : 0;

    if (row->group_ranks.data && read_ranks(c, row->group_ranks) == 0 &&
        (!size || c->ranks == size))
        return put_group(c, out);
    if (row->has & SL_HAS_GROUP_START && row->has & SL_HAS_GROUP_STRIDE && size &&
        size <= RANKS_MAX && row->group_start >= 0 && row->group_stride > 0 &&
        row->group_start <= INT32_MAX && row->group_stride <= INT32_MAX) {
        c->ranks = 0;
        for (uint64_t i = 0; i < size; i++)
            add_rank(c, row->group_start + (int64_t)i * row->group_stride);
        return c->ranks == size ? put_group(c, out) : -EINVAL;
    }
    if (named && named->ranks) {
        *out = named->number;
        return 0;
    }
    if (size && size == c->world_size) {
        *out = 0;
        return 0;
    }
    return -EINVAL;
}

/* ---- the header ---- */

static void end_named(struct sl_collectives *c)
{
    struct named *n;

    if (!c->naming)
        return;
    n = &c->named[c->named_count - 1];
    if (c->ranks && put_group(c, &n->number) == 0)
        n->ranks = (uint32_t)c->ranks;
    c->naming = 0;
    c->ranks = 0;
}

void sl_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                          struct sl_text value)
{
    static const char config[] = "distributedInfo.pg_config.";
    struct sl_collectives *c = collectives;
    int64_t number;
    int exact;

    if (type == SL_JSON_NUMBER && strcmp(path, "distributedInfo.world_size") == 0 &&
        sl_number_scaled(value.data, value.size, 0, &number, &exact) == 0 && number > 0)
        c->world_size = (uint64_t)number;
    if (strncmp(path, config, sizeof(config) - 1) != 0) {
        end_named(c);
        return;
    }
    path += sizeof(config) - 1;
    if (strcmp(path, "pg_name") == 0 && c->named_count < NAMED_MAX) {
        end_named(c);
        c->naming = 1;
        snprintf(c->named[c->named_count++].name, sizeof(c->named->name), "%.*s",
                 value.size < 64 ? (int)value.size : 0, value.data);
    } else if (strcmp(path, "ranks") == 0 && type == SL_JSON_NUMBER &&
               sl_number_scaled(value.data, value.size, 0, &number, &exact) == 0) {
        add_rank(c, number);
    } else if (strcmp(path, "ranks") == 0 && type == SL_JSON_STRING) {
        read_ranks(c, value);
    }
}

/* ---- rows ---- */

/* Names differ by version: "allreduce", "_allgather_base", "all_to_allv". */
static int type_of(struct sl_text name, enum sl_chakra_comm *out)
{
    static const struct {
        const char *word;
        enum sl_chakra_comm type;
    } known[] = {
        {"allreduce", SL_COMM_ALL_REDUCE},
        {"reducescatter", SL_COMM_REDUCE_SCATTER},
        {"allgather", SL_COMM_ALL_GATHER},
        {"alltoall", SL_COMM_ALL_TO_ALL},
        {"broadcast", SL_COMM_BROADCAST},
        {"barrier", SL_COMM_BARRIER},
        {"gather", SL_COMM_GATHER},
        {"scatter", SL_COMM_SCATTER},
        {"reduce", SL_COMM_REDUCE},
        {"send", SL_COMM_SEND},
        {"recv", SL_COMM_RECV},
    };
    char plain[64];
    size_t size = 0;

    for (size_t i = 0; i < name.size && size < sizeof(plain) - 1; i++)
        if (isalpha((unsigned char)name.data[i]))
            plain[size++] = (char)tolower((unsigned char)name.data[i]);
    plain[size] = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(plain, known[i].word)) {
            *out = known[i].type;
            return 0;
        }
    }
    return -EINVAL;
}

static unsigned bytes_of(struct sl_text dtype)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } known[] = {
        {"Float", 4},       {"BFloat16", 2}, {"Half", 2},         {"Long", 8},
        {"Int", 4},         {"Byte", 1},     {"Char", 1},         {"Bool", 1},
        {"Short", 2},       {"Double", 8},   {"ComplexFloat", 8}, {"ComplexDouble", 16},
        {"ComplexHalf", 4}, {"UInt16", 2},   {"UInt32", 4},       {"UInt64", 8},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i].name) == dtype.size &&
            memcmp(known[i].name, dtype.data, dtype.size) == 0)
            return known[i].bytes;
    return dtype.size > 6 && memcmp(dtype.data, "Float8", 6) == 0 ? 1 : 0;
}

/* Who is sent to, or received from. -EINVAL where that is not told. */
static int peer_of(const struct sl_trace_row *row, struct sl_chakra_collective *coll)
{
    uint32_t bit = coll->type == SL_COMM_SEND ? SL_HAS_DST_RANK : SL_HAS_SRC_RANK;
    int64_t peer = coll->type == SL_COMM_SEND ? row->dst_rank : row->src_rank;

    if (!(row->has & bit) || peer < 0 || peer > INT32_MAX)
        return -EINVAL;
    coll->peer = (int32_t)peer;
    return 0;
}

uint32_t sl_collectives_row(struct sl_collectives *c, const struct sl_trace_row *row)
{
    struct sl_chakra_collective coll;
    uint64_t elements = row->has & SL_HAS_IN_ELEMENTS ? (uint64_t)row->in_elements : 0;

    /* Its bytes are its identity. */
    memset(&coll, 0, sizeof(coll));
    if (!row->collective.data || !row->dtype.data || type_of(row->collective, &coll.type) != 0)
        return 0;
    if (elements > 1ull << 48 || (coll.bytes = elements * bytes_of(row->dtype)) == 0)
        return 0;
    end_named(c);
    if ((coll.type == SL_COMM_SEND || coll.type == SL_COMM_RECV) && peer_of(row, &coll) != 0)
        return 0;
    if (group_of(c, row, &coll.group) != 0) {
        c->unknown++;
        return 0;
    }
    return sl_intern_put(c->kinds, (const char *)&coll, sizeof(coll));
}

void sl_collectives_join(struct sl_collectives *c, uint64_t correlation, uint32_t number)
{
    uint64_t *value = number && correlation ? sl_map_put(&c->by_correlation, correlation) : NULL;

    if (value && !*value)
        *value = number;
}

int sl_collectives_find(void *collectives, const struct sl_event *op,
                        struct sl_chakra_collective *out)
{
    struct sl_collectives *c = collectives;
    const uint64_t *number =
        op->correlation ? sl_map_find(&c->by_correlation, op->correlation) : NULL;
    const char *bytes = number ? sl_intern_get(c->kinds, (uint32_t)*number, NULL) : NULL;

    if (bytes)
        memcpy(out, bytes, sizeof(*out));
    return bytes != NULL;
}

/* ---- the rest ---- */

int sl_collectives_create(struct sl_collectives **out)
{
    struct sl_collectives *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->store.cap_bytes = JOIN_BYTES;
    sl_map_init(&c->by_correlation, &c->store);
    sl_arena_init(&c->arena, GROUPS_BYTES, 64 * 1024);
    c->rank = malloc(RANKS_MAX * sizeof(*c->rank));
    c->named = calloc(NAMED_MAX, sizeof(*c->named));
    if (!c->rank || !c->named || sl_intern_create(&c->kinds, KINDS_BYTES) != 0) {
        sl_collectives_destroy(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

void sl_collectives_destroy(struct sl_collectives *c)
{
    if (!c)
        return;
    sl_intern_destroy(c->kinds);
    sl_arena_destroy(&c->arena);
    sl_map_free(&c->by_correlation);
    free(c->named);
    free(c->rank);
    free(c);
}

void sl_collectives_groups(const struct sl_collectives *c,
                           void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                        size_t ranks),
                           void *user)
{
    for (const struct group *g = c->groups; g; g = g->next)
        take(user, g->number, g->rank, g->ranks);
}

uint64_t sl_collectives_unknown(const struct sl_collectives *c)
{
    return c->unknown;
}
