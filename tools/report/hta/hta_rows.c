/*
 * hta_rows.c - reads trace files as HTA does.
 *
 * Threads, memory: see hta_rows.h.
 */
#include "report/hta/hta_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "read/grow.h"
#include "read/trace_file.h"
#include "read/unescape.h"

#define NAME_MAX_BYTES (64u << 10)
#define LANES_BYTES    (64u << 20)

/* HTA pairs each call with each GPU row of a correlation id, which no memory can hold if the ids
 * are wrong. */
#define CALLS_MAX 64

/* Doubles hold whole numbers exactly up to this. */
#define EXACT_MAX (INT64_C(1) << 53)

/* ---- names ---- */

static int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Returns whether the name has `part` after `skip` letters, before a line break. The points of
 * HTA's regular expressions stop there. */
static int has_after(const char *name, size_t skip, const char *part)
{
    const char *found = strlen(name) < skip ? NULL : strstr(name + skip, part);

    return found && found < name + strcspn(name, "\n");
}

/* ^nccl.*Kernel */
static int is_communication(const char *name)
{
    return begins(name, "nccl") && has_after(name, 4, "Kernel");
}

static enum sl_hta_work work_of(const char *name)
{
    if (is_communication(name))
        return SL_HTA_COMMUNICATION;
    if (begins(name, "Memcpy") || begins(name, "Memset") || begins(name, "dma"))
        return SL_HTA_MEMORY;
    if (has_after(name, 0, "Memcpy") || has_after(name, 0, "Sync"))
        return SL_HTA_OTHER;
    return SL_HTA_COMPUTATION;
}

static int is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return 1;
    return 0;
}

static uint8_t about_name(const char *name)
{
    static const char *const of_statistics[] = {"cudaLaunchKernel", "cudaLaunchKernelExC",
                                                "cudaMemcpyAsync", "cudaMemsetAsync", NULL};
    static const char *const of_queue[] = {"cuLaunchKernel",
                                           "hipLaunchKernel",
                                           "hipExtModuleLaunchKernel",
                                           "hipMemsetAsync",
                                           "hipMemcpyAsync",
                                           "hipMemcpyWithStream",
                                           NULL};
    unsigned about = work_of(name);

    if (is_one_of(name, of_statistics))
        about |= SL_HTA_LAUNCHES | SL_HTA_QUEUES;
    if (is_one_of(name, of_queue))
        about |= SL_HTA_QUEUES;
    if (begins(name, "cuLaunchKernel") ||
        (begins(name, "cuda") && has_after(name, 4, "LaunchKernel")))
        about |= SL_HTA_LAUNCHES_KERNEL;
    if (begins(name, "aten::"))
        about |= SL_HTA_OPERATOR;
    if (strstr(name, "ProfilerStep"))
        about |= SL_HTA_HAS_STEP;
    if (strcmp(name, "Event Sync") == 0 || strcmp(name, "Context Sync") == 0)
        about |= SL_HTA_SYNC;
    return (uint8_t)about;
}

const char *sl_hta_work_name(enum sl_hta_work work)
{
    static const char *const names[] = {"COMPUTATION", "COMMUNICATION", "MEMORY", "OTHER"};

    return names[work];
}

int32_t sl_hta_step_number(const char *name)
{
    const char *at = name + strlen("ProfilerStep");

    if (!begins(name, "ProfilerStep"))
        return SL_HTA_NO_STEP;
    at += strspn(at, " \t\n\r\f\v");
    if (*at++ != '#')
        return SL_HTA_NO_STEP;
    at += strspn(at, " \t\n\r\f\v");
    return *at >= '0' && *at <= '9' ? (int32_t)(strtoul(at, NULL, 10) & INT32_MAX) : SL_HTA_NO_STEP;
}

/* ---- rows ---- */

struct reading {
    struct sl_hta *hta;
    struct sl_hta_rank *out;
    struct sl_recordings *all;
    struct sl_intern *lane_ids; /* an id is an index into `lane` of the rank, plus 1 */
    uint32_t last_lane;
    struct sl_header header;
    const char *path;
    int is_left_out;
    uint64_t invalid;
    int failed; /* -ENOMEM */
    char room[NAME_MAX_BYTES];
};

/* Returns the double nearest to the microseconds, as a JSON parser makes it. The quotient of two
 * exact doubles is rounded correctly. Beyond them the distance of neighbours is so large that the
 * error of the fraction does not matter. */
