/* nvtx_read_test.c - ranges, marks, locks and names out of records, in whichever order the lanes of
 * several threads are read; and rows stay valid when there is no room for their texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collect/nvtx_names.h"
#include "collect/nvtx_read.h"
#include "event/pattern.h"
#include "unit/write/json_dom.h"
#include "write/json.h"

enum {
    ONE = 11, /* threads */
    TWO = 22,
};

static struct sl_intern *intern;
static struct sl_ranges *ranges;
static struct sl_nvtx_read *reader;

/* Rows of ranges, marks and names of rows, as they came. */
static struct sl_event row[4096];
static unsigned rows;
static struct sl_nvtx_name named[16];
static uint32_t named_as[16];
static unsigned nameds;

static void take_row(void *user, const struct sl_event *ev)
{
    assert_ptr_equal(user, row);
    assert_true(rows < sizeof(row) / sizeof(*row));
    row[rows++] = *ev;
}

static void take_name(void *user, const struct sl_nvtx_name *what, uint32_t name)
{
    assert_ptr_equal(user, row);
    assert_true(nameds < sizeof(named) / sizeof(*named));
    named[nameds] = *what;
    named_as[nameds++] = name;
}

static int begin_with(size_t texts_bytes)
{
    const struct sl_ranges_options of_ranges = {.sink = take_row, .sink_user = row};
    struct sl_nvtx_read_options opt = {
        .texts_bytes = texts_bytes, .user = row, .sink = take_row, .named = take_name};

    rows = nameds = 0;
    if (sl_intern_create(&intern, 1 << 20) || sl_ranges_create(&ranges, &of_ranges))
        return -1;
    sl_ranges_window(ranges, 0, UINT64_MAX);
    opt.intern = intern;
    opt.ranges = ranges;
    return sl_nvtx_read_create(&reader, &opt);
}

static int begin(void **state)
{
    (void)state;
    return begin_with(1 << 18);
}

static int begin_small(void **state)
{
    (void)state;
    return begin_with(600);
}

static int end(void **state)
{
    (void)state;
    sl_nvtx_read_destroy(reader);
    sl_ranges_destroy(ranges);
    sl_intern_destroy(intern);
    return 0;
}

/* ---- records ---- */

/* One that is being made; its parts are added in the order of enum sl_lane_part. */
static struct {
    struct sl_lane_record record;
    uint64_t word[2 * SL_LANE_RECORD_WORDS];
    unsigned words;
} made;

static void make(enum sl_lane_what what, unsigned domain, uint32_t aux)
{
    memset(&made, 0, sizeof(made));
    made.record = (struct sl_lane_record){.what = (uint8_t)what, .domain = (uint16_t)domain};
    made.record.aux = aux;
}

static void add_words(uint8_t part, const uint64_t *word, unsigned count)
{
    made.record.parts |= part;
    memcpy(made.word + made.words, word, count * sizeof(*word));
    made.words += count;
}

static void add_look(uint8_t parts, uint32_t category, uint32_t color)
{
    add_words(parts, (const uint64_t[]){category | (uint64_t)color << 32}, 1);
}

static void add_id(uint64_t id)
{
    add_words(SL_LANE_HAS_ID, &id, 1);
}

static void add_text(uint8_t part, const char *text)
{
    uint64_t length = strlen(text);

    add_words(part, &length, 1);
    memcpy(made.word + made.words, text, length);
    made.words += (unsigned)((length + 7) / 8);
}

static void hand_over(uint32_t thread, uint64_t ns)
{
    made.record.pairs = (uint8_t)((made.words + 3) / 2);
    sl_nvtx_read_record(reader, thread, &made.record, ns);
}

static void plain(enum sl_lane_what what, uint32_t aux, uint32_t thread, uint64_t ns)
{
    make(what, 0, aux);
    hand_over(thread, ns);
}

