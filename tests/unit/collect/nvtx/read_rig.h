/* read_rig.h - makes records of NVTX calls, passes them to a reader, and keeps the resulting rows
 * and names. */
#ifndef SL_NVTX_READ_RIG_H
#define SL_NVTX_READ_RIG_H

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text_table.h"
#include "collect/nvtx/names.h"
#include "collect/nvtx/read.h"
#include "event/pattern.h"
#include "unit/write/json_dom.h"

enum {
    ONE = 11, /* ids of two threads */
    TWO = 22,
};

static struct sl_intern *intern;
static struct sl_ranges *ranges;
static struct sl_nvtx_read *reader;

/* Rows of ranges and marks, and names, in the order of their arrival. */
static struct sl_event row[4096];
static unsigned rows;
static struct sl_named named[16];
static uint32_t named_as[16];
static unsigned nameds;

static void take_row(void *user, const struct sl_event *ev)
{
    assert_ptr_equal(user, row);
    assert_true(rows < sizeof(row) / sizeof(*row));
    row[rows++] = *ev;
}

static void take_name(void *user, const struct sl_named *what, uint32_t name)
{
    assert_ptr_equal(user, row);
    assert_true(nameds < sizeof(named) / sizeof(*named));
    named[nameds] = *what;
    named_as[nameds++] = name;
}

static inline int begin_with(size_t texts_bytes)
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

static inline int begin(void **state)
{
    return begin_with(1 << 18);
}

static inline int end(void **state)
{
    sl_nvtx_read_destroy(reader);
    sl_ranges_destroy(ranges);
    sl_intern_destroy(intern);
    return 0;
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* ---- records ---- */

/* The record that is being made. Its parts are added in the order of enum sl_lane_part. */
static struct {
    struct sl_lane_record record;
    uint64_t word[2 * SL_LANE_RECORD_WORDS];
    unsigned words;
} made;

static inline void make(enum sl_lane_what what, unsigned domain, uint32_t aux)
{
    memset(&made, 0, sizeof(made));
    made.record = (struct sl_lane_record){.what = (uint8_t)what, .domain = (uint16_t)domain};
    made.record.aux = aux;
}

static inline void add_words(uint8_t part, const uint64_t *word, unsigned count)
{
    made.record.parts |= part;
    memcpy(made.word + made.words, word, count * sizeof(*word));
    made.words += count;
}

static inline void add_look(uint8_t parts, uint32_t category, uint32_t color)
{
    add_words(parts, (const uint64_t[]){category | (uint64_t)color << 32}, 1);
}

static inline void add_id(uint64_t id)
{
    add_words(SL_LANE_HAS_ID, &id, 1);
}

static inline void add_text(uint8_t part, const char *text)
{
    uint64_t length = strlen(text);

    add_words(part, &length, 1);
    memcpy(made.word + made.words, text, length);
    made.words += (unsigned)((length + 7) / 8);
}

static inline void hand_over(uint32_t thread, uint64_t ns)
{
    made.record.pairs = (uint8_t)((made.words + 3) / 2);
    sl_nvtx_read_record(reader, thread, &made.record, ns);
}

static inline void plain(enum sl_lane_what what, uint32_t aux, uint32_t thread, uint64_t ns)
{
    make(what, 0, aux);
    hand_over(thread, ns);
}

static inline void push(const char *text, uint32_t thread, uint64_t ns)
{
    make(SL_LANE_PUSH, 0, 0);
    add_text(SL_LANE_HAS_TEXT, text);
    hand_over(thread, ns);
}

static inline void started(enum sl_lane_what what, uint64_t id, uint32_t thread, uint64_t ns)
{
    make(what, 0, 0);
    add_id(id);
    hand_over(thread, ns);
}

static inline uint32_t string(const char *text)
{
    return sl_text_table_put(text, strlen(text));
}

/* ---- rows ---- */

/* Returns the text with this id. Numbers are inserted if the text is a pattern. */
static inline const char *text_of(uint32_t id, uint64_t numbers)
{
    static char text[8192];
    size_t length = 0;
    const char *pattern = sl_intern_get(intern, id, &length);

    assert_non_null(pattern);
    *sl_pattern_expand(text, pattern, length, numbers, sl_json_raw) = '\0';
    return text;
}

/* Returns the row's args, which must be an object. */
static inline const char *args_of(const struct sl_event *ev)
{
    static char text[16384];
    char *at = text;
    struct json *j;

    *at++ = '{';
    if (ev->more)
        at += sprintf(at, "%s", text_of(ev->more, 0));
    if (ev->payload)
        at += sprintf(at, "%s%s", ev->more ? "," : "",
                      text_of(ev->payload, ev->u.note.payload_numbers));
    *at++ = '}';
    *at = '\0';
    j = json_parse(text, (size_t)(at - text));
    if (!j)
        fail_msg("not valid: %s", text);
    json_free(j);
    return text;
}

static inline const char *name_of(const struct sl_event *ev)
{
    return text_of(ev->name, ev->name_numbers);
}

/* Returns the range number `index` with that name. */
static inline const struct sl_event *range(const char *name, unsigned index)
{
    for (unsigned i = 0; i < rows; i++)
        if (row[i].kind == SL_EV_NVTX_RANGE && strcmp(name_of(&row[i]), name) == 0 && index-- == 0)
            return &row[i];
    return NULL;
}

static inline unsigned count_of(uint8_t kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < rows; i++)
        count += row[i].kind == kind;
    return count;
}

static inline void assert_range(const char *name, unsigned index, uint64_t start, uint64_t stop)
{
    const struct sl_event *ev = range(name, index);

    assert_non_null(ev);
    assert_int_equal(ev->start_ns, start);
    assert_int_equal(ev->end_ns, stop);
}

#endif