static double microseconds(int64_t ns)
{
    int64_t whole;

    if (ns < EXACT_MAX && ns > -EXACT_MAX)
        return (double)ns / 1000.0;
    whole = ns / 1000;
    return (double)whole + (double)(ns - whole * 1000) / 1000.0;
}

static uint32_t lane_of(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_hta_rank *out = r->out;
    const struct sl_hta_lane lane = {row->pid.is_number ? row->pid.number : -1,
                                     row->tid.is_number ? row->tid.number : -1};
    const struct sl_hta_lane *last = out->lanes ? &out->lane[r->last_lane] : NULL;
    struct sl_hta_lane *added;
    uint32_t id;

    if (last && last->pid == lane.pid && last->tid == lane.tid)
        return r->last_lane;
    id = sl_intern_put(r->lane_ids, (const char *)&lane, sizeof(lane));
    if (id > out->lanes) {
        added = sl_grow((void **)&out->lane, &out->lanes, &out->lane_slots, sizeof(*added));
        if (added)
            *added = lane;
    }
    if (id == 0 || id > out->lanes) {
        r->failed = -ENOMEM;
        return 0;
    }
    return r->last_lane = id - 1;
}

/* Returns whether a table needs the row and not only its times. */
static int is_wanted(const struct reading *r, const struct sl_trace_row *row, struct sl_text name)
{
    return (r->hta->needs & SL_HTA_NEED_ALL) || (row->has & (SL_HAS_CORRELATION | SL_HAS_STREAM)) ||
           row->category == SL_CAT_USER_ANNOTATION || row->category == SL_CAT_GPU_USER_ANNOTATION ||
           ((r->hta->needs & SL_HTA_NEED_OPERATORS) && sl_text_begins(name, "aten::")) ||
           (name.data && memmem(name.data, name.size, "ProfilerStep", 12) != NULL);
}

static double bandwidth_of(const struct sl_trace_row *row)
{
    char digits[64];

    if (!row->bandwidth.data || row->bandwidth.data[0] == '"')
        return 0;
    sl_text_copy(digits, sizeof(digits), row->bandwidth);
    return strtod(digits, NULL);
}

static void add_row(struct reading *r, const struct sl_trace_row *row, uint64_t index,
                    struct sl_text name, struct sl_hta_time time)
{
    struct sl_hta_row *to =
        sl_grow((void **)&r->out->row, &r->out->rows, &r->out->row_slots, sizeof(*to));

    if (!to) {
        r->failed = -ENOMEM;
        return;
    }
    to->ts = time.ts;
    to->dur = time.dur;
    to->correlation = row->has & SL_HAS_CORRELATION ? row->correlation : -1;
    to->bandwidth = bandwidth_of(row);
    to->index = (uint32_t)index;
    to->name = sl_intern_put(r->all->names, name.data ? name.data : "", name.size);
    to->stream = row->has & SL_HAS_STREAM ? row->stream : -1;
    to->lane = lane_of(r, row);
    to->category = row->category;
}

static void take_row(struct reading *r, const struct sl_trace_row *row, uint64_t index)
{
    struct sl_hta_time time, *other;
    struct sl_text name;
    double ts;

    if (row->category == SL_CAT_NONE || !(row->has & SL_HAS_DUR) || !(row->has & SL_HAS_TS) ||
        sl_text_is(row->category_text, "Trace"))
        return;
    ts = microseconds(row->ts_ns);
    time.ts = (int64_t)ceil(ts);
    time.dur = (int64_t)floor(ts + microseconds(row->dur_ns)) - time.ts;
    if (index == 0) {
        r->out->has_first_row = 1;
        r->out->first_row_ts = time.ts;
    }
    name = sl_unescaped(row->name, r->room, sizeof(r->room));
    if (is_wanted(r, row, name)) {
        add_row(r, row, index, name, time);
        return;
    }
    other = sl_grow((void **)&r->out->other, &r->out->others, &r->out->other_slots, sizeof(*other));
    if (other)
        *other = time;
    else
        r->failed = -ENOMEM;
}

static void take_field(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    sl_header_value(&((struct reading *)user)->header, path, type, value);
}

static void leave_out_file(struct sl_hta *h, const char *path)
{
    h->left_out++;
    h->left_path = path;
}