static void push(const char *text, uint32_t thread, uint64_t ns)
{
    make(SL_LANE_PUSH, 0, 0);
    add_text(SL_LANE_HAS_TEXT, text);
    hand_over(thread, ns);
}

static void started(enum sl_lane_what what, uint64_t id, uint32_t thread, uint64_t ns)
{
    make(what, 0, 0);
    add_id(id);
    hand_over(thread, ns);
}

static uint32_t string(const char *text)
{
    return sl_nvtx_string(text, strlen(text));
}

/* ---- rows ---- */

/* A text of a row with its numbers in their places. */
static const char *text_of(uint32_t id, uint64_t numbers)
{
    static char text[8192];
    size_t length = 0;
    const char *pattern = sl_intern_get(intern, id, &length);

    assert_non_null(pattern);
    *sl_pattern_expand(text, pattern, length, numbers, sl_json_raw) = '\0';
    return text;
}

/* The row's args, which have to be an object. */
static const char *args_of(const struct sl_event *ev)
{
    static char text[16384];
    char *at = text;
    struct json *j;

    *at++ = '{';
    if (ev->shape)
        at += sprintf(at, "%s", text_of(ev->shape, 0));
    if (ev->context)
        at += sprintf(at, "%s%s", ev->shape ? "," : "", text_of(ev->context, ev->u.note.payload));
    *at++ = '}';
    *at = '\0';
    j = json_parse(text, (size_t)(at - text));
    if (!j)
        fail_msg("not valid: %s", text);
    json_free(j);
    return text;
}

static const char *name_of(const struct sl_event *ev)
{
    return text_of(ev->name, ev->correlation);
}

/* The `index`th range of that name. */
static const struct sl_event *range(const char *name, unsigned index)
{
    for (unsigned i = 0; i < rows; i++)
        if (row[i].kind == SL_EV_NOTE && strcmp(name_of(&row[i]), name) == 0 && index-- == 0)
            return &row[i];
    return NULL;
}

static unsigned count_of(uint8_t kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < rows; i++)
        count += row[i].kind == kind;
    return count;
}

static void assert_range(const char *name, unsigned index, uint64_t start, uint64_t stop)
{
    const struct sl_event *ev = range(name, index);

    assert_non_null(ev);
    assert_int_equal(ev->start_ns, start);
    assert_int_equal(ev->end_ns, stop);
}

/* ---- nested ranges and marks ---- */

static void ranges_of_a_thread_are_nested(void **state)
{
    (void)state;
    push("outer 7", ONE, 10);
    push("inner", ONE, 20);
    plain(SL_LANE_PUSH, 0, TWO, 25);
    plain(SL_LANE_POP, 0, ONE, 30);
    plain(SL_LANE_POP, 0, ONE, 40);
    plain(SL_LANE_POP, 0, ONE, 50); /* of nothing */
    plain(SL_LANE_THREAD_END, 0, TWO, 60);
    assert_range("inner", 0, 20, 30);
    assert_range("outer 7", 0, 10, 40);
    assert_range("NVTX range", 0, 25, 60);
    assert_int_equal(rows, 3);
    assert_int_equal(range("inner", 0)->thread, ONE);
}

static void what_a_record_says_stands_in_its_row(void **state)
{
    (void)state;
    make(SL_LANE_MARK, 0, 0);
    add_look(SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR, 7, 0xff00aa11);
    add_words(SL_LANE_HAS_VALUE, (const uint64_t[]){SL_LANE_I64, (uint64_t)-5}, 2);
    add_text(SL_LANE_HAS_TEXT, "a mark \"\\\n");
    add_text(SL_LANE_HAS_JSON, "\"more\":[1,2]");
    hand_over(ONE, 10);
    assert_int_equal(rows, 1);
    assert_int_equal(row[0].kind, SL_EV_NOTE_MARK);
    assert_string_equal(name_of(&row[0]), "a mark \"\\\n");
    assert_string_equal(args_of(&row[0]),
                        "{\"category\":7,\"color\":\"#ff00aa11\",\"more\":[1,2]}");
    assert_int_equal(row[0].device, SL_NOTE_I64);
    assert_int_equal((int64_t)row[0].u.note.value, -5);
}

