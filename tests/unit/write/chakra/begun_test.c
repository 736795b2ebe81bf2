/*
 * begun_test.c - operators and ranges are reported when they begin, and again when they end. The
 * resulting file must be equal to a file made from complete rows, at whatever times the writer
 * writes the nodes.
 */
#include "event/pattern.h"
#include "unit/write/chakra/say.h"

enum {
    ROWS = 4000,
    LATE_NS = 300000, /* the longest delay of a record, in ns */
    CPU_THREADS = 3
};

static struct sl_event rows[ROWS];
static size_t count;

static struct sl_event begun(struct sl_event ev)
{
    ev.end_ns = SL_END_UNKNOWN;
    return ev;
}

static struct sl_event ended(struct sl_event ev)
{
    ev.flags |= SL_EVF_BEGUN;
    return ev;
}

static void give(struct sl_event ev)
{
    assert_int_equal(sl_chakra_events(f.chakra, &ev, 1), 0);
}

/* ---- a random job ---- */

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static struct sl_event *add(uint8_t kind, const char *name, uint32_t thread, uint64_t start)
{
    struct sl_event *ev = &rows[count++];

    assert_true(count < ROWS);
    *ev = (struct sl_event){
        .kind = kind, .name = text(name), .thread = thread, .start_ns = BASE + start};
    if (kind == SL_EV_CPU_OP || kind == SL_EV_RANGE) {
        /* operators and ranges of a thread are numbered in the order of their beginnings */
        ev->order = (uint32_t)count;
        ev->u.row.sequence = -1;
    }
    return ev;
}

static int has_backward;

/* The time in ns from which the stream of each thread is idle. */
static uint64_t stream_free[CPU_THREADS + 1];

static uint64_t launch_kernel(uint32_t thread, uint64_t at)
{
    uint64_t correlation = count + 1, from;
    struct sl_event *ev = add(SL_EV_RUNTIME, "launch", thread, at);

    ev->flags = SL_EVF_LAUNCH;
    ev->correlation = correlation;
    ev->end_ns = ev->start_ns + 1 + random_below(9000);
    from = ev->end_ns - BASE + random_below(5000);
    /* The operation of a long launch begins before the launch returns. A real caller is in no
     * launch when its backward pass begins, and its worker in none when it ends. */
    if (!has_backward && random_below(6) == 0)
        ev->end_ns = from + BASE + 15000 + random_below(50000);
    uint64_t end = ev->end_ns - BASE;

    if (from <= stream_free[thread])
        from = stream_free[thread] + 1;
    ev = add(SL_EV_KERNEL, "kernel", 0, from);
    ev->stream = 7 + thread;
    ev->correlation = correlation;
    ev->end_ns = ev->start_ns + 1000 + random_below(40000);
    stream_free[thread] = ev->end_ns - BASE;
    return end;
}

static uint64_t poll(uint32_t thread, uint64_t at)
{
    for (unsigned i = random_below(5); i > 0; i--) {
        uint64_t correlation = count + 1;
        struct sl_event *ev = add(SL_EV_RUNTIME, "query", thread, at + random_below(3000));

        ev->correlation = correlation;
        ev->u.call.cbid = EVENT_QUERY;
        ev->u.call.result = SL_RESULT_NOT_READY;
        ev->end_ns = ev->start_ns + 1 + random_below(2000);
        at = ev->end_ns - BASE;
    }
    return at;
}

/* Adds random work of a thread from `at` on. Returns the time at which the work ends. */
static uint64_t do_something(uint32_t thread, uint64_t at, int depth)
{
    unsigned times = 1 + random_below(4);

    for (unsigned i = 0; i < times; i++) {
        at += 100 + random_below(20000);
        if (depth == 0 || random_below(3) == 0) {
            at = poll(thread, launch_kernel(thread, at));
            continue;
        }
        uint8_t kind = random_below(2) ? SL_EV_CPU_OP : SL_EV_RANGE;
        size_t mine = count;

        add(kind, kind == SL_EV_CPU_OP ? "op" : "range", thread, at);
        /* Some operators are forward operators, and some belong to autograd. */
        if (has_backward && kind == SL_EV_CPU_OP && random_below(3) == 0) {
            rows[mine].forward_thread = thread == CPU_THREADS;
            rows[mine].u.row.sequence = random_below(6);
        }
        at = do_something(thread, at, depth - 1) + random_below(3000);
        /* Ranges of two domains may overlap without nesting. */
        rows[mine].end_ns =
            BASE + at + (kind == SL_EV_RANGE && random_below(8) == 0 ? random_below(60000) : 0);
    }
    return at;
}

