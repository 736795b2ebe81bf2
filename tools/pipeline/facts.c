/*
 * facts.c - what the ranks of a pipeline did together, which aligns their clocks.
 *
 * - A receive does not end before its send begins: kernels that PyTorch or NCCL describes, and the
 *   kernels in ranges send_... and recv_... of one micro-batch.
 * - An F does not end before the F of the stage before it has ended, nor a B before that of the
 *   stage behind.
 * - Nobody leaves a collective before the last has begun it (report/peers.h).
 *
 * Threads: one owner. Memory: 80 bytes for each send and receive, and clocks.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/calls.h"
#include "pipeline/schedule.h"
#include "report/peers.h"

/* ---- phases of one micro-batch on two stages ---- */

/* The phases of one iteration of a lane that have a micro-batch, sorted. */
struct index {
    const struct sl_lane_phase **at;
    size_t count;
};

static int64_t key_of(const struct sl_phase_id *id)
{
    return ((int64_t)id->kind << 56) + ((int64_t)(id->chunk < 0 ? 0 : id->chunk) << 32) + id->mb;
}

static int by_key(const void *a, const void *b)
{
    const struct sl_lane_phase *const *x = a, *const *y = b;
    int64_t key_x = key_of(&(*x)->phase->id), key_y = key_of(&(*y)->phase->id);

    if (key_x != key_y)
        return key_x < key_y ? -1 : 1;
    return ((*x)->phase->start_ns > (*y)->phase->start_ns) -
           ((*x)->phase->start_ns < (*y)->phase->start_ns);
}

static int make_index(struct index *out, const struct sl_lane *lane,
                      const struct sl_lane_iteration *it)
{
    out->count = 0;
    out->at = it ? calloc(it->end - it->first + 1, sizeof(*out->at)) : NULL;
    if (!it)
        return 0;
    if (!out->at)
        return -ENOMEM;
    for (size_t i = it->first; i < it->end; i++)
        if (lane->phase[i].phase->id.mb >= 0 && lane->phase[i].phase->kernels)
            out->at[out->count++] = &lane->phase[i];
    if (out->count)
        qsort(out->at, out->count, sizeof(*out->at), by_key);
    return 0;
}

/* Returns the phase if there is exactly one, else NULL. */
static const struct sl_lane_phase *find(const struct index *in, enum sl_phase_kind kind, int32_t mb,
                                        int32_t chunk)
{
    const struct sl_phase_id wanted = {.kind = kind, .mb = mb, .chunk = chunk};
    int64_t key = key_of(&wanted);
    size_t low = 0, high = in->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (key_of(&in->at[middle]->phase->id) < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == in->count || key_of(&in->at[low]->phase->id) != key ||
        (low + 1 < in->count && key_of(&in->at[low + 1]->phase->id) == key))
        return NULL;
    return in->at[low];
}

/* What a phase depends on, on another stage. */
static const struct {
    enum sl_phase_kind of, on;
    int step;        /* the direction of the other stage */
    int begins_with; /* 1: the other one must have begun; 0: it must have ended */
} needs[] = {
    {SL_PHASE_RECV_FORWARD, SL_PHASE_SEND_FORWARD, -1, 1},
    {SL_PHASE_RECV_BACKWARD, SL_PHASE_SEND_BACKWARD, 1, 1},
    {SL_PHASE_F, SL_PHASE_F, -1, 0},
    {SL_PHASE_B, SL_PHASE_B, 1, 0},
};

#define NEEDS (sizeof(needs) / sizeof(needs[0]))

struct need {
    const struct sl_schedule *s;
    const struct sl_lane *lane, *other_lane;
    const struct sl_lane_phase *phase, *other;
    int begins_with;
};

static void visit_stage(const struct sl_schedule *s, const struct sl_pipeline *p, size_t stage,
                        const struct index *index, void (*take)(const struct need *n))
{
    const struct sl_lane *lane = &s->lane[p->lane[stage]];

    for (size_t i = 0; i < index[stage].count; i++) {
        const struct sl_phase_id *id = &index[stage].at[i]->phase->id;
        struct need n = {.s = s, .lane = lane, .phase = index[stage].at[i]};
        int32_t chunk;
        size_t to;

        for (size_t k = 0; k < NEEDS; k++) {
            if (needs[k].of != id->kind ||
                !sl_schedule_neighbour(p, stage, id->chunk, needs[k].step, &to, &chunk) ||
                to == stage)
                continue;
            n.other = find(&index[to], needs[k].on, id->mb, chunk);
            n.other_lane = &s->lane[p->lane[to]];
            n.begins_with = needs[k].begins_with;
            if (n.other)
                take(&n);
        }
    }
}

