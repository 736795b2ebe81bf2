/* event_test.c - the record of an event has all its attributes. Pushes and pops return the nesting
 * levels that NVTX specifies, even if the thread's lane (its ring buffer) is full. An ended thread
 * gets no new lane. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "test.h"

#include <pthread.h>

#include "collect/lane/step.h"
#include "collect/nvtx/layout.h"
#include "event/event.h"
#include "unit/collect/nvtx/records.h"

static int init(void **state)
{
    return sl_nvtx_init(8 << 20);
}

/* An event has all attributes with their greatest lengths. It fits into a record. */
static void the_longest_event_fits_into_a_record(void **state)
{
    static char text[2 * SL_LANE_TEXT_MAX];
    nvtxPayloadData_t payloads[SL_NVTX_PAYLOADS];
    const struct sl_nvtx_event ev = {
        .message = {.text = text, .length = sizeof(text)},
        .category = 7,
        .has_category = 1,
        .color = 0xff00aa11,
        .has_color = 1,
        .value_type = SL_NOTE_I64,
        .value = (uint64_t)-3,
        .payloads = payloads,
        .payload_count = SL_NVTX_PAYLOADS,
    };
    const struct said *s;

    memset(text, 't', sizeof(text));
    for (size_t i = 0; i < SL_NVTX_PAYLOADS; i++)
        payloads[i] = (nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, sizeof(text), text};
    for (unsigned round = 0; round < 1000; round++) {
        sl_nvtx_record_past(SL_LANE_PAST, 3, &ev, 5, 9);
        s = only(SL_LANE_PAST);
        assert_int_equal(s->record.domain, 3);
        assert_true(s->start_ns == 5 && s->end_ns == 9);
        assert_true(s->category == 7 && s->color == 0xff00aa11);
        assert_true(s->value_type == SL_NOTE_I64 && s->value == (uint64_t)-3);
        assert_int_equal(strlen(s->text), SL_LANE_TEXT_MAX);
        assert_int_equal(strspn(s->text, "t"), SL_LANE_TEXT_MAX);
        assert_non_null(strstr(s->json, "\"payload\":[\"tttt"));
        assert_non_null(strstr(s->json, ",\"cut payload\":true"));
        assert_true(s->record.pairs * 2 <= SL_LANE_RECORD_WORDS);
    }
}

/* The lane is full. Only the room for pops without attributes is left, so a pop with attributes
 * loses its attributes. */
static void pops_of_a_full_lane_are_there(void **state)
{
    static char text[SL_LANE_TEXT_MAX];
    const struct sl_nvtx_event ev = {.message = {.text = text, .length = sizeof(text)}};
    int depth = 0, at = 0;

    memset(text, 't', sizeof(text));
    while (sl_nvtx_push(0, &ev) == depth && sl_lane_mine->skipped[0] == 0)
        depth++;
    assert_int_equal(sl_nvtx_push(0, &ev), depth + 1);
    assert_int_equal(sl_nvtx_pop(0, &ev), depth + 1);
    assert_int_equal(sl_nvtx_pop(0, &ev), depth);
    for (int i = depth - 1; i >= 0; i--)
        assert_int_equal(sl_nvtx_pop(0, &ev), i);
    assert_int_equal(sl_nvtx_pop(0, &ev), -2);
    read_said();
    for (unsigned i = 0; i < said_count; i++) {
        at += said[i].record.what == SL_LANE_PUSH ? 1 : -1;
        assert_in_range(at, 0, depth);
    }
    assert_int_equal(at, 0);
    assert_int_equal(said_count, 2 * depth);
    /* The lane has room again, so ranges have records again. */
    assert_int_equal(sl_nvtx_push(0, &ev), 0);
    assert_int_equal(sl_nvtx_pop(0, &ev), 0);
    assert_int_equal(read_said(), 2);
}

static uint64_t begun[100];

static void *finish_all(void *user)
{
    (void)user;
    for (size_t i = 0; i < sizeof(begun) / sizeof(*begun); i++)
        sl_nvtx_finish(0, begun[i]);
    sl_nvtx_finish(0, 0); /* no range has the id 0 */
    return NULL;
}

/* Very many ranges begin on one thread and end on another, as with coroutines. Neither thread uses
 * memory for ended ranges. */