static void an_end_adds_to_what_its_range_says(void **state)
{
    (void)state;
    make(SL_LANE_PUSH, 0, 0);
    add_look(SL_LANE_HAS_CATEGORY, 2, 0);
    add_text(SL_LANE_HAS_TEXT, "before");
    add_text(SL_LANE_HAS_JSON, "\"payload\":{\"n\":1234567890123}");
    hand_over(ONE, 10);
    make(SL_LANE_POP, 0, 0);
    add_look(SL_LANE_HAS_CATEGORY, 3, 0);
    add_text(SL_LANE_HAS_TEXT, "after");
    add_text(SL_LANE_HAS_JSON, "\"end payload\":2");
    hand_over(ONE, 20);
    assert_int_equal(rows, 1);
    assert_string_equal(name_of(&row[0]), "after");
    assert_string_equal(args_of(&row[0]), "{\"category\":3,\"payload\":"
                                          "{\"n\":1234567890123},\"end payload\":2}");
}

static void the_longest_payloads_of_both_ends_are_kept(void **state)
{
    char json[SL_LANE_JSON_MAX + 1];
    const char *args;

    (void)state;
    memset(json, 'b', SL_LANE_JSON_MAX);
    json[SL_LANE_JSON_MAX] = '\0';
    memcpy(json, "\"payload\":\"", 11);
    json[SL_LANE_JSON_MAX - 1] = '"';
    make(SL_LANE_PUSH, 0, 0);
    add_text(SL_LANE_HAS_JSON, json);
    hand_over(ONE, 10);
    memset(json, 'e', SL_LANE_JSON_MAX);
    memcpy(json, "\"end payload\":\"", 15);
    json[SL_LANE_JSON_MAX - 1] = '"';
    make(SL_LANE_POP, 0, 0);
    add_text(SL_LANE_HAS_JSON, json);
    hand_over(ONE, 20);
    args = args_of(&row[0]);
    assert_non_null(strstr(args, "\"payload\":\"bbb"));
    assert_non_null(strstr(args, "\"end payload\":\"eee"));
}

/* ---- ranges that any thread ends ---- */

static void a_range_ends_on_another_thread_whichever_is_read_first(void **state)
{
    (void)state;
    started(SL_LANE_START, 1, ONE, 10);
    started(SL_LANE_END, 1, TWO, 20);
    started(SL_LANE_END, 2, TWO, 40);
    assert_int_equal(count_of(SL_EV_NOTE), 1);
    started(SL_LANE_START, 2, ONE, 30);
    assert_range("NVTX range", 0, 10, 20);
    assert_range("NVTX range", 1, 30, 40);
}

/* What the end says is not lost where it is read before the start. */
static void an_end_that_is_read_first_adds_to_its_range(void **state)
{
    (void)state;
    make(SL_LANE_END, 0, 0);
    add_id(5);
    add_text(SL_LANE_HAS_JSON, "\"end payload\":9");
    hand_over(TWO, 20);
    started(SL_LANE_START, 5, ONE, 10);
    assert_int_equal(count_of(SL_EV_NOTE), 1);
    assert_string_equal(args_of(range("NVTX range", 0)), "{\"end payload\":9}");
}

static void an_end_that_says_nothing_changes_nothing(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        uint64_t id = 600 + first;

        for (unsigned i = 0; i < 2; i++) {
            make(i == first ? SL_LANE_START : SL_LANE_END, sl_nvtx_domain("mine", 4), 0);
            if (i == first) {
                add_look(SL_LANE_HAS_COLOR, 0, 0xff000001);
                add_words(SL_LANE_HAS_VALUE, (const uint64_t[]){SL_LANE_U64, 4}, 2);
            }
            add_id(id);
            if (i == first)
                add_text(SL_LANE_HAS_TEXT, first ? "read last" : "read first");
            hand_over(ONE, i == first ? 10 : 20);
        }
        assert_range(first ? "read last" : "read first", 0, 10, 20);
        assert_string_equal(args_of(range(first ? "read last" : "read first", 0)),
                            "{\"domain\":\"mine\",\"color\":\"#ff000001\"}");
    }
}

