/*
 * collective.c - converts PyTorch's description of a collective to its type, bytes and ranks.
 *
 * Threads, memory: see collective.h.
 */
#include "event/collective.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/pages.h"
#include "event/message.h"

#define RANKS_MAX 65536u     /* maximum number of ranks in a group */
#define RANKS_END (1u << 20) /* maximum number of ranks in a job */
#define NAMED_MAX 4096u
#define CHUNK     (64u << 10)

struct group {
    struct group *next;
    uint32_t number, ranks;
    uint32_t rank[];
};

/* The name of a group of ranks, with the group's number and its count of ranks. */
struct named {
    char name[64];
    /* the group's number; 0 for the group of all ranks, or if no ranks were reported */
    uint32_t number;
    uint32_t ranks;
};

struct sl_collectives {
    struct sl_intern *kinds; /* stores each distinct struct sl_collective once */
    struct sl_arena arena;
    struct group *groups;
    size_t group_count;
    struct named named[NAMED_MAX];
    size_t named_count;
    /* 1: sl_collectives_name_end() was not yet called for the last named group */
    int naming;
    uint32_t rank[RANKS_MAX]; /* the ranks of the group that is being read */
    size_t ranks;
    /* a bit for each rank; all bits are 0 whenever no function of this file runs */
    uint64_t is_named[RANKS_END / 64];
    uint64_t world_size;
};

/* ---- groups ---- */

static int is_everyone(const struct sl_collectives *c)
{
    size_t i;

    for (i = 0; i < c->ranks && c->rank[i] == i; i++)
        ;
    return c->ranks && i == c->ranks && c->ranks == c->world_size;
}

/* Returns a group's number. The number is never 0 and is positive as a signed 32-bit integer,
 * because ASTRA-sim reads group numbers as signed 32-bit integers. */
static uint32_t number_of(const struct sl_collectives *c)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < c->ranks; i++)
        h = (h ^ c->rank[i]) * 0x100000001b3u;
    h ^= h >> 32;
    return ((uint32_t)h & 0x7fffffffu) | 1u;
}

static int is_one_twice(struct sl_collectives *c)
{
    size_t named = 0;
    int twice = 0;

    while (named < c->ranks && !twice) {
        uint64_t *word = &c->is_named[c->rank[named] / 64], bit = 1ull << c->rank[named] % 64;

        twice = (*word & bit) != 0;
        *word |= bit;
        named++;
    }
    while (named--)
        c->is_named[c->rank[named] / 64] = 0;
    return twice;
}

/* Stores the group of the ranks in c->rank and writes its number (0 for the group of all ranks) to
 * *out. Returns 0, -ENOSPC, -EEXIST if another group has this number, or -EINVAL if a rank occurs
 * twice. */
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
    if (is_one_twice(c))
        return -EINVAL;
    g = sl_arena_alloc(&c->arena, sizeof(*g) + c->ranks * sizeof(*c->rank), _Alignof(uint64_t));
    if (!g)
        return -ENOSPC;
    g->number = number;
    g->ranks = (uint32_t)c->ranks;
    memcpy(g->rank, c->rank, c->ranks * sizeof(*c->rank));
    g->next = c->groups;
    c->groups = g;
    c->group_count++;
    return 0;
}

static int add_rank(struct sl_collectives *c, int64_t rank)
{
    if (rank < 0 || rank >= RANKS_END || c->ranks == RANKS_MAX)
        return -EINVAL;
    c->rank[c->ranks++] = (uint32_t)rank;
    return 0;
}

/* Reads a list such as "[0, 1, 2]". Returns 0, or -EINVAL for a list with any other text in it, for
 * example the "..." by which PyTorch truncates a long list. */
static int read_ranks(struct sl_collectives *c, struct sl_collective_text text)
{
    const char *p = text.data, *end = text.data + text.size;

    c->ranks = 0;
    while (p < end) {
        int64_t rank = 0;

        if (strchr("[], \t\n", *p)) {
            p++;
            continue;
        }
        if (!isdigit((unsigned char)*p))
            return -EINVAL;
        for (; p < end && isdigit((unsigned char)*p) && rank < RANKS_END; p++)
            rank = rank * 10 + (*p - '0');
        if (add_rank(c, rank) != 0)
            return -EINVAL;
    }
    return c->ranks ? 0 : -EINVAL;
}

static const struct named *find_named(const struct sl_collectives *c,
                                      struct sl_collective_text name)
{
    for (size_t i = 0; i < c->named_count; i++) {
        if (strlen(c->named[i].name) == name.size &&
            memcmp(c->named[i].name, name.data, name.size) == 0)
            return &c->named[i];
    }
    return NULL;
}