/* Returns whether the header says that the file does not count. */
static int is_left_out(const struct reading *r)
{
    struct sl_hta *h = r->hta;

    if (!r->header.has_rank)
        return 0;
    if (h->wanted >= 0 && r->header.rank != h->wanted) {
        h->of_others++;
        return 1;
    }
    for (size_t i = 0; i < h->count; i++)
        if (h->of[i].rank == r->header.rank && r->all->of[i].header.has_rank &&
            r->all->of[i].header.base_ns > r->header.base_ns) {
            leave_out_file(h, r->path);
            return 1;
        }
    return 0;
}

static void take_item(struct reading *r, struct sl_trace *t, struct sl_trace_item *item)
{
    if (item->status) {
        r->invalid++;
        return;
    }
    if (item->span.kind == SL_SPAN_FIELD)
        sl_trace_visit(t, &item->span, take_field, r, &item->error);
    if (item->span.kind == SL_SPAN_EVENTS_OPEN)
        r->is_left_out = is_left_out(r);
    if (item->span.kind != SL_SPAN_EVENT)
        return;
    sl_trace_take_rank(t, item, &r->header);
    take_row(r, &item->row, item->index);
}

/* Reads all rows. Returns an exit status. */
static int read_file(struct reading *r, const struct sl_command *command, const char *path)
{
    struct sl_input_status input;
    struct sl_trace_item *item;
    struct sl_trace *t = NULL;
    const char *strange;
    char why[512];
    int status = SL_EXIT_OK;

    if (sl_trace_open(&t, path, why, sizeof(why)) != 0)
        return sl_args_complain(command, "%s", why);
    sl_trace_show(t, "reading", path);
    while (sl_trace_next(t, &item) && !r->failed && !r->is_left_out)
        take_item(r, t, item);
    if (r->is_left_out) {
        sl_trace_close(t);
        return SL_EXIT_OK;
    }
    sl_trace_get_status(t, &input);
    strange = sl_trace_not_one(t, &item->span, &input);
    if (r->failed)
        status = sl_args_complain(command, "not enough memory to read %s", path);
    else if (strange)
        status = sl_args_complain(command, "%s is not a Kineto trace: %s", path, strange);
    else if (item->span.kind != SL_SPAN_END || input.end != SL_INPUT_WHOLE)
        status = sl_args_problem(command,
                                 "%s is truncated or damaged: the tables are of the part before "
                                 "(HTA refuses such a file)",
                                 path);
    else if (r->invalid)
        status = sl_args_problem(command,
                                 "%s: left out: %" PRIu64
                                 " events that are not valid JSON or too long (HTA refuses such a "
                                 "file): `syncline check` shows more",
                                 path, r->invalid);
    sl_trace_close(t);
    return status;
}

static void free_rank(struct sl_hta_rank *r)
{
    free(r->row);
    free(r->other);
    free(r->lane);
    free(r->first_member);
    free(r->member);
    free(r->step_ts);
    free(r->step);
    memset(r, 0, sizeof(*r));
}

int sl_hta_read(struct sl_hta *h, struct sl_recordings *all, const struct sl_command *command,
                const char *path)
{
    struct reading *r = calloc(1, sizeof(*r));
    struct sl_recording *recording = &all->of[all->count];
    int status;

    if (!r)
        return sl_args_complain(command, "not enough memory to read %s", path);
    r->hta = h;
    r->all = all;
    r->out = &h->of[h->count];
    r->path = path;
    if (sl_intern_create(&r->lane_ids, LANES_BYTES) != 0)
        status = sl_args_complain(command, "not enough memory to read %s", path);
    else
        status = read_file(r, command, path);
    if (status == SL_EXIT_USAGE || r->is_left_out) {
        free_rank(r->out);
    } else {
        r->out->rank = r->header.has_rank ? r->header.rank : 0;
        recording->path = path;
        recording->header = r->header;
        recording->status = status;
        h->count++;
        all->count++;
    }
    sl_intern_destroy(r->lane_ids);
    free(r);
    return status;
}

int sl_hta_create(struct sl_hta **out, size_t most)
{
    struct sl_hta *h = calloc(1, sizeof(*h));

    if (h)
        h->of = calloc(most + 1, sizeof(*h->of));
    if (!h || !h->of) {
        free(h);
        return -ENOMEM;
    }
    *out = h;
    return 0;
}