static void a_range_ends_once(void **state)
{
    (void)state;
    started(SL_LANE_START, 1, ONE, 10);
    started(SL_LANE_END, 1, ONE, 20);
    started(SL_LANE_END, 1, ONE, 30);
    started(SL_LANE_END, 77, ONE, 30); /* never began */
    started(SL_LANE_END, 0, ONE, 30);
    assert_int_equal(count_of(SL_EV_NOTE), 1);
    assert_range("NVTX range", 0, 10, 20);
}

/* More at a time than there are rows: those share the last. */
static void ranges_at_one_time_have_rows_of_their_own(void **state)
{
    static uint8_t used[SL_ROW_FIRST + 512];
    unsigned shared = 0;

    (void)state;
    for (uint64_t id = 1; id <= 260; id++)
        started(SL_LANE_START, id, ONE, id);
    for (uint64_t id = 1; id <= 260; id++)
        started(SL_LANE_END, id, ONE, 1000 + id);
    assert_int_equal(count_of(SL_EV_NOTE), 260);
    for (unsigned i = 0; i < rows; i++) {
        if (row[i].kind != SL_EV_NOTE)
            continue;
        assert_in_range(row[i].thread, SL_ROW_FIRST, sizeof(used) - 1);
        shared += used[row[i].thread]++;
    }
    assert_int_equal(shared, 1 + 2 + 3 + 4);
    assert_int_equal(count_of(SL_EV_META_THREAD), 256); /* each is named once */
    rows = 0;
    started(SL_LANE_START, 300, ONE, 2000);
    started(SL_LANE_END, 300, ONE, 2001);
    assert_int_equal(row[0].thread, SL_ROW_FIRST);
}

/* Those for which there is no room have no row either. */
static void ranges_that_are_lost_leave_their_rows(void **state)
{
    struct sl_ranges_counts counts = {0, 0};

    (void)state;
    while (counts.lost == 0) {
        plain(SL_LANE_PUSH, 0, ONE, 1);
        sl_ranges_get_counts(ranges, &counts);
    }
    for (uint64_t id = 1; id <= 300; id++)
        started(SL_LANE_START, id, ONE, 2);
    plain(SL_LANE_POP, 0, ONE, 3);
    rows = 0;
    started(SL_LANE_START, 400, ONE, 4);
    started(SL_LANE_END, 400, ONE, 5);
    assert_int_equal(count_of(SL_EV_NOTE), 1);
    assert_int_equal(range("NVTX range", 0)->thread, SL_ROW_FIRST);
}

static void events_of_the_past(void **state)
{
    (void)state;
    make(SL_LANE_PAST, 0, 0);
    add_words(SL_LANE_HAS_TIMES, (const uint64_t[]){5, 9}, 2);
    add_look(SL_LANE_HAS_COLOR, 0, 1);
    add_text(SL_LANE_HAS_TEXT, "deferred");
    hand_over(ONE, 100);
    make(SL_LANE_PAST, 0, 0);
    add_words(SL_LANE_HAS_TIMES, (const uint64_t[]){9, 5}, 2); /* ends before it begins */
    hand_over(ONE, 100);
    make(SL_LANE_STEP, 0, 0);
    add_words(SL_LANE_HAS_TIMES, (const uint64_t[]){1, 9}, 2);
    add_text(SL_LANE_HAS_TEXT, "step");
    hand_over(ONE, 100);
    assert_range("deferred", 0, 5, 9);
    assert_string_equal(args_of(range("deferred", 0)), "{\"color\":\"#00000001\"}");
    assert_range("step", 0, 1, 9);
    assert_int_equal(count_of(SL_EV_NOTE), 2);
    assert_true(range("step", 0)->thread != range("deferred", 0)->thread);
}

