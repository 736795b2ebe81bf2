/* note_test.c - rows of the user's ranges: the parts that they share, and the parts that differ. */
#include "unit/write/kineto/fixture.h"

#include "event/pattern.h"

/* Returns a range's row with the pattern and the numbers of the text. */
static struct sl_event note(enum sl_event_kind kind, const char *text, uint64_t from, uint64_t to)
{
    struct sl_event ev = event(kind, 0, from, to);
    uint32_t number[SL_PATTERN_NUMBERS] = {0};
    char pattern[256];
    size_t length = sl_pattern_make(pattern, text, strlen(text), number);

    ev.name = sl_intern_put(f.intern, pattern, length);
    ev.correlation = sl_pattern_pack(number);
    ev.thread = kind == SL_EV_NVTX_RANGE_GPU ? 0 : 4300;
    ev.context = ev.stream = 0;
    return ev;
}

static void a_range_has_its_thread_name_and_times(void **state)
{
    const struct json *e;

    (void)state;
    begin();
    put(note(SL_EV_NVTX_RANGE, "for\"ward", 1000000, 3500000));
    end();
    e = find("cat", "user_annotation", 0);
    assert_non_null(e);
    assert_string_equal(json_text(e, "ph"), "X");
    assert_string_equal(json_text(e, "name"), "for\"ward");
    assert_string_equal(json_text(e, "pid"), "4242");
    assert_string_equal(json_text(e, "tid"), "4300");
    assert_string_equal(json_text(e, "ts"), "1000.000");
    assert_string_equal(json_text(e, "dur"), "2500.000");
    assert_null(find("cat", "user_annotation", 1));
}

static void numbers_in_a_name_are_each_row_s_own(void **state)
{
    struct sl_event first = note(SL_EV_NVTX_RANGE, "epoch 3 batch 17", 1000, 2000);
    struct sl_event second = note(SL_EV_NVTX_RANGE, "epoch 3 batch 18", 2000, 3000);

    (void)state;
    assert_int_equal(first.name, second.name); /* one pattern for both */
    begin();
    put(first);
    put(second);
    end();
    assert_non_null(find("name", "epoch 3 batch 17", 0));
    assert_non_null(find("name", "epoch 3 batch 18", 0));
}

static void a_mark_is_a_moment(void **state)
{
    const struct json *e;

    (void)state;
    begin();
    put(note(SL_EV_NVTX_RANGE_MARK, "saved", 1000, 1000));
    end();
    e = find("name", "saved", 0);
    assert_string_equal(json_text(e, "ph"), "i");
    assert_string_equal(json_text(e, "s"), "t");
    assert_null(json_get(e, "dur"));
}

static void a_span_of_the_gpu_is_its_stream_s(void **state)
{
    struct sl_event ev = note(SL_EV_NVTX_RANGE_GPU, "forward", 5000, 9000);
    const struct json *e;

    (void)state;
    ev.stream = 20;
    ev.shape = intern("\"domain\":\"NCCL\"");
    begin();
    put(device_seen(0));
    put(ev);
    end();
    e = find("cat", "gpu_user_annotation", 0);
    assert_string_equal(json_text(e, "name"), "forward");
    assert_string_equal(json_text(e, "pid"), "0");
    assert_string_equal(json_text(e, "tid"), "20");
    assert_string_equal(arg(e, "domain"), "NCCL");
    assert_string_equal(json_text(e, "dur"), "4.000");
}

/* A row has shared members, a value, a payload with numbers, and a truncated end. All are in one
 * args object. */
static void args_are_one_object_whatever_is_in_them(void **state)
{
    static const double half = 0.5;
    struct sl_event ev = note(SL_EV_NVTX_RANGE, "all", 1000, 2000),
                    value = note(SL_EV_NVTX_RANGE, "v", 1, 2);
    uint32_t number[SL_PATTERN_NUMBERS] = {0};
    char pattern[64];
    const struct json *e;

    (void)state;
    ev.shape = intern("\"domain\":\"job\",\"category\":\"io\"");
    ev.device = SL_NOTE_F64;
    memcpy(&ev.u.note.value, &half, sizeof(half));
    ev.context = sl_intern_put(
        f.intern, pattern,
        sl_pattern_make(pattern, "\"sizes\":[12,34]", strlen("\"sizes\":[12,34]"), number));
    ev.u.note.payload = sl_pattern_pack(number);
    ev.flags = SL_EVF_CUT_START | SL_EVF_CUT_END;
    value.device = SL_NOTE_I64;
    value.u.note.value = (uint64_t)-7;
    begin();
    put(ev);
    put(value);
    end();
    e = find("name", "all", 0);
    assert_string_equal(arg(e, "domain"), "job");
    assert_string_equal(arg(e, "category"), "io");
    assert_string_equal(arg(e, "payload"), "0.5");
    assert_string_equal(json_get(json_get(e, "args"), "sizes")->child->text, "12");
    assert_int_equal(json_get(json_get(e, "args"), "cut start")->type, JSON_BOOL);
    assert_int_equal(json_get(json_get(e, "args"), "cut end")->type, JSON_BOOL);
    assert_string_equal(arg(find("name", "v", 0), "payload"), "-7");
}

static void a_range_that_ended_before_the_window_has_no_row(void **state)
{
    struct sl_event ev = note(SL_EV_NVTX_RANGE, "before", 1000, 1000);

    (void)state;
    ev.flags = SL_EVF_CUT_START | SL_EVF_BEGUN;
    begin();
    put(ev);
    put(note(SL_EV_NVTX_RANGE, "of no time", 2000, 2000));
    end();
    assert_null(find("name", "before", 0));
    assert_non_null(find("name", "of no time", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_range_has_its_thread_name_and_times),
        CASE(numbers_in_a_name_are_each_row_s_own),
        CASE(a_mark_is_a_moment),
        CASE(a_span_of_the_gpu_is_its_stream_s),
        CASE(args_are_one_object_whatever_is_in_them),
        CASE(a_range_that_ended_before_the_window_has_no_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