void sl_hta_free(struct sl_hta *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->count; i++)
        free_rank(&h->of[i]);
    free(h->of);
    free(h->about);
    free(h);
}

/* ---- rows with the same correlation id ---- */

struct key {
    uint64_t correlation;
    uint32_t row;
};

/* Sorts by the correlation id, and keeps the order of equal keys. Sorts by 16 bits at a time.
 * Returns 0 or -ENOMEM. */
static int sort_keys(struct key *keys, size_t count)
{
    struct key *from = keys, *to = malloc((count + 1) * sizeof(*to));
    size_t *place = malloc((1u << 16) * sizeof(*place)), at;

    if (!to || !place) {
        free(to);
        free(place);
        return -ENOMEM;
    }
    for (int shift = 0; shift < 64; shift += 16) {
        struct key *other = to;

        memset(place, 0, (1u << 16) * sizeof(*place));
        for (size_t i = 0; i < count; i++)
            place[from[i].correlation >> shift & 0xffff]++;
        if (count && place[from[0].correlation >> shift & 0xffff] == count)
            continue;
        at = 0;
        for (size_t i = 0; i < 1u << 16; i++) {
            size_t here = place[i];

            place[i] = at;
            at += here;
        }
        for (size_t i = 0; i < count; i++)
            other[place[from[i].correlation >> shift & 0xffff]++] = from[i];
        to = from;
        from = other;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof(*keys));
    free(from == keys ? to : from);
    free(place);
    return 0;
}

/* Links each row of a group to the last row of the other side, as HTA does. The rows are in the
 * order of the file. Returns 0 if there are too many calls. */
static int link_group(struct sl_hta_rank *r, const struct key *key, size_t count)
{
    uint32_t last[2] = {0, 0};
    size_t calls = 0;

    for (size_t i = 0; i < count; i++) {
        last[r->row[key[i].row].is_gpu] = r->row[key[i].row].index;
        calls += !r->row[key[i].row].is_gpu;
    }
    for (size_t i = 0; i < count; i++) {
        struct sl_hta_row *row = &r->row[key[i].row];

        row->group = calls > CALLS_MAX ? 0 : r->groups;
        row->link = calls > CALLS_MAX ? 0 : (int32_t)last[!row->is_gpu];
    }
    return calls <= CALLS_MAX;
}

/* Returns 0 or -ENOMEM. */
static int link_rows(struct sl_hta_rank *r)
{
    struct key *key = malloc((r->rows + 1) * sizeof(*key));
    size_t count = 0, end;

    if (!key)
        return -ENOMEM;
    for (size_t i = 0; i < r->rows; i++) {
        r->row[i].link = r->row[i].correlation < 0 ? (int32_t)r->row[i].correlation : 0;
        if (r->row[i].correlation != -1)
            key[count++] = (struct key){(uint64_t)r->row[i].correlation, (uint32_t)i};
    }
    if (sort_keys(key, count) != 0) {
        free(key);
        return -ENOMEM;
    }
    r->groups = 1;
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && key[end].correlation == key[i].correlation;)
            end++;
        if (link_group(r, key + i, end - i))
            r->groups++;
        else
            r->unlinked += end - i;
    }
    free(key);
    return 0;
}

/* Lists the members of each group. Returns 0 or -ENOMEM. */
static int list_members(struct sl_hta_rank *r)
{
    uint32_t at = 0;

    r->first_member = calloc((size_t)r->groups + 2, sizeof(*r->first_member));
    r->member = malloc((r->rows + 1) * sizeof(*r->member));
    if (!r->first_member || !r->member)
        return -ENOMEM;
    for (size_t i = 0; i < r->rows; i++)
        r->first_member[r->row[i].group + 1]++;
    for (uint32_t g = 0; g <= r->groups; g++) {
        at += r->first_member[g];
        r->first_member[g] = at;
    }
    /* Each group begins at the place before, until its members are in it. */
    for (int is_gpu = 0; is_gpu < 2; is_gpu++)
        for (size_t i = 0; i < r->rows; i++)
            if (r->row[i].is_gpu == is_gpu)
                r->member[r->first_member[r->row[i].group]++] = (uint32_t)i;
    memmove(r->first_member + 1, r->first_member, r->groups * sizeof(*r->first_member));
    r->first_member[0] = 0;
    return 0;
}