/* ---- locks ---- */

static uint32_t new_lock(const char *name)
{
    const struct sl_nvtx_name lock = {.what = SL_NVTX_OTHER, .string = string(name)};

    return sl_nvtx_name(&lock);
}

/* A range of the lock's by what it shows. */
static const struct sl_event *lock_range(const char *name, const char *args, unsigned index)
{
    const struct sl_event *ev;

    for (unsigned i = 0; (ev = range(name, i)); i++)
        if (strcmp(args_of(ev), args) == 0 && index-- == 0)
            return ev;
    return NULL;
}

static void assert_lock(const char *name, const char *args, unsigned index, uint64_t start,
                        uint64_t stop)
{
    const struct sl_event *ev = lock_range(name, args, index);

    assert_non_null(ev);
    assert_int_equal(ev->start_ns, start);
    assert_int_equal(ev->end_ns, stop);
}

#define WAITED     "{\"sync\":\"acquire\",\"acquired\":true}"
#define NOT_WAITED "{\"sync\":\"acquire\",\"acquired\":false}"
#define HELD       "{\"sync\":\"held\"}"

static void a_lock_is_waited_for_and_held(void **state)
{
    uint32_t lock = new_lock("mutex");

    (void)state;
    plain(SL_LANE_ACQUIRE, lock, ONE, 10);
    plain(SL_LANE_NOT_ACQUIRED, lock, ONE, 20);
    plain(SL_LANE_ACQUIRE, lock, ONE, 30);
    plain(SL_LANE_ACQUIRED, lock, ONE, 40);
    plain(SL_LANE_RELEASE, lock, ONE, 50);
    plain(SL_LANE_RELEASE, lock, ONE, 60); /* nobody holds it */
    assert_lock("mutex", NOT_WAITED, 0, 10, 20);
    assert_lock("mutex", WAITED, 0, 30, 40);
    assert_lock("mutex", HELD, 0, 40, 50);
    assert_int_equal(count_of(SL_EV_NOTE), 3);
}

/* Lanes are read one after the other: when the first thread holds the lock again by then, the
 * second one's turn in between is told after that. */
static void threads_that_take_turns_hold_it_one_after_the_other(void **state)
{
    uint32_t lock = new_lock("shared");

    (void)state;
    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    plain(SL_LANE_RELEASE, lock, ONE, 20);
    plain(SL_LANE_ACQUIRED, lock, ONE, 50);
    plain(SL_LANE_ACQUIRED, lock, TWO, 30);
    plain(SL_LANE_RELEASE, lock, TWO, 40);
    plain(SL_LANE_RELEASE, lock, ONE, 60);
    assert_lock("shared", HELD, 0, 10, 20);
    assert_lock("shared", HELD, 1, 30, 40);
    assert_lock("shared", HELD, 2, 50, 60);
    assert_int_equal(count_of(SL_EV_NOTE), 3);
}

static void a_lock_that_another_thread_gives_back(void **state)
{
    uint32_t lock = new_lock("semaphore");

    (void)state;
    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    plain(SL_LANE_RELEASE, lock, TWO, 20);
    sl_nvtx_read_done(reader);
    assert_lock("semaphore", HELD, 0, 10, 20);
    plain(SL_LANE_ACQUIRED, lock, TWO, 30);
    plain(SL_LANE_RELEASE, lock, TWO, 40);
    assert_lock("semaphore", HELD, 1, 30, 40);
    /* Its lane is read first. */
    plain(SL_LANE_RELEASE, lock, TWO, 60);
    plain(SL_LANE_ACQUIRED, lock, ONE, 50);
    sl_nvtx_read_done(reader);
    assert_lock("semaphore", HELD, 2, 50, 60);
    /* It was given back before it was got. */
    plain(SL_LANE_RELEASE, lock, TWO, 70);
    plain(SL_LANE_ACQUIRED, lock, ONE, 80);
    sl_nvtx_read_done(reader);
    plain(SL_LANE_RELEASE, lock, ONE, 90);
    assert_lock("semaphore", HELD, 3, 80, 90);
    assert_int_equal(count_of(SL_EV_NOTE), 4);
}