static void make_job(uint64_t seed)
{
    uint64_t at[CPU_THREADS + 1] = {0};

    random_state = seed;
    has_backward = seed % 4 != 0;
    count = 0;
    memset(stream_free, 0, sizeof(stream_free));
    for (unsigned i = 0; i < 12; i++) {
        unsigned thread = 1 + random_below(CPU_THREADS);

        at[thread] = do_something(thread, at[thread] + random_below(300000), 4);
    }
}

/* ---- the same job, reported in two ways ---- */

struct delivery {
    uint64_t ns, tie;
    struct sl_event ev;
};

static struct delivery deliveries[2 * ROWS];

static int earlier(const void *a, const void *b)
{
    const struct delivery *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->tie < y->tie ? -1 : x->tie > y->tie;
}

static int is_around(const struct sl_event *ev)
{
    return ev->kind == SL_EV_CPU_OP || ev->kind == SL_EV_RANGE;
}

/* Gives all rows to the writer in the order of their arrival. After every `every` rows, reports the
 * time up to which all rows have been given. */
static void say_written(int at_beginnings, unsigned every)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const struct sl_event *ev = &rows[i];

        if (at_beginnings && is_around(ev)) {
            deliveries[n++] = (struct delivery){ev->start_ns, i, begun(*ev)};
            deliveries[n++] = (struct delivery){ev->end_ns, ROWS + i, ended(*ev)};
        } else {
            uint64_t ns = is_around(ev) ? ev->start_ns : ev->end_ns + random_below(LATE_NS);

            deliveries[n++] = (struct delivery){ns, i, *ev};
        }
    }
    qsort(deliveries, n, sizeof(*deliveries), earlier);
    for (size_t i = 0; i < n; i++) {
        give(deliveries[i].ev);
        if (i % every == every - 1 && deliveries[i].ns > BASE + LATE_NS)
            assert_int_equal(sl_chakra_advance(f.chakra, deliveries[i].ns - LATE_NS - 1), 0);
    }
    say_file();
    assert_int_equal(counts().rows_late, 0);
}

static void test_a_job_is_the_same_however_it_is_told(void **state)
{
    static char whole[CASES_TEXT_MOST], how[64];
    const struct text_case told_whole = {.expected = whole};
    unsigned handovers = 0;

    this_case = &told_whole;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        reopen(0);
        make_job(seed);
        say_written(0, ROWS);
        strcpy(whole, said);
        said_size = 0;
        handovers += counts().handovers != 0;
        for (unsigned every = 1; every <= 100; every += 33) {
            reopen(0);
            make_job(seed); /* the names are needed again for the new file */
            say_written(1, every);
            snprintf(how, sizeof(how), ", seed %d, told every %u", (int)seed, every);
            expect_said(how);
        }
    }
    assert_true(handovers > 5);
}

/* ---- single cases ---- */

static void test_its_pieces_go_out_before_it_ends(void **state)
{
    struct sl_event range = {.kind = SL_EV_RANGE,
                             .name = text("step"),
                             .thread = 10,
                             .order = 1,
                             .start_ns = BASE + 1000,
                             .end_ns = BASE + 900000};
    struct dom_file *d;

    range.u.row.sequence = -1;
    give(begun(range));
    launch(10, 10, 15, 1);
    kernel(7, 20, 30, 1, "k");
    advance(500);
    /* the nodes of the gap, of the step, of the launch and of k */
    assert_int_equal(counts().nodes, 4);
    launch(10, 600, 605, 2);
    give(ended(range));
    kernel(7, 610, 620, 2, "k");
    d = read_back();
    assert_int_equal(dom_count(d, "step"), 3);
    assert_int_equal(counts().rows_cut + counts().rows_late, 0);
    for (size_t i = d->nodes; i-- > 0;)
        if (strcmp(d->node[i].name, "step") == 0) {
            assert_int_equal(dom_number(&d->node[i], "start_ns") +
                                 dom_number(&d->node[i], "duration_ns"),
                             900000);
            break;
        }
}

/* The name of an NVTX range is a pattern with numbers. The node has the name with its numbers. */
static void test_a_note_has_its_name(void **state)
{
    struct sl_event note = {.kind = SL_EV_NVTX_RANGE,
                            .thread = 10,
                            .order = 3,
                            .start_ns = BASE,
                            .end_ns = BASE + 1000};
    char pattern[64];
    struct dom_file *d;

    for (unsigned i = 0; i < 2; i++) {
        const char *name = i ? "epoch 3 batch 18" : "epoch 3 batch 17";
        uint32_t number[SL_PATTERN_NUMBERS];
        size_t length = sl_pattern_make(pattern, name, strlen(name), number);

        note.name = sl_intern_put(f.intern, pattern, length);
        note.name_numbers = sl_pattern_pack(number);
        note.order++;
        note.start_ns += 2000;
        note.end_ns += 2000;
        give(begun(note));
        give(ended(note));
    }
    d = read_back();
    assert_int_equal(dom_count(d, "epoch 3 batch 17"), 1);
    assert_int_equal(dom_count(d, "epoch 3 batch 18"), 1);
    for (size_t i = 0; i < d->nodes; i++) {
        assert_null(dom_attr(&d->node[i], "correlation"));
        assert_null(dom_attr(&d->node[i], "seq_id"));
        assert_null(dom_attr(&d->node[i], "rf_id"));
    }
}