const struct sl_hta_row *sl_hta_launch(const struct sl_hta_rank *r, const struct sl_hta_row *row)
{
    if (!row->group || row->link <= 0)
        return NULL;
    for (uint32_t i = r->first_member[row->group]; i < r->first_member[row->group + 1]; i++)
        if (r->row[r->member[i]].index == (uint32_t)row->link)
            return &r->row[r->member[i]];
    return NULL;
}

/* ---- steps ---- */

static const char *name_of(const struct sl_hta *h, const struct sl_hta_row *row)
{
    const char *name = sl_intern_get(h->names, row->name, NULL);

    return name ? name : "";
}

static int order_of_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static size_t place_of(const int64_t *times, size_t count, int64_t ts)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (times[middle] <= ts)
            low = middle + 1;
        else
            high = middle;
    }
    return low; /* the number of times that are not after `ts` */
}

int32_t sl_hta_step(const struct sl_hta_rank *r, int64_t ts)
{
    size_t place = place_of(r->step_ts, r->steps, ts);

    return place ? r->step[place - 1] : SL_HTA_NO_STEP;
}

/* Returns the first time from `at` on that has no step yet. `next` leads towards it. */
static size_t unset_from(uint32_t *next, size_t at)
{
    while (next[at] != at) {
        next[at] = next[next[at]];
        at = next[at];
    }
    return at;
}

/* Sets the number of the step in the time of a row, where it is not set yet. */
static void paint(struct sl_hta_rank *r, uint32_t *next, const struct sl_hta_row *row)
{
    size_t at = unset_from(next, place_of(r->step_ts, r->steps, row->ts) - 1);

    while (at < r->steps && r->step_ts[at] < row->ts + row->dur) {
        r->step[at] = row->step;
        next[at] = (uint32_t)(at + 1);
        at = unset_from(next, at);
    }
}

/* Finds the step at each time. Where rows of steps overlap, such as one of the CPU and one of the
 * GPU, the last in the file counts. Returns 0 or -ENOMEM. */
static int find_steps(const struct sl_hta *h, struct sl_hta_rank *r)
{
    size_t rows = 0, times = 0;
    uint32_t *next, *row;

    for (size_t i = 0; i < r->rows; i++)
        rows += begins(name_of(h, &r->row[i]), "ProfilerStep");
    r->step_ts = malloc((2 * rows + 1) * sizeof(*r->step_ts));
    r->step = malloc((2 * rows + 1) * sizeof(*r->step));
    next = malloc((2 * rows + 2) * sizeof(*next));
    row = malloc((rows + 1) * sizeof(*row));
    if (!r->step_ts || !r->step || !next || !row) {
        free(next);
        free(row);
        return -ENOMEM;
    }
    rows = 0;
    for (size_t i = 0; i < r->rows; i++) {
        if (!begins(name_of(h, &r->row[i]), "ProfilerStep"))
            continue;
        row[rows++] = (uint32_t)i;
        r->row[i].step = sl_hta_step_number(name_of(h, &r->row[i]));
        r->step_ts[times++] = r->row[i].ts;
        r->step_ts[times++] = r->row[i].ts + r->row[i].dur;
    }
    qsort(r->step_ts, times, sizeof(*r->step_ts), order_of_times);
    for (size_t i = 0; i < times; i++)
        if (r->steps == 0 || r->step_ts[i] != r->step_ts[r->steps - 1])
            r->step_ts[r->steps++] = r->step_ts[i];
    for (size_t i = 0; i <= r->steps; i++)
        next[i] = (uint32_t)i;
    for (size_t i = 0; i < r->steps; i++)
        r->step[i] = SL_HTA_NO_STEP;
    for (size_t i = rows; i-- > 0;)
        if (r->row[row[i]].step != SL_HTA_NO_STEP)
            paint(r, next, &r->row[row[i]]);
    free(next);
    free(row);
    return 0;
}

/* The step of a GPU row is that of the call that launched it. */
static void set_steps(struct sl_hta_rank *r)
{
    for (size_t i = 0; i < r->rows; i++) {
        struct sl_hta_row *row = &r->row[i];
        const struct sl_hta_row *launch = row->stream > 0 ? sl_hta_launch(r, row) : NULL;

        if (row->stream < 0)
            row->step = sl_hta_step(r, row->ts);
        else
            row->step = launch ? sl_hta_step(r, launch->ts) : SL_HTA_NO_STEP;
    }
}