static void what_nobody_gives_back_without_end(void **state)
{
    uint32_t lock = new_lock("without end");

    (void)state;
    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    for (unsigned i = 0; i < 1000; i++)
        plain(SL_LANE_RELEASE, new_lock("of nobody"), TWO, 11 + i);
    plain(SL_LANE_RELEASE, lock, TWO, 2000);
    sl_nvtx_read_done(reader);
    assert_lock("without end", HELD, 0, 10, 2000);
}

/* As it does in fact: who waits for it waits on. */
static void a_lock_outlives_the_thread_that_holds_it(void **state)
{
    uint32_t lock = new_lock("abandoned");

    (void)state;
    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    plain(SL_LANE_THREAD_END, 0, ONE, 20);
    plain(SL_LANE_ACQUIRE, lock, TWO, 25);
    assert_null(lock_range("abandoned", HELD, 0));
    plain(SL_LANE_RELEASE, lock, TWO, 30); /* it is destroyed */
    sl_nvtx_read_done(reader);
    assert_lock("abandoned", HELD, 0, 10, 30);
}

/* A handle that we never gave is a number like any other. */
static void a_lock_of_another_tool_touches_no_ranges(void **state)
{
    (void)state;
    push("mine", ONE, 10);
    for (uint64_t handle = 1; handle; handle = (uint32_t)(handle * 2)) {
        plain(SL_LANE_ACQUIRE, (uint32_t)handle, ONE, 20);
        plain(SL_LANE_ACQUIRED, (uint32_t)handle, ONE, 21);
        plain(SL_LANE_RELEASE, (uint32_t)handle, ONE, 22);
    }
    plain(SL_LANE_NOT_ACQUIRED, 0u - 0x10000u, ONE, 30); /* the default domain, were it added */
    assert_null(range("mine", 0));
    plain(SL_LANE_POP, 0, ONE, 40);
    assert_range("mine", 0, 10, 40);
}

/* ---- names ---- */

static void names_are_told_once(void **state)
{
    const struct sl_nvtx_name name[] = {
        {.what = SL_NVTX_STREAM, .key = 13, .within = 1, .string = string("copies")},
        {.what = SL_NVTX_OTHER, .string = string("event")},
        {.what = SL_NVTX_CATEGORY, .domain = 3, .key = 9, .string = string("of mine")},
        {.what = SL_NVTX_EVENT, .key = 1ull << 40, .string = string("recorded")},
    };

    (void)state;
    sl_nvtx_read_names(reader); /* those of the cases before */
    nameds = 0;
    for (unsigned i = 0; i < 4; i++)
        assert_int_not_equal(sl_nvtx_name(&name[i]), 0);
    sl_nvtx_read_names(reader);
    sl_nvtx_read_names(reader);
    assert_int_equal(nameds, 2);
    assert_int_equal(named[0].key, 13);
    assert_string_equal(text_of(named_as[0], 0), "copies");
    assert_true(named[1].what == SL_NVTX_EVENT && named[1].key == 1ull << 40);
}

static void mark_of(unsigned domain, uint32_t category)
{
    make(SL_LANE_MARK, domain, 0);
    add_look(SL_LANE_HAS_CATEGORY, category, 0);
    hand_over(ONE, 1);
}