/* Any thread may end this range, so no calls are inside it, and it has no node. */
static void test_a_note_that_was_never_begun_is_no_row(void **state)
{
    struct sl_event note = {.kind = SL_EV_NVTX_RANGE,
                            .name = text("any"),
                            .thread = SL_ROW_FIRST,
                            .start_ns = BASE,
                            .end_ns = BASE + 1000};

    give(note);
    kernel(7, 20, 30, 1, "k");
    assert_int_equal(read_back()->nodes, 1);
}

static void test_an_end_without_its_beginning_ends_nothing(void **state)
{
    struct sl_event range = {.kind = SL_EV_RANGE,
                             .name = text("a"),
                             .thread = 10,
                             .order = 1,
                             .start_ns = BASE,
                             .end_ns = BASE + 50000};
    struct sl_event other = range;
    struct dom_file *d;

    range.u.row.sequence = other.u.row.sequence = -1;
    other.order = 2;
    other.end_ns = BASE + 20000;
    give(begun(range));
    give(ended(other));
    other.thread = 11;
    give(ended(other));
    call("call", 10, 30, 40, 1);
    d = read_back(); /* the operator's end is lost, so the operator ends with its thread */
    assert_int_equal(dom_count(d, "a"), 1);
    assert_int_equal(dom_number(dom_find(d, "a"), "duration_ns"), 30000);
}

/* The window's end truncated an operator. Other rows are not delayed by this operator, although a
 * launch would delay them. */
static void test_an_operator_cut_at_the_end_holds_nothing_back(void **state)
{
    struct sl_event op = {.kind = SL_EV_CPU_OP,
                          .flags = SL_EVF_CUT_END,
                          .name = text("op"),
                          .thread = 11,
                          .start_ns = BASE + 1000,
                          .end_ns = BASE + 900000};

    (void)state;
    op.u.row.sequence = -1;
    give(op);
    launch(10, 10, 15, 1);
    kernel(7, 20, 30, 1, "k");
    advance(500);
    assert_int_equal(counts().gpu_nodes, 1);
}

static struct sl_event begun_op(const char *name, uint64_t start)
{
    struct sl_event op = {.kind = SL_EV_CPU_OP,
                          .name = text(name),
                          .thread = 10,
                          .start_ns = BASE + start * 1000,
                          .end_ns = SL_END_UNKNOWN};

    op.order = (uint32_t)start;
    op.u.row.sequence = -1;
    return op;
}

/* Gives an autograd evaluation, and after `wait` microseconds the backward operator inside it. */
static struct dom_file *evaluate(uint64_t wait)
{
    struct sl_event outer = begun_op("autograd::engine::evaluate_function: MulBackward0", 100);
    struct sl_event inner = begun_op("MulBackward0", 100 + wait);

    launch(11, 10, 15, 1);
    kernel(7, 20, 30, 1, "k");
    give(outer);
    advance(99 + wait);
    inner.u.row.sequence = 7;
    inner.forward_thread = 1;
    give(inner);
    advance(101 + wait);
    return read_back();
}

static void test_an_evaluation_waits_for_its_sequence_number(void **state)
{
    struct dom_file *d = evaluate(40000);

    assert_int_equal(counts().sequences_late, 0);
    assert_int_equal(
        dom_number(dom_find(d, "autograd::engine::evaluate_function: MulBackward0"), "seq_id"), 7);
}

static void test_an_evaluation_that_waits_too_long_is_counted(void **state)
{
    struct dom_file *d = evaluate(60000);

    assert_int_equal(counts().sequences_late, 1);
    assert_null(
        dom_attr(dom_find(d, "autograd::engine::evaluate_function: MulBackward0"), "seq_id"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_a_job_is_the_same_however_it_is_told),
        CHAKRA_TEST(test_its_pieces_go_out_before_it_ends),
        CHAKRA_TEST(test_a_note_has_its_name),
        CHAKRA_TEST(test_a_note_that_was_never_begun_is_no_row),
        CHAKRA_TEST(test_an_end_without_its_beginning_ends_nothing),
        CHAKRA_TEST(test_an_operator_cut_at_the_end_holds_nothing_back),
        CHAKRA_TEST(test_an_evaluation_waits_for_its_sequence_number),
        CHAKRA_TEST(test_an_evaluation_that_waits_too_long_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