/* Calls `take` for each phase and what it depends on. Returns 0 or -ENOMEM. */
static int visit(const struct sl_schedule *s, void (*take)(const struct need *n))
{
    int rc = 0;

    for (size_t k = 0; k < s->pipelines && rc == 0; k++) {
        const struct sl_pipeline *p = &s->pipeline[k];
        struct index *index = calloc(p->stages + 1, sizeof(*index));

        if (!index)
            return -ENOMEM;
        for (size_t i = 0; i < p->iterations && rc == 0; i++) {
            for (size_t stage = 0; stage < p->stages && rc == 0; stage++)
                rc = make_index(&index[stage], &s->lane[p->lane[stage]],
                                sl_schedule_of(s, p, i, stage));
            for (size_t stage = 0; stage < p->stages && rc == 0; stage++)
                visit_stage(s, p, stage, index, take);
            for (size_t stage = 0; stage < p->stages; stage++) {
                free(index[stage].at);
                index[stage] = (struct index){0};
            }
        }
        free(index);
    }
    return rc;
}

static void add_fact(const struct need *n)
{
    const struct sl_phase *p = n->phase->phase, *other = n->other->phase;

    sl_clocks_add(n->s->clocks, n->lane->first,
                  sl_schedule_epoch_ns(n->s, n->phase->recording, p->done_ns), n->other_lane->first,
                  sl_schedule_epoch_ns(n->s, n->other->recording,
                                       n->begins_with ? other->begin_ns : other->done_ns));
}

/* ---- sends and receives that are described ---- */

/* Returns the complete iteration of the pipeline in which an operation of a lane began, or
 * SL_LANE_NONE. The first receive of an iteration begins before its first phase. */
static uint32_t iteration_at(const struct sl_schedule *s, const struct sl_lane *lane, int64_t ns)
{
    const struct sl_pipeline *p = &s->pipeline[lane->pipeline];

    for (uint32_t i = 0; i < p->iterations; i++) {
        const struct sl_lane_iteration *it = sl_schedule_of(s, p, i, lane->stage);

        if (it && ns < it->end_ns)
            return p->iteration[i].is_complete ? i : SL_LANE_NONE;
    }
    return SL_LANE_NONE;
}

/* A send or receive that PyTorch or NCCL describes. */
struct message {
    const struct sl_lane *lane;
    uint32_t recording;
    const struct sl_report_pair *pair;
};

struct messages {
    struct message *message;
    struct sl_member *member; /* `item` is the index of its message */
    size_t count;
};

static int collect_messages(const struct sl_schedule *s, struct messages *m)
{
    size_t most = 1;

    for (size_t i = 0; i < s->lanes; i++)
        for (uint32_t r = s->lane[i].first; r < s->lane[i].last; r++)
            most += s->report->recordings.of[r].pairs;
    m->message = calloc(most, sizeof(*m->message));
    m->member = calloc(most, sizeof(*m->member));
    if (!m->message || !m->member)
        return -ENOMEM;
    for (size_t k = 0; k < s->lanes; k++) {
        const struct sl_lane *lane = &s->lane[k];

        if (lane->pipeline == SL_LANE_NONE || lane->rank < 0)
            continue;
        for (uint32_t r = lane->first; r < lane->last; r++)
            for (size_t i = 0; i < s->report->recordings.of[r].pairs; i++) {
                const struct sl_report_pair *pair = &s->report->recordings.of[r].pair[i];
                uint64_t from = (uint64_t)(pair->is_send ? lane->rank : pair->peer) & 0xfffff;
                uint64_t to = (uint64_t)(pair->is_send ? pair->peer : lane->rank) & 0xfffff;
                int64_t start_ns = sl_schedule_epoch_ns(s, r, pair->start_ns);
                uint32_t at = iteration_at(s, lane, start_ns);

                if (at == SL_LANE_NONE || pair->device != lane->device)
                    continue;
                m->message[m->count] = (struct message){lane, r, pair};
                m->member[m->count] =
                    (struct sl_member){.group = (uint64_t)pair->group << 40 | from << 20 | to,
                                       .number = at,
                                       .start_ns = start_ns,
                                       .end_ns = sl_schedule_epoch_ns(s, r, pair->end_ns),
                                       .rank = lane->first,
                                       .source = (uint32_t)pair->is_send,
                                       .item = (uint32_t)m->count};
                m->count++;
            }
    }
    sl_members_sort(m->member, m->count);
    return 0;
}

/* Returns 1 if two ranks recorded the same number of messages to each other in an iteration. */
static int is_matched(const struct sl_member *m, size_t count)
{
    size_t size;

    for (size_t i = 0; i < count; i += size) {
        size = sl_members_call(&m[i], count - i);
        if (size != 2 || m[i].source == m[i + 1].source)
            return 0;
    }
    return 1;
}