/* ---- the rows that count ---- */

/* Returns the number of different names of steps in all ranks. */
static size_t count_step_names(const struct sl_hta *h)
{
    size_t count = 0;

    for (uint32_t id = 1; id <= sl_intern_count(h->names); id++)
        count += (h->about[id] & SL_HTA_HAS_STEP) != 0;
    return count;
}

/* Returns the time before which rows of the CPU count, or INT64_MIN if the rank has no step. With
 * the last step, HTA compares times from the begin of all ranks with the end of that step, from
 * which the begin (`base`) is not subtracted, so that usually all rows count. */
static int64_t find_limit(const struct sl_hta *h, const struct sl_hta_rank *r, int64_t base)
{
    int64_t limit = INT64_MIN;

    for (size_t i = 0; i < r->rows; i++) {
        const struct sl_hta_row *row = &r->row[i];
        int64_t before = h->keeps_last ? row->ts + row->dur + base + 1 : row->ts;

        if (!row->is_gpu && (h->about[row->name] & SL_HTA_HAS_STEP) && before > limit)
            limit = before;
    }
    return limit;
}

/* Leaves out the rows of the CPU from the limit on. Rows of the GPU come first then, as in HTA's
 * data frame. Returns 0 or -ENOMEM. */
static int leave_out(struct sl_hta_rank *r, int64_t limit)
{
    uint32_t *times = calloc((size_t)r->groups + 1, sizeof(*times));
    size_t count = 0, at = 0, others = 0;
    struct sl_hta_row *kept;

    if (!times)
        return -ENOMEM;
    for (size_t i = 0; i < r->rows; i++)
        if (!r->row[i].is_gpu && r->row[i].ts < limit)
            times[r->row[i].group]++;
    times[0] = 0; /* a row of the GPU without a correlation id does not count */
    for (size_t i = 0; i < r->rows; i++)
        count += r->row[i].is_gpu ? times[r->row[i].group] : r->row[i].ts < limit;
    kept = malloc((count + 1) * sizeof(*kept));
    if (!kept) {
        free(times);
        return -ENOMEM;
    }
    for (size_t i = 0; i < r->rows; i++)
        for (uint32_t k = 0; r->row[i].is_gpu && k < times[r->row[i].group]; k++)
            kept[at++] = r->row[i];
    r->first_cpu = at;
    for (size_t i = 0; i < r->rows; i++)
        if (!r->row[i].is_gpu && r->row[i].ts < limit)
            kept[at++] = r->row[i];
    for (size_t i = 0; i < r->others; i++)
        if (r->other[i].ts < limit)
            r->other[others++] = r->other[i];
    r->others = others;
    r->has_first_row &= r->first_row_ts < limit;
    free(r->row);
    r->row = kept;
    r->rows = at;
    free(times);
    return 0;
}

static void set_range(struct sl_hta_rank *r)
{
    r->first_ts = INT64_MAX;
    r->last_ts = INT64_MIN;
    for (size_t i = 0; i < r->rows; i++) {
        r->first_ts = r->row[i].ts < r->first_ts ? r->row[i].ts : r->first_ts;
        r->last_ts = r->row[i].ts > r->last_ts ? r->row[i].ts : r->last_ts;
    }
    for (size_t i = 0; i < r->others; i++) {
        r->first_ts = r->other[i].ts < r->first_ts ? r->other[i].ts : r->first_ts;
        r->last_ts = r->other[i].ts > r->last_ts ? r->other[i].ts : r->last_ts;
    }
    if (r->rows + r->others == 0)
        r->first_ts = r->last_ts = 0;
}

/* ---- all ranks together ---- */

/* Subtracts the earliest start of all ranks from all times, and returns it. */
static int64_t align(struct sl_hta *h)
{
    int64_t base = INT64_MAX;

    for (size_t i = 0; i < h->count; i++) {
        set_range(&h->of[i]);
        if (h->of[i].rows + h->of[i].others && h->of[i].first_ts < base)
            base = h->of[i].first_ts;
    }
    for (size_t i = 0; i < h->count; i++) {
        for (size_t k = 0; k < h->of[i].rows; k++)
            h->of[i].row[k].ts -= base;
        for (size_t k = 0; k < h->of[i].others; k++)
            h->of[i].other[k].ts -= base;
        h->of[i].first_row_ts -= base;
    }
    return base;
}

