/* ownership_test.c - which client owns CUPTI. Tests each transition of the table in
 * docs/architecture.md, and the rule that syncline forces no flush after CUPTI was silent for some
 * time. */
#include "test.h"

#include "session/ownership.h"

#define MS 1000000ull

/* Times and buffer numbers of most rows. */
enum {
    REAL = 5000, /* CLOCK_REALTIME */
    SURE = 3000, /* time of the last check that found CUPTI to be owned by syncline */
    TURN = 7     /* the number of buffers that CUPTI has requested */
};

enum fact {
    WANTED = 1 << 0,  /* syncline wants its kinds enabled */
    OFF_DUE = 1 << 1, /* kinds are not wanted, and will be disabled when CUPTI requests a buffer
                         from syncline */
    SIGN = 1 << 2,    /* CUPTI has requested a buffer since syncline began to wait for a request */
    ASKED = 1 << 3,   /* CUPTI has requested a buffer since another client took CUPTI */
    UNUSED = 1 << 4,  /* CUPTI has never requested a buffer */
    SUBSCRIBER = 1 << 5, /* syncline uses CUPTI's newer interface */
    GAP = 1 << 6,        /* a gap has begun */
};

struct transition {
    enum sl_ownership_state state;
    uint32_t facts; /* before */
    enum sl_ownership_event event;
    enum sl_ownership_state next;
    uint32_t actions, facts_after; /* compared in facts_after: only WANTED, OFF_DUE and GAP */
};

#define OURS   SL_OWN_OURS
#define HANDED SL_OWN_HANDED_OVER
#define TAKEN  SL_OWN_TAKEN_OVER
#define EV(x)  SL_OWN_EV_##x
#define ACT(x) SL_OWN_ACT_##x

#define TAKE (ACT(NEED_FILE) | ACT(BEGIN_GAP) | ACT(YIELD))