/* Calls `take` for each message that was found on both ranks. Returns 0 or -ENOMEM. */
static int visit_messages(const struct sl_schedule *s,
                          int (*take)(const struct sl_schedule *s, const struct message *send,
                                      const struct message *receive))
{
    struct messages m = {0};
    int rc = collect_messages(s, &m);

    for (size_t i = 0, end; i < m.count && rc == 0; i = end) {
        for (end = i; end < m.count && m.member[end].group == m.member[i].group &&
                      m.member[end].number == m.member[i].number;
             end++)
            ;
        if (!is_matched(&m.member[i], end - i))
            continue;
        for (size_t k = i; k < end && rc == 0; k += 2)
            rc = take(s, &m.message[m.member[m.member[k].source ? k : k + 1].item],
                      &m.message[m.member[m.member[k].source ? k + 1 : k].item]);
    }
    free(m.message);
    free(m.member);
    return rc;
}

static int add_message(const struct sl_schedule *s, const struct message *send,
                       const struct message *receive)
{
    sl_clocks_add(s->clocks, receive->lane->first,
                  sl_schedule_epoch_ns(s, receive->recording, receive->pair->end_ns),
                  send->lane->first,
                  sl_schedule_epoch_ns(s, send->recording, send->pair->start_ns));
    return 0;
}

/* ---- all ---- */

int sl_schedule_align(struct sl_schedule *s)
{
    const struct sl_recordings *all = &s->report->recordings;
    int rc = sl_peers_clocks(all, &s->clocks);

    if (rc == 0)
        rc = sl_peers_bound(all, s->clocks);
    if (rc == 0)
        rc = visit_messages(s, add_message);
    if (rc == 0)
        rc = visit(s, add_fact);
    return rc ? rc : sl_clocks_solve(s->clocks);
}

/* Returns by how much the sender began later than the receiver, or 0 if that is below the error of
 * the clocks. */
static uint64_t lateness(const struct sl_schedule *s, const struct sl_lane *sender,
                         int64_t began_ns, const struct sl_lane *receiver, int64_t ns)
{
    int64_t own_ns, error_ns = 0;

    if (sl_clocks_reference(s->clocks, receiver->first) !=
        sl_clocks_reference(s->clocks, sender->first))
        return 0;
    own_ns = sl_schedule_own_ns(s, receiver, sl_schedule_common_ns(s, sender, began_ns));
    if (!sl_clocks_is_shared(s->clocks, receiver->first, sender->first))
        error_ns = (int64_t)(sl_clocks_error_ns(s->clocks, sender->first, began_ns) +
                             sl_clocks_error_ns(s->clocks, receiver->first, own_ns));
    return own_ns - ns > error_ns ? (uint64_t)(own_ns - ns) : 0;
}

static void find_wait(const struct need *n)
{
    struct sl_phase *p = n->phase->phase;
    uint64_t late_ns;

    if (!n->begins_with)
        return;
    late_ns = lateness(n->s, n->other_lane,
                       sl_schedule_epoch_ns(n->s, n->other->recording, n->other->phase->begin_ns),
                       n->lane, sl_schedule_epoch_ns(n->s, n->phase->recording, p->begin_ns));
    if (late_ns)
        p->ready_ns = late_ns < p->done_ns - p->begin_ns ? p->begin_ns + late_ns : p->done_ns;
}

/* Returns the index of the operation of a message, or the number of operations. */
static size_t op_of(const struct sl_recording *r, const struct sl_report_pair *pair)
{
    size_t low = 0, high = r->ops;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_op *op = &r->op[middle];

        if (op->device < pair->device ||
            (op->device == pair->device && op->start_ns < pair->start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    while (low < r->ops && r->op[low].device == pair->device &&
           r->op[low].start_ns == pair->start_ns && r->op[low].correlation != pair->correlation)
        low++;
    return low < r->ops && r->op[low].correlation == pair->correlation ? low : r->ops;
}

static int find_message_wait(const struct sl_schedule *s, const struct message *send,
                             const struct message *receive)
{
    const struct sl_recording *r = &s->report->recordings.of[receive->recording];
    struct sl_phases *phases = &s->phases[receive->recording];
    uint64_t late_ns = lateness(
        s, send->lane, sl_schedule_epoch_ns(s, send->recording, send->pair->start_ns),
        receive->lane, sl_schedule_epoch_ns(s, receive->recording, receive->pair->start_ns));
    size_t op = op_of(r, receive->pair);

    if (!late_ns || op == r->ops)
        return 0;
    if (!phases->ready_ns)
        phases->ready_ns = calloc(r->ops, sizeof(*phases->ready_ns));
    if (!phases->ready_ns)
        return -ENOMEM;
    phases->ready_ns[op] = r->op[op].start_ns + late_ns;
    return 0;
}

int sl_schedule_find_waits(struct sl_schedule *s)
{
    int rc = visit(s, find_wait);

    return rc ? rc : visit_messages(s, find_message_wait);
}