static int learn_names(struct sl_hta *h, const struct sl_intern *names)
{
    uint32_t count = sl_intern_count(names);

    h->names = names;
    h->about = calloc((size_t)count + 1, 1);
    if (!h->about)
        return -ENOMEM;
    for (uint32_t id = 1; id <= count; id++)
        h->about[id] = about_name(sl_intern_get(names, id, NULL));
    for (size_t i = 0; i < h->count; i++)
        for (size_t k = 0; k < h->of[i].rows; k++) {
            struct sl_hta_row *row = &h->of[i].row[k];

            row->is_gpu = (row->stream >= 0 && row->correlation >= 0) ||
                          (h->about[row->name] & SL_HTA_SYNC) != 0;
        }
    return 0;
}

static int finish_rank(const struct sl_hta *h, struct sl_hta_rank *r, int64_t base, int leaves_out)
{
    int rc = link_rows(r);

    if (rc == 0)
        rc = find_steps(h, r);
    if (rc == 0)
        rc = list_members(r);
    if (rc)
        return rc;
    set_steps(r);
    if (leaves_out) {
        free(r->first_member);
        free(r->member);
        r->first_member = r->member = NULL;
        rc = leave_out(r, find_limit(h, r, base));
        if (rc == 0)
            rc = list_members(r);
    }
    set_range(r);
    return rc;
}

/* Sorts the ranks, and leaves out all files but the latest of a rank. A rank and its recording are
 * moved together. */
static void choose(struct sl_hta *h, struct sl_recordings *all)
{
    size_t kept = 0;

    for (size_t i = 0; i < h->count; i++) {
        struct sl_hta_rank one = h->of[i];
        struct sl_recording recording = all->of[i];
        size_t at = kept;

        if (h->wanted >= 0 && one.rank != h->wanted) {
            h->of_others++;
            free_rank(&one);
            continue;
        }
        while (at > 0 && h->of[at - 1].rank > one.rank)
            at--;
        if (at > 0 && h->of[at - 1].rank == one.rank) {
            int is_later = recording.header.base_ns >= all->of[at - 1].header.base_ns;

            leave_out_file(h, is_later ? all->of[at - 1].path : recording.path);
            free_rank(is_later ? &h->of[at - 1] : &one);
            if (is_later) {
                h->of[at - 1] = one;
                all->of[at - 1] = recording;
            }
            continue;
        }
        memmove(&h->of[at + 1], &h->of[at], (kept - at) * sizeof(*h->of));
        memmove(&all->of[at + 1], &all->of[at], (kept - at) * sizeof(*all->of));
        h->of[at] = one;
        all->of[at] = recording;
        kept++;
    }
    h->count = all->count = kept;
}

/* Returns an exit status. */
static int tell_unlinked(const struct sl_hta *h, const struct sl_recordings *all,
                         const struct sl_command *command)
{
    int status = SL_EXIT_OK;

    for (size_t i = 0; i < h->count; i++)
        if (h->of[i].unlinked)
            status = sl_args_problem(command,
                                     "%s: %zu events have correlation ids that more than %d calls "
                                     "share (were files of several processes merged?), so their "
                                     "launches are unknown",
                                     all->of[i].path, h->of[i].unlinked, CALLS_MAX);
    return status;
}

int sl_hta_finish(struct sl_hta *h, struct sl_recordings *all, const struct sl_command *command)
{
    int64_t base;
    int rc = 0, leaves_out;

    choose(h, all);
    if (h->left_out)
        sl_args_complain(command,
                         "HTA reads one file of a rank: the latest counts; left out: %zu file%s, "
                         "such as %s",
                         h->left_out, h->left_out == 1 ? "" : "s", h->left_path);
    if (h->count == 0 && h->of_others)
        return sl_args_complain(command, "no file is of rank %" PRId64, h->wanted);
    if (h->count == 0)
        return SL_EXIT_USAGE;
    rc = learn_names(h, all->names);
    if (rc == 0) {
        base = align(h);
        leaves_out = count_step_names(h) > 1;
        for (size_t i = 0; i < h->count && rc == 0; i++)
            rc = finish_rank(h, &h->of[i], base, leaves_out);
    }
    if (rc)
        return sl_args_complain(command, "not enough memory for the report");
    return tell_unlinked(h, all, command);
}