static const struct transition table[] = {
    /* A peer (another client) asks for CUPTI, and waits until syncline has released CUPTI. */
    {OURS, WANTED, EV(PEER_ASKED), OURS, ACT(RELEASE), WANTED},
    {OURS, OFF_DUE, EV(PEER_ASKED), OURS, ACT(RELEASE), 0},
    {HANDED, GAP, EV(PEER_ASKED), HANDED, ACT(PEER_GOES_ON), GAP},
    {TAKEN, GAP | OFF_DUE, EV(PEER_ASKED), TAKEN, ACT(PEER_GOES_ON), GAP | OFF_DUE},
    {OURS, WANTED, EV(RELEASED), HANDED, ACT(BEGIN_GAP) | ACT(PEER_GOES_ON), WANTED | GAP},
    {TAKEN, GAP, EV(RELEASED), HANDED, ACT(BEGIN_GAP) | ACT(PEER_GOES_ON), GAP},

    /* Another client took CUPTI and did not wait for syncline. */
    {OURS, WANTED, EV(PEER_DID_NOT_WAIT), TAKEN, TAKE, WANTED | GAP},
    {OURS, SUBSCRIBER, EV(PEER_DID_NOT_WAIT), TAKEN, TAKE & ~ACT(YIELD), GAP},
    {HANDED, GAP, EV(PEER_DID_NOT_WAIT), HANDED, 0, GAP},
    {TAKEN, GAP, EV(PEER_DID_NOT_WAIT), TAKEN, 0, GAP},
    {OURS, OFF_DUE, EV(CLOCK_CHANGED), TAKEN, ACT(SAY_TAKEN_OVER) | TAKE, GAP | OFF_DUE},
    {TAKEN, GAP, EV(CLOCK_CHANGED), TAKEN, 0, GAP},
    {HANDED, GAP, EV(CLOCK_CHANGED), HANDED, 0, GAP},
    {OURS, UNUSED, EV(NEVER_ASKED), TAKEN, ACT(SAY_NEVER_ASKED) | TAKE, GAP},
    {OURS, 0, EV(NEVER_ASKED), OURS, 0, 0},
    {HANDED, GAP | UNUSED, EV(NEVER_ASKED), HANDED, 0, GAP},
    {TAKEN, GAP | UNUSED, EV(NEVER_ASKED), TAKEN, 0, GAP},

    /* The peer has left. */
    {HANDED, GAP, EV(PEER_LEFT), HANDED, ACT(ATTACH), GAP},
    {TAKEN, GAP, EV(PEER_LEFT), TAKEN, ACT(ATTACH), GAP},
    {OURS, 0, EV(PEER_LEFT), OURS, ACT(ATTACH), 0},
    {HANDED, GAP, EV(ATTACHED), OURS, ACT(END_GAP) | ACT(PEER_RETURNED), GAP},
    {HANDED, GAP | WANTED, EV(ATTACHED), OURS,
     ACT(END_GAP) | ACT(TELL_KINDS_ON) | ACT(PEER_RETURNED), GAP | WANTED},
    {TAKEN, GAP, EV(ATTACHED), OURS, ACT(END_GAP) | ACT(PEER_RETURNED), GAP},
    {HANDED, GAP, EV(ATTACH_REFUSED), HANDED, ACT(DETACH) | ACT(SAY_REFUSED) | ACT(PEER_RETURNED),
     GAP},
    {TAKEN, GAP, EV(ATTACH_REFUSED), HANDED, ACT(DETACH) | ACT(SAY_REFUSED) | ACT(PEER_RETURNED),
     GAP},
    {OURS, GAP, EV(GAP_ENDED), OURS, 0, 0},

    /* CUPTI requests a buffer from syncline, so no other client has CUPTI. */
    {TAKEN, GAP, EV(BUFFERS), TAKEN, 0, GAP},
    {TAKEN, GAP | ASKED, EV(BUFFERS), OURS, ACT(SET_UP) | ACT(END_GAP), GAP},
    {TAKEN, GAP | ASKED | WANTED, EV(BUFFERS), OURS,
     ACT(SET_UP) | ACT(KINDS_BACK) | ACT(END_GAP) | ACT(TELL_KINDS_ON), GAP | WANTED},
    {TAKEN, GAP | ASKED | SUBSCRIBER, EV(BUFFERS), OURS, ACT(END_GAP), GAP},
    {OURS, ASKED | WANTED, EV(BUFFERS), OURS, 0, WANTED},
    {HANDED, ASKED | GAP, EV(BUFFERS), HANDED, 0, GAP},

    /* Changes of kinds. */
    {OURS, 0, EV(KINDS_WANTED), OURS, ACT(KINDS_ON) | ACT(TELL_KINDS_ON), WANTED},
    {TAKEN, GAP, EV(KINDS_WANTED), TAKEN, ACT(TELL_KINDS_ON), GAP | WANTED},
    {HANDED, GAP, EV(KINDS_WANTED), HANDED, 0, GAP | WANTED},
    {OURS, OFF_DUE, EV(KINDS_WANTED), OURS, 0, WANTED}, /* the kinds are still on */
    {OURS, WANTED, EV(KINDS_UNWANTED), OURS, 0, OFF_DUE},
    {OURS, WANTED | SIGN, EV(KINDS_UNWANTED), OURS, ACT(CHECK_CLOCK), OFF_DUE},
    {OURS, WANTED | SUBSCRIBER, EV(KINDS_UNWANTED), OURS, ACT(CHECK_CLOCK), OFF_DUE},
    {TAKEN, GAP | WANTED | SIGN, EV(KINDS_UNWANTED), TAKEN, 0, GAP | OFF_DUE},
    {HANDED, GAP | WANTED | SIGN, EV(KINDS_UNWANTED), HANDED, 0, GAP},
    {OURS, OFF_DUE, EV(SIGN), OURS, 0, OFF_DUE},
    {OURS, OFF_DUE | SIGN, EV(SIGN), OURS, ACT(CHECK_CLOCK), OFF_DUE},
    {OURS, OFF_DUE | SUBSCRIBER, EV(SIGN), OURS, ACT(CHECK_CLOCK), OFF_DUE},
    {OURS, WANTED | SIGN, EV(SIGN), OURS, 0, WANTED},
    {TAKEN, GAP | OFF_DUE | SIGN, EV(SIGN), TAKEN, 0, GAP | OFF_DUE},
    {OURS, OFF_DUE, EV(CLOCK_CHECKED), OURS, ACT(KINDS_OFF), 0},
    {TAKEN, GAP | OFF_DUE, EV(CLOCK_CHECKED), TAKEN, 0, GAP | OFF_DUE},
    {OURS, WANTED, EV(CLOCK_CHECKED), OURS, 0, WANTED},

    /* These events change only a stored time or number. */
    {OURS, WANTED, EV(CLOCK_KEPT), OURS, 0, WANTED},
    {TAKEN, GAP, EV(CLOCK_KEPT), TAKEN, 0, GAP},
    {OURS, WANTED, EV(WINDOW_ENDED), OURS, 0, WANTED},
    {HANDED, GAP, EV(PEER_COMPLETE), HANDED, 0, GAP},
    {HANDED, GAP, EV(PEER_MAY_FLUSH), HANDED, 0, GAP}, /* the peer may flush for ten seconds */
    {HANDED, GAP, EV(PEER_STRANDED), HANDED, 0, GAP},
    {TAKEN, GAP, EV(PEER_STRANDED), TAKEN, 0, GAP},
    {OURS, 0, EV(PEER_STRANDED), OURS, 0, 0},
};