/* Writes the number of the collective's group to *out. Returns 0, or -EINVAL if the group's ranks
 * are not known. */
static int group_of(struct sl_collectives *c, const struct sl_collective_args *told, uint32_t *out)
{
    const struct named *named = told->group.data ? find_named(c, told->group) : NULL;
    uint64_t size = told->group_size > 0 ? (uint64_t)told->group_size : 0;

    if (told->group_ranks.data && read_ranks(c, told->group_ranks) == 0 &&
        (!size || c->ranks == size))
        return put_group(c, out);
    /* PyTorch reports no stride for a group of one rank. */
    if (size && size <= RANKS_MAX && told->group_start >= 0 &&
        (told->group_stride > 0 || size == 1) && told->group_start <= INT32_MAX &&
        told->group_stride <= INT32_MAX) {
        c->ranks = 0;
        for (uint64_t i = 0; i < size; i++)
            add_rank(c, told->group_start + (int64_t)i * told->group_stride);
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

/* ---- names ---- */

void sl_collectives_world(struct sl_collectives *c, uint64_t size)
{
    c->world_size = size;
}

void sl_collectives_name(struct sl_collectives *c, struct sl_collective_text name)
{
    sl_collectives_name_end(c);
    if (c->named_count == NAMED_MAX || find_named(c, name))
        return;
    c->naming = 1;
    c->ranks = 0; /* forget the ranks of the last collective */
    snprintf(c->named[c->named_count++].name, sizeof(c->named->name), "%.*s",
             name.size < sizeof(c->named->name) ? (int)name.size : 0, name.data);
}

void sl_collectives_name_rank(struct sl_collectives *c, int64_t rank)
{
    if (add_rank(c, rank) != 0)
        c->naming = 0;
}

void sl_collectives_name_ranks(struct sl_collectives *c, struct sl_collective_text ranks)
{
    if (read_ranks(c, ranks) != 0)
        c->naming = 0;
}

void sl_collectives_name_end(struct sl_collectives *c)
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

/* ---- collectives ---- */

#define LETTERS_MAX 64

/* Copies the letters of a name in lower case. */
static void put_letters(char *out, struct sl_collective_text name)
{
    size_t size = 0;

    for (size_t i = 0; i < name.size && size < LETTERS_MAX - 1; i++)
        if (isalpha((unsigned char)name.data[i]))
            out[size++] = (char)tolower((unsigned char)name.data[i]);
    out[size] = '\0';
}

/* Names differ between PyTorch versions: "allreduce", "_allgather_base" and "all_to_allv", but in
 * 2.15 "all_reduce" and "allGatherSingleImpl". */
int sl_collective_type(struct sl_collective_text name, enum sl_collective_type *out)
{
    static const struct {
        const char *word;
        enum sl_collective_type type;
    } known[] = {
        {"batchisendirecv", SL_COLLECTIVE_BATCH},
        {"allreduce", SL_COLLECTIVE_ALL_REDUCE},
        {"reducescatter", SL_COLLECTIVE_REDUCE_SCATTER},
        {"allgather", SL_COLLECTIVE_ALL_GATHER},
        {"alltoall", SL_COLLECTIVE_ALL_TO_ALL},
        {"broadcast", SL_COLLECTIVE_BROADCAST},
        {"barrier", SL_COLLECTIVE_BARRIER},
        {"gather", SL_COLLECTIVE_GATHER},
        {"scatter", SL_COLLECTIVE_SCATTER},
        {"reduce", SL_COLLECTIVE_REDUCE},
        {"send", SL_COLLECTIVE_SEND},
        {"recv", SL_COLLECTIVE_RECV},
    };
    char plain[LETTERS_MAX];

    put_letters(plain, name);
    /* broadcastUniqueNCCLID is a step of NCCL's start, without a kernel. */
    if (strstr(plain, "unique"))
        return -EINVAL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(plain, known[i].word)) {
            *out = known[i].type;
            return 0;
        }
    }
    return -EINVAL;
}

static const struct {
    const char *name;
    unsigned bytes;
} dtypes[] = {
    {"", 0},       {"Float", 4},        {"BFloat16", 2},       {"Half", 2},        {"Long", 8},
    {"Int", 4},    {"Byte", 1},         {"Char", 1},           {"Bool", 1},        {"Short", 2},
    {"Double", 8}, {"ComplexFloat", 8}, {"ComplexDouble", 16}, {"ComplexHalf", 4}, {"UInt16", 2},
    {"UInt32", 4}, {"UInt64", 8},       {"Float8", 1}, /* and with a format after it, such as
                                                          "Float8_e4m3fn" */
};