static void a_category_has_a_name_from_when_it_is_named(void **state)
{
    const struct sl_nvtx_name name = {
        .what = SL_NVTX_CATEGORY, .domain = 0, .key = 1u << 31, .string = string("the \"name\"")};

    (void)state;
    mark_of(0, 1u << 31);
    sl_nvtx_name(&name);
    sl_nvtx_read_names(reader);
    mark_of(0, 1u << 31);
    mark_of(2, 1u << 31); /* of another domain */
    assert_string_equal(args_of(&row[0]), "{\"category\":2147483648}");
    assert_string_equal(args_of(&row[1]), "{\"category\":\"the \\\"name\\\"\"}");
    assert_string_equal(args_of(&row[2]), "{\"category\":2147483648}");
}

static void more_categories_than_are_kept_have_numbers(void **state)
{
    struct sl_nvtx_name name = {.what = SL_NVTX_CATEGORY, .string = string("one of many")};

    (void)state;
    for (name.key = 5000; name.key < 7000; name.key++)
        assert_int_not_equal(sl_nvtx_name(&name), 0);
    sl_nvtx_read_names(reader);
    assert_true(sl_nvtx_read_texts_lost(reader) >= 2000 - 1024);
    mark_of(0, 5000);
    mark_of(0, 6999);
    assert_string_equal(args_of(&row[0]), "{\"category\":\"one of many\"}");
    assert_string_equal(args_of(&row[1]), "{\"category\":6999}");
}

/* ---- bounds ---- */

static void rows_stay_valid_when_texts_have_no_room(void **state)
{
    char text[64];

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        make(SL_LANE_MARK, 0, 0);
        add_look(SL_LANE_HAS_COLOR, 0, i);
        snprintf(text, sizeof(text), "%c%c a name", 'a' + i / 26, 'a' + i % 26);
        add_text(SL_LANE_HAS_TEXT, text);
        snprintf(text, sizeof(text), "\"payload\":\"%c%c\"", 'a' + i / 26, 'a' + i % 26);
        add_text(SL_LANE_HAS_JSON, text);
        hand_over(ONE, i);
    }
    assert_int_equal(rows, 100);
    assert_string_equal(name_of(&row[99]), "(more names than are kept)");
    for (unsigned i = 0; i < 100; i++)
        args_of(&row[i]); /* says if it is not valid */
    assert_true(sl_nvtx_read_texts_lost(reader) > 0);
}

/* A string that the application never registered. */
static void strings_that_are_none(void **state)
{
    static const uint32_t none[] = {0, 65535, 65536, 65537, UINT32_MAX};

    (void)state;
    for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
        make(SL_LANE_MARK, 0, none[i]);
        made.record.parts = SL_LANE_HAS_STRING;
        hand_over(ONE, 1);
        assert_string_equal(name_of(&row[i]), "NVTX range");
    }
}

static int init(void **state)
{
    (void)state;
    return sl_nvtx_names_init();
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranges_of_a_thread_are_nested),
        CASE(what_a_record_says_stands_in_its_row),
        CASE(an_end_adds_to_what_its_range_says),
        CASE(the_longest_payloads_of_both_ends_are_kept),
        CASE(a_range_ends_on_another_thread_whichever_is_read_first),
        CASE(an_end_that_is_read_first_adds_to_its_range),
        CASE(an_end_that_says_nothing_changes_nothing),
        CASE(a_range_ends_once),
        CASE(ranges_at_one_time_have_rows_of_their_own),
        CASE(ranges_that_are_lost_leave_their_rows),
        CASE(events_of_the_past),
        CASE(a_lock_is_waited_for_and_held),
        CASE(threads_that_take_turns_hold_it_one_after_the_other),
        CASE(a_lock_that_another_thread_gives_back),
        CASE(what_nobody_gives_back_without_end),
        CASE(a_lock_outlives_the_thread_that_holds_it),
        CASE(a_lock_of_another_tool_touches_no_ranges),
        CASE(names_are_told_once),
        CASE(a_category_has_a_name_from_when_it_is_named),
        CASE(more_categories_than_are_kept_have_numbers),
        cmocka_unit_test_setup_teardown(rows_stay_valid_when_texts_have_no_room, begin_small, end),
        CASE(strings_that_are_none),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