static struct sl_ownership before(enum sl_ownership_state state, uint32_t facts)
{
    return (struct sl_ownership){
        .state = state,
        .are_kinds_wanted = (facts & WANTED) != 0,
        .is_off_due = (facts & OFF_DUE) != 0,
        .awaited = {.turn = facts & SIGN ? TURN - 1 : TURN},
        .sure_ns = SURE,
        .release_ns = SURE,
        .gap_since_ns = facts & GAP ? SURE - 1 : 0,
        .taken_over_turn = facts & ASKED ? TURN - 1 : TURN,
    };
}

static struct sl_ownership_now at(uint32_t facts)
{
    return (struct sl_ownership_now){
        .monotonic_ns = 1,
        .real_ns = REAL,
        .buffers = {.turn = facts & UNUSED ? 0 : TURN},
        .has_subscriber = (facts & SUBSCRIBER) != 0,
    };
}

static void each_transition_of_the_table(void **state)
{
    int is_covered[SL_OWN_EVENTS] = {0};

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        const struct transition *t = &table[i];
        struct sl_ownership o = before(t->state, t->facts);
        struct sl_ownership_now now = at(t->facts);
        uint32_t actions = sl_ownership_step(&o, t->event, &now), after;

        after = (o.are_kinds_wanted ? WANTED : 0) | (o.is_off_due ? OFF_DUE : 0) |
                (o.gap_since_ns ? GAP : 0);
        if (actions != t->actions || o.state != t->next || after != t->facts_after)
            fail_msg("row %zu: actions %#x, state %d, facts %#x", i, actions, (int)o.state, after);
        is_covered[t->event] = 1;
    }
    for (int i = 0; i < SL_OWN_EVENTS; i++)
        assert_int_equal(is_covered[i], 1);
}

/* ---- values that the transitions store ---- */

static uint32_t step(struct sl_ownership *o, enum sl_ownership_event event, uint64_t ns,
                     uint64_t turn)
{
    struct sl_ownership_now now = {.monotonic_ns = ns, .real_ns = ns, .buffers = {.turn = turn}};

    return sl_ownership_step(o, event, &now);
}

static void a_process_begins_with_the_kinds_on_or_without_cupti(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 0, 40, 90);
    assert_int_equal(o.state, OURS);
    assert_true(o.are_kinds_wanted && o.sure_ns == 40 && !o.gap_since_ns);
    sl_ownership_init(&o, 0, 0, 90);
    assert_true(!o.are_kinds_wanted && o.sure_ns == 90 && !o.gap_since_ns);
    sl_ownership_init(&o, 1, 40, 90);
    assert_int_equal(o.state, HANDED);
    assert_int_equal(o.gap_since_ns, 40);
}