#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

const char *sl_collective_dtype(uint8_t dtype)
{
    return dtype < DTYPES ? dtypes[dtype].name : "";
}

unsigned sl_collective_dtype_bytes(uint8_t dtype)
{
    return dtype < DTYPES ? dtypes[dtype].bytes : 0;
}

uint8_t sl_collective_dtype_number(struct sl_collective_text dtype)
{
    for (size_t i = 1; i < DTYPES; i++)
        if (strlen(dtypes[i].name) == dtype.size &&
            memcmp(dtypes[i].name, dtype.data, dtype.size) == 0)
            return (uint8_t)i;
    return dtype.size > 6 && memcmp(dtype.data, "Float8", 6) == 0 ? DTYPES - 1 : 0;
}

/* ---- message size, call and root ---- */

#define ELEMENTS_MAX (1ll << 48)
#define BYTES_MAX    (1ll << 56)

static uint64_t bytes_of(int64_t elements, unsigned element_bytes)
{
    return element_bytes && elements >= 0 && elements <= ELEMENTS_MAX
               ? (uint64_t)elements * element_bytes
               : SL_MESSAGE_UNKNOWN;
}

int64_t sl_collective_message_bytes(const struct sl_collective_args *told)
{
    unsigned bytes = told->dtype.data ? dtypes[sl_collective_dtype_number(told->dtype)].bytes : 0;
    enum sl_collective_type type;
    uint64_t size = SL_MESSAGE_UNKNOWN;

    if (!told->collective.data || sl_collective_type(told->collective, &type) != 0)
        return -1;
    if (type == SL_COLLECTIVE_BARRIER)
        return 0;
    if (told->message_bytes >= 0)
        size = (uint64_t)told->message_bytes;
    else if (type != SL_COLLECTIVE_BATCH)
        size = sl_message_size(type, bytes_of(told->elements, bytes),
                               bytes_of(told->out_elements, bytes),
                               told->group_size > 0 ? (uint64_t)told->group_size : 0);
    return size <= BYTES_MAX ? (int64_t)size : -1;
}