static void ranges_that_end_on_other_threads_take_no_room(void **state)
{
    const struct sl_nvtx_event ev = {.message = {.text = "range", .length = 5}};
    const size_t count = sizeof(begun) / sizeof(*begun);

    for (int round = 0; round < 1500; round++) {
        pthread_t other;

        for (size_t i = 0; i < count; i++) {
            begun[i] = sl_nvtx_begin(0, &ev);
            assert_true(begun[i] != 0);
        }
        assert_int_equal(pthread_create(&other, NULL, finish_all, NULL), 0);
        pthread_join(other, NULL);
        assert_int_equal(read_said(), 2 * count);
        assert_true(said[0].id == begun[0] && said[0].record.what == SL_LANE_PUSH);
        assert_true(said[count].id == begun[0] && said[count].record.what == SL_LANE_POP);
    }
}

static void ranges_called_as_steps_are_steps(void **state)
{
    const struct sl_nvtx_event step = {.message = {.text = "ProfilerStep#7", .length = 14}},
                               next = {.message = {.string = 3}, .step = 8 + 1},
                               earlier = {.message = {.text = "ProfilerStep#2", .length = 14}},
                               other = {.message = {.text = "ProfilerStep#", .length = 13}};

    assert_int_equal(sl_step_number(), 0);
    sl_nvtx_push(0, &step);
    sl_nvtx_pop(0, NULL);
    assert_int_equal(sl_step_number(), 7);
    sl_nvtx_end(0, sl_nvtx_start(2, &next), NULL);
    assert_int_equal(sl_step_number(), 8);
    sl_nvtx_push(0, &other);
    sl_nvtx_pop(0, NULL);
    assert_int_equal(sl_step_number(), 8);
    read_said();
    sl_nvtx_push(0, &earlier); /* the numbering of ranges continues */
    sl_nvtx_pop(0, NULL);
    assert_int_equal(sl_step_number(), 9);
    assert_int_equal(read_said(), 2);
    assert_string_equal(said[0].text, "ProfilerStep#9");
    assert_string_equal(said[0].json, "\"called\":\"ProfilerStep#2\"");
}

/* ---- ended threads ---- */

static pthread_key_t late;

static void after_the_end(void *user)
{
    const struct sl_nvtx_event ev = {.message = {.text = "late", .length = 4}};
    int *levels = user;

    /* This destructor of a thread-specific value registers itself again and so runs several times,
     * because the lane's own destructor may run after it. */
    levels[2]++;
    if (levels[2] < 3) {
        pthread_setspecific(late, user);
        return;
    }
    levels[0] = sl_nvtx_push(0, &ev);
    levels[1] = sl_nvtx_pop(0, NULL);
}

static void *push_twice(void *user)
{
    pthread_setspecific(late, user);
    sl_nvtx_push_string(0, 1);
    sl_nvtx_push_string(5, 1);
    return NULL;
}

static void a_thread_that_has_ended_has_no_ranges(void **state)
{
    int levels[3] = {0, 0, 0};
    unsigned used;
    uint64_t lost = sl_lanes_lost();
    pthread_t thread;

    assert_int_equal(pthread_key_create(&late, after_the_end), 0);
    assert_int_equal(pthread_create(&thread, NULL, push_twice, levels), 0);
    pthread_join(thread, NULL);
    used = sl_lanes_used();
    assert_int_equal(levels[2], 3);
    assert_true(levels[0] < 0 && levels[1] < 0);
    assert_true(sl_lanes_lost() > lost);
    assert_int_equal(read_said(), 2);
    assert_int_equal(pthread_create(&thread, NULL, push_twice, levels), 0);
    pthread_join(thread, NULL);
    assert_int_equal(sl_lanes_used(), used); /* the next thread gets the ended thread's lane */
    read_said();
    pthread_key_delete(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_event_fits_into_a_record),
        cmocka_unit_test(pops_of_a_full_lane_are_there),
        cmocka_unit_test(ranges_that_end_on_other_threads_take_no_room),
        cmocka_unit_test(ranges_called_as_steps_are_steps),
        cmocka_unit_test(a_thread_that_has_ended_has_no_ranges),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