/* The gap's start is the time at which the recorder began to release CUPTI. */
static void a_gap_begins_where_the_release_began(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 0, 10, 10);
    step(&o, EV(PEER_ASKED), 100, 1);
    assert_int_equal(sl_ownership_gap_from(&o, 0), 0);
    step(&o, EV(RELEASED), 150, 1);
    assert_int_equal(sl_ownership_gap_from(&o, 0), 100);
    assert_int_equal(sl_ownership_gap_from(&o, 120), 120); /* a window opened during the gap */
    step(&o, EV(ATTACHED), 200, 1);
    /* the gap's start is stored until the gap has been reported */
    assert_int_equal(sl_ownership_gap_from(&o, 0), 100);
    step(&o, EV(GAP_ENDED), 201, 1);
    assert_int_equal(sl_ownership_gap_from(&o, 0), 0);
}

static void a_gap_without_a_word_begins_at_the_last_sure_look(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 0, 10, 10);
    step(&o, EV(CLOCK_KEPT), 50, 3);
    step(&o, EV(CLOCK_CHANGED), 80, 3);
    assert_int_equal(o.gap_since_ns, 50);
    /* A request before the loss of CUPTI does not show that syncline owns CUPTI again. */
    assert_int_equal(step(&o, EV(BUFFERS), 90, 3), 0);
    assert_int_equal(step(&o, EV(BUFFERS), 95, 4),
                     ACT(SET_UP) | ACT(KINDS_BACK) | ACT(END_GAP) | ACT(TELL_KINDS_ON));
    /* The next gap must not begin before the end of this gap. */
    step(&o, EV(GAP_ENDED), 96, 4);
    step(&o, EV(CLOCK_CHANGED), 97, 4);
    assert_int_equal(o.gap_since_ns, 96);
}

static void a_sign_counts_from_the_end_of_the_window(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 0, 10, 10);
    step(&o, EV(WINDOW_ENDED), 20, 5);
    assert_int_equal(step(&o, EV(KINDS_UNWANTED), 21, 5), 0);
    assert_int_equal(step(&o, EV(SIGN), 22, 5), 0);
    assert_int_equal(step(&o, EV(SIGN), 23, 6), ACT(CHECK_CLOCK));
    assert_int_equal(step(&o, EV(CLOCK_CHECKED), 24, 6), ACT(KINDS_OFF));
    assert_int_equal(step(&o, EV(SIGN), 25, 7), 0);
}

static void a_recorder_that_was_never_asked_waits_for_the_exit(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 0, 10, 10);
    step(&o, EV(NEVER_ASKED), 20, 1);
    assert_false(o.never_asked);
    step(&o, EV(NEVER_ASKED), 20, 0);
    assert_true(o.never_asked);
    sl_ownership_init(&o, 1, 10, 10);
    step(&o, EV(NEVER_ASKED), 20, 0);
    assert_true(o.never_asked);
}

/* ---- fetching the peer's buffers ---- */

static void what_is_stranded_is_fetched_ten_times_a_second(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 1, 10, 10);
    assert_int_equal(step(&o, EV(PEER_STRANDED), 1000 * MS, 1), 0);
    assert_int_equal(o.fetch_due_ns, 1100 * MS);
    assert_int_equal(step(&o, EV(PEER_STRANDED), 1099 * MS, 1), 0);
    assert_int_equal(step(&o, EV(PEER_STRANDED), 1100 * MS, 1), ACT(FETCH));
    assert_int_equal(step(&o, EV(PEER_STRANDED), 1101 * MS, 1), 0);
    assert_int_equal(step(&o, EV(PEER_STRANDED), 1200 * MS, 1), ACT(FETCH));
    step(&o, EV(PEER_COMPLETE), 1201 * MS, 1);
    assert_int_equal(o.fetch_due_ns, 0);
}