const char *sl_collective_call(struct sl_collective_text collective)
{
    /* the Python function for a list of tensors, and the function for one tensor */
    static const char *const call[SL_COLLECTIVE_TYPE_COUNT][2] = {
        [SL_COLLECTIVE_ALL_REDUCE] = {"all_reduce", "all_reduce"},
        [SL_COLLECTIVE_REDUCE] = {"reduce", "reduce"},
        [SL_COLLECTIVE_ALL_GATHER] = {"all_gather", "all_gather_into_tensor"},
        [SL_COLLECTIVE_GATHER] = {"gather", "gather"},
        [SL_COLLECTIVE_SCATTER] = {"scatter", "scatter"},
        [SL_COLLECTIVE_BROADCAST] = {"broadcast", "broadcast"},
        [SL_COLLECTIVE_ALL_TO_ALL] = {"all_to_all", "all_to_all_single"},
        [SL_COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", "reduce_scatter_tensor"},
        [SL_COLLECTIVE_BARRIER] = {"barrier", "barrier"},
        [SL_COLLECTIVE_SEND] = {"send", "send"},
        [SL_COLLECTIVE_RECV] = {"recv", "recv"},
        [SL_COLLECTIVE_BATCH] = {"batch_isend_irecv", "batch_isend_irecv"},
    };
    enum sl_collective_type type;
    char plain[LETTERS_MAX];

    if (!collective.data || sl_collective_type(collective, &type) != 0)
        return NULL;
    put_letters(plain, collective);
    /* "_allgather_base", "reduce_scatter_tensor_coalesced", "allToAllSingleImpl", "all_to_allv" */
    return call[type][strstr(plain, "base") || strstr(plain, "tensor") || strstr(plain, "single") ||
                      strstr(plain, "alltoallv")];
}

/* Returns rank number `index` of a list such as "[4, 5]", or -1. The list may be truncated after
 * the rank. */
static int64_t rank_in(struct sl_collective_text text, int64_t index)
{
    const char *p = text.data, *end = text.data + text.size;

    while (p < end && strchr("[, ", *p))
        p++;
    for (int64_t rank = 0; p < end && isdigit((unsigned char)*p); rank = 0) {
        for (; p < end && isdigit((unsigned char)*p) && rank < RANKS_END; p++)
            rank = rank * 10 + (*p - '0');
        if (index-- == 0)
            return rank;
        while (p < end && strchr(", ", *p))
            p++;
    }
    return -1;
}

int64_t sl_collective_root(const struct sl_collective_args *told)
{
    enum sl_collective_type type;
    int64_t root = -1;

    if (!told->collective.data || sl_collective_type(told->collective, &type) != 0 ||
        told->rank < 0 || told->rank >= RANKS_END ||
        (type != SL_COLLECTIVE_BROADCAST && type != SL_COLLECTIVE_REDUCE &&
         type != SL_COLLECTIVE_GATHER && type != SL_COLLECTIVE_SCATTER))
        return -1;
    if (told->group_ranks.data)
        root = rank_in(told->group_ranks, told->rank);
    if (root < 0 && told->group_start >= 0 && told->group_stride > 0 &&
        told->group_start < RANKS_END && told->group_stride < RANKS_END)
        root = told->group_start + told->rank * told->group_stride;
    return root;
}

/* ---- reading ---- */

/* Sets coll->peer, the rank that receives or sends. Returns -EINVAL if the peer was not reported.
 */
static int peer_of(const struct sl_collective_args *told, struct sl_collective *coll)
{
    int64_t peer = coll->type == SL_COLLECTIVE_SEND ? told->dst_rank : told->src_rank;

    if (peer < 0 || peer > INT32_MAX)
        return -EINVAL;
    coll->peer = (int32_t)peer;
    return 0;
}

/* Returns 1 if only `Message size` has the bytes: a batch has several tensors, and tensors of
 * several types have no number of elements. */
static int sums_up(const struct sl_collective *coll, const struct sl_collective_args *told)
{
    return told->message_bytes >= 0 && (coll->type == SL_COLLECTIVE_BATCH || !told->dtype.data);
}

int sl_collectives_read(struct sl_collectives *c, const struct sl_collective_args *told,
                        struct sl_collective *out)
{
    struct sl_collective coll;

    /* The bytes of the struct are the key under which it is interned, so the padding must be 0. */
    memset(&coll, 0, sizeof(coll));
    if (!told->collective.data || sl_collective_type(told->collective, &coll.type) != 0)
        return -EINVAL;
    coll.dtype = told->dtype.data ? sl_collective_dtype_number(told->dtype) : 0;
    coll.message_bytes = sl_collective_message_bytes(told);
    coll.is_shared = told->is_shared || coll.type == SL_COLLECTIVE_BATCH;
    /* 0 bytes are valid, because a rank may take part without contributing data. */
    if (sums_up(&coll, told))
        coll.bytes = (uint64_t)told->message_bytes;
    else if (coll.dtype && told->elements >= 0 && told->elements <= ELEMENTS_MAX)
        coll.bytes = (uint64_t)told->elements * dtypes[coll.dtype].bytes;
    else
        return -EINVAL;
    sl_collectives_name_end(c);
    if ((coll.type == SL_COLLECTIVE_SEND || coll.type == SL_COLLECTIVE_RECV) &&
        peer_of(told, &coll) != 0)
        return -EINVAL;
    if (group_of(c, told, &coll.group) != 0)
        return -EINVAL;
    memcpy(out, &coll, sizeof(coll));
    return 0;
}

uint32_t sl_collectives_put(struct sl_collectives *c, const struct sl_collective_args *told)
{
    struct sl_collective coll;

    return sl_collectives_read(c, told, &coll) == 0
               ? sl_intern_put(c->kinds, (const char *)&coll, sizeof(coll))
               : 0;
}

int sl_collectives_get(const struct sl_collectives *c, uint32_t number, struct sl_collective *out)
{
    const char *bytes = number ? sl_intern_get(c->kinds, number, NULL) : NULL;

    if (bytes)
        memcpy(out, bytes, sizeof(*out));
    return bytes != NULL;
}

void sl_collectives_groups(const struct sl_collectives *c,
                           void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                        size_t ranks),
                           void *user)
{
    for (const struct group *g = c->groups; g; g = g->next)
        take(user, g->number, g->rank, g->ranks);
}

size_t sl_collectives_group_count(const struct sl_collectives *c)
{
    return c->group_count;
}

/* ---- creation and destruction ---- */

int sl_collectives_create(struct sl_collectives **out, size_t cap_bytes)
{
    struct sl_collectives *c = sl_pages_map(sizeof(*c));

    if (!c)
        return -ENOMEM;
    sl_arena_init(&c->arena, cap_bytes / 2, CHUNK);
    if (sl_intern_create(&c->kinds, cap_bytes / 2) != 0) {
        sl_pages_unmap(c, sizeof(*c));
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
    sl_pages_unmap(c, sizeof(*c));
}