static void a_peer_that_may_flush_yet_has_ten_seconds(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 1, 10, 10);
    assert_int_equal(step(&o, EV(PEER_MAY_FLUSH), 1000 * MS, 1), 0);
    assert_int_equal(step(&o, EV(PEER_MAY_FLUSH), 10999 * MS, 1), 0);
    assert_int_equal(step(&o, EV(PEER_MAY_FLUSH), 11000 * MS, 1), ACT(FETCH));
    /* The peer flushes, and a call of another thread is recorded after the flush. */
    sl_ownership_init(&o, 1, 10, 10);
    step(&o, EV(PEER_MAY_FLUSH), 1000 * MS, 1);
    assert_int_equal(step(&o, EV(PEER_STRANDED), 2000 * MS, 1), 0);
    assert_int_equal(step(&o, EV(PEER_STRANDED), 2100 * MS, 1), ACT(FETCH));
}

/* ---- forced flushes after CUPTI was silent ---- */

static void note(struct sl_ownership *o, uint64_t ms, uint64_t turn, int is_complete,
                 size_t records)
{
    struct sl_ownership_now now = {.monotonic_ns = ms * MS, .buffers = {turn, 1}};

    sl_ownership_note_flush(o, &now, is_complete, records);
}

static int may_force(const struct sl_ownership *o, uint64_t ms, int has_subscriber)
{
    struct sl_ownership_now now = {.monotonic_ns = ms * MS, .has_subscriber = has_subscriber};

    return sl_ownership_may_force(o, &now);
}

static void note_four(struct sl_ownership *o)
{
    sl_ownership_init(o, 0, 10, 10);
    note(o, 1000, 1, 0, 2);
    for (int i = 1; i <= 4; i++)
        note(o, 1000 + (uint64_t)i, 1, 1, 2);
}

static void a_silent_cupti_is_not_forced(void **state)
{
    struct sl_ownership o;

    note_four(&o);
    assert_true(may_force(&o, 1999, 0)); /* CUPTI was silent for less than a second */
    assert_false(may_force(&o, 2000, 0));
    assert_true(may_force(&o, 2000, 1)); /* a subscriber's buffers belong to no other client */
    /* Four flushes are needed. The time between the flushes does not matter. */
    sl_ownership_init(&o, 0, 10, 10);
    note(&o, 1000, 1, 0, 2);
    for (int i = 1; i <= 3; i++)
        note(&o, 1000 + 500 * (uint64_t)i, 1, 1, 2);
    assert_true(may_force(&o, 5000, 0));
}

static void whatever_cupti_does_ends_the_silence(void **state)
{
    struct sl_ownership o;

    note_four(&o);
    note(&o, 1900, 2, 1, 2); /* CUPTI has requested a buffer */
    assert_true(may_force(&o, 2800, 0));
    note_four(&o);
    note(&o, 1900, 1, 1, 3); /* CUPTI has written a record */
    assert_true(may_force(&o, 2800, 0));
    note_four(&o);
    note(&o, 1900, 1, 0, 2); /* a record is pending */
    assert_true(may_force(&o, 2800, 0));
}

static void a_cupti_of_another_is_not_forced(void **state)
{
    struct sl_ownership o;

    sl_ownership_init(&o, 1, 10, 10);
    assert_false(may_force(&o, 1, 0));
    sl_ownership_init(&o, 0, 10, 10);
    assert_true(may_force(&o, 1, 0));
    step(&o, EV(CLOCK_CHANGED), 20, 1);
    assert_false(may_force(&o, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_transition_of_the_table),
        cmocka_unit_test(a_process_begins_with_the_kinds_on_or_without_cupti),
        cmocka_unit_test(a_gap_begins_where_the_release_began),
        cmocka_unit_test(a_gap_without_a_word_begins_at_the_last_sure_look),
        cmocka_unit_test(a_sign_counts_from_the_end_of_the_window),
        cmocka_unit_test(a_recorder_that_was_never_asked_waits_for_the_exit),
        cmocka_unit_test(what_is_stranded_is_fetched_ten_times_a_second),
        cmocka_unit_test(a_peer_that_may_flush_yet_has_ten_seconds),
        cmocka_unit_test(a_silent_cupti_is_not_forced),
        cmocka_unit_test(whatever_cupti_does_ends_the_silence),
        cmocka_unit_test(a_cupti_of_another_is_not_forced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
