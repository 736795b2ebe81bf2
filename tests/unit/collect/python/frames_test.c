/* frames_test.c - finds the line of the user's code from frames, laid out in memory as in each
 * CPython. Memory has exactly the size of the objects. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stats.h"
#include "collect/python/code_cache.h"
#include "collect/python/frames.h"
#include "unit/collect/python/objects.h"

static struct sl_python_code_cache seen;

static int without_hashes(void **state)
{
    (void)state;
    are_hashed = 0;
    return 0;
}

static int with_hashes(void **state)
{
    (void)state;
    are_hashed = 1;
    return 0;
}

/* Sets up this version. The module must find the same layout as that of the objects. */
static void be(unsigned minor, unsigned depth)
{
    objects_of_python(minor);
    assert_int_equal(sl_python_lines_init(depth), 0);
}

/* Returns the frame's text. The result must be the same with and without the cache. */
static const char *text_of(const void *frame)
{
    uint32_t line = sl_python_line(frame, NULL);

    assert_int_equal(sl_python_line(frame, &seen), line); /* fills the cache, or uses it */
    assert_int_equal(sl_python_line(frame, &seen), line);

    return line ? sl_python_line_text(line, NULL) : "";
}

/* Returns the text of a new frame at its second instruction. */
static const char *line_in(const char *file, const char *name)
{
    static char text[2048];
    void *code = new_code(file, name, 10), *frame = new_frame(code, NULL, 1);

    snprintf(text, sizeof(text), "%s", text_of(frame));
    free_code(code);
    free(frame);
    return text;
}

/* ---- lines ---- */

static void without_python_there_are_none(void **state)
{
    (void)state;
    assert_int_equal(sl_python_lines_init(0), 0);
    assert_int_equal(sl_python_lines_init(1), -ENOENT);
    assert_null(sl_python_frame());
    assert_int_equal(sl_python_line(NULL, NULL), 0);
    load_python();
    be_python(11);
    assert_int_equal(sl_python_lines_init(0), 0); /* no lines are wanted */
    assert_null(sl_python_frame());
    cpython.said->version = "3.99";
    assert_int_equal(sl_python_lines_init(1), -ENOTSUP);
    assert_null(sl_python_frame());
}

static void every_version_has_lines(void **state)
{
    char file[32];

    (void)state;
    for (unsigned minor = 9; minor <= 15; minor++) {
        void *code, *first, *second;
        char expected[64];

        be(minor, 1);
        snprintf(file, sizeof(file), "/home/me/v%u.py", minor);
        code = new_code(file, "train", 10);
        first = new_frame(code, NULL, 0);
        second = new_frame(code, NULL, 1);
        snprintf(expected, sizeof(expected), "%s:10 train", file);
        assert_string_equal(text_of(first), expected);
        snprintf(expected, sizeof(expected), "%s:13 train", file);
        assert_string_equal(text_of(second), expected);
        assert_int_equal(sl_python_line(second, &seen), sl_python_line(second, &seen));
        free(first);
        free(second);
        free_code(code);
    }
}

/* The innermost frame is found through the thread's state, with an object in between in some
 * versions. */
static void a_thread_has_an_innermost_frame(void **state)
{
    (void)state;
    for (unsigned minor = 9; minor <= 15; minor++) {
        char thread[4096] = "", between[64] = "", frame[8];
        const void *found;

        be(minor, 1);
        cpython.said->thread = NULL;
        assert_null(sl_python_frame()); /* this is not a thread of Python */
        cpython.said->thread = thread;
        assert_null(sl_python_frame()); /* it runs no code */
        if (layout.cframe_frame == SL_PYTHON_NOWHERE) {
            put_pointer(thread, layout.thread_frame, frame);
        } else {
            put_pointer(thread, layout.thread_frame, between);
            assert_null(sl_python_frame());
            put_pointer(between, layout.cframe_frame, frame);
        }
        found = sl_python_frame();
        assert_ptr_equal(found, frame);
        cpython.said->is_initialized = 0; /* Python is ending: it frees its threads' states */
        assert_null(sl_python_frame());
    }
    cpython.said->is_initialized = 1;
    sl_python_lines_stop();
    assert_null(sl_python_frame());
}

static void the_innermost_frames_of_the_user_s_count(void **state)
{
    void *mine, *outer, *torch, *frame[4];

    (void)state;
    for (unsigned depth = 1; depth <= 3; depth++) {
        be(12, depth);
        mine = new_code("/home/me/model.py", "Model.forward", 10);
        outer = new_code("/home/me/train.py", "main", 20);
        torch = new_code("/usr/lib/python3.12/site-packages/torch/nn/modules/module.py", "call", 5);
        frame[0] = new_frame(outer, NULL, 1);
        frame[1] = new_frame(torch, frame[0], 1);
        frame[2] = new_frame(mine, frame[1], 1);
        frame[3] = new_frame(torch, frame[2], 1);
        assert_string_equal(text_of(frame[3]), depth == 1 ? "/home/me/model.py:13 Model.forward"
                                                          : "/home/me/model.py:13 Model.forward < "
                                                            "/home/me/train.py:23 main");
        /* All frames are a library's, as on autograd's threads, so there is no line. */
        put_pointer(frame[3], layout.frame_back, NULL);
        assert_string_equal(text_of(frame[3]), "");
        for (unsigned i = 0; i < 4; i++)
            free(frame[i]);
        free_code(mine);
        free_code(outer);
        free_code(torch);
    }
}

/* ---- frames without Python code ---- */

static void frames_that_run_no_python_code_are_passed_over(void **state)
{
    (void)state;
    for (unsigned minor = 9; minor <= 15; minor++) {
        void *code, *outer, *inner, *other;

        be(minor, 1);
        code = new_code("/home/me/outer.py", "outer", 10);
        other = new_code("/home/me/inner.py", "inner", 10);
        outer = new_frame(code, NULL, 1);
        inner = new_frame(other, outer, 1);
        assert_string_equal(text_of(inner), "/home/me/inner.py:13 inner");
        put_pointer(inner, layout.frame_code, NULL);
        assert_string_equal(text_of(inner), "/home/me/outer.py:13 outer");
        put_pointer(inner, layout.frame_code, part(other, layout.code_file)); /* another type */
        assert_string_equal(text_of(inner), "/home/me/outer.py:13 outer");
        put_pointer(inner, layout.frame_code, (char *)other + 1); /* a tagged reference */
        assert_string_equal(text_of(inner), "/home/me/inner.py:13 inner");
        if (layout.frame_owner != SL_PYTHON_NOWHERE) {
            ((uint8_t *)inner)[layout.frame_owner] = SL_PYTHON_OWNER_OUTSIDE;
            assert_string_equal(text_of(inner), "/home/me/outer.py:13 outer");
            ((uint8_t *)inner)[layout.frame_owner] = 0;
        }
        /* The frame is before its first instruction. */
        if (layout.code_start == SL_PYTHON_NOWHERE)
            put_int(inner, layout.frame_at, -1);
        else
            put_word(inner, layout.frame_at, (uintptr_t)other + layout.code_start - 2);
        assert_string_equal(text_of(inner), "/home/me/outer.py:13 outer");
        free(outer);
        free(inner);
        free_code(code);
        free_code(other);
    }
}

/* A code object is incomplete or damaged, in each of its parts in turn. It is skipped. */
static void code_that_is_damaged_is_passed_over(void **state)
{
    (void)state;
    for (unsigned minor = 9; minor <= 15; minor++) {
        void *code, *frame, *was;
        uint16_t parts[3];

        be(minor, 1);
        code = new_code("/home/me/damaged.py", "f", 10);
        frame = new_frame(code, NULL, 1);
        parts[0] = layout.code_file;
        parts[1] = layout.code_name;
        parts[2] = layout.code_table;
        for (unsigned i = 0; i < 3; i++) {
            was = part(code, parts[i]);
            put_pointer(code, parts[i], NULL);
            assert_int_equal(sl_python_line(frame, &seen), 0);
            put_pointer(code, parts[i], code); /* another type */
            assert_int_equal(sl_python_line(frame, &seen), 0);
            put_pointer(code, parts[i], was);
        }
        was = part(code, layout.code_table);
        put_word(was, SL_PYTHON_BYTES_LENGTH, UINT64_MAX);
        assert_int_equal(sl_python_line(frame, &seen), 0);
        put_word(was, SL_PYTHON_BYTES_LENGTH, 1u << 30);
        assert_int_equal(sl_python_line(frame, &seen), 0);
        free(frame);
        free_code(code);
    }
}

static void frames_without_end_end(void **state)
{
    void *code, *frame, *library;

    (void)state;
    be(11, 8);
    code = new_code("/home/me/circle.py", "f", 10);
    library = new_code("/usr/lib/python3.11/threading.py", "run", 10);
    frame = new_frame(code, NULL, 1);
    put_pointer(frame, layout.frame_back, frame);
    assert_memory_equal(text_of(frame), "/home/me/circle.py:13 f < /home/me/circle.py:13 f < ", 50);
    put_pointer(frame, layout.frame_code, library);
    set_instruction(frame, library, 1);
    assert_string_equal(text_of(frame), "");
    put_pointer(frame, layout.frame_code, NULL);
    assert_int_equal(sl_python_line(frame, &seen), 0);
    free(frame);
    free_code(code);
    free_code(library);
}

/* ---- memory that is reused ---- */

/* Another function is at the same address, as in the cells of a notebook. */
static void code_at_the_address_of_another(void **state)
{
    static const unsigned minors[] = {9, 10, 11, 12, 14};

    (void)state;
    for (unsigned i = 0; i < sizeof(minors) / sizeof(*minors); i++) {
        void *code, *frame, *old;

        be(minors[i], 1);
        code = new_code("/home/me/cell.py", "one", 10);
        frame = new_frame(code, NULL, 1);
        assert_string_equal(text_of(frame), "/home/me/cell.py:13 one");
        old = part(code, layout.code_name);
        put_pointer(code, layout.code_name, new_str("two"));
        free(old);
        assert_string_equal(text_of(frame), "/home/me/cell.py:13 two");
        old = part(code, layout.code_file);
        put_pointer(code, layout.code_file, new_str("/usr/lib/python3.11/cell.py"));
        free(old);
        assert_string_equal(text_of(frame), ""); /* a library's code */
        old = part(code, layout.code_file);
        put_pointer(code, layout.code_file, new_str("/home/you/cell.py"));
        free(old);
        assert_string_equal(text_of(frame), "/home/you/cell.py:13 two");
        old = part(code, layout.code_table);
        put_pointer(code, layout.code_table, new_table(5));
        free(old);
        assert_string_equal(text_of(frame), "/home/you/cell.py:15 two");
        put_int(code, layout.code_line, 100);
        assert_string_equal(text_of(frame), "/home/you/cell.py:105 two");
        free(frame);
        free_code(code);
    }
}

/* The code object has a unique number, which is compared instead of its table. */
static void code_with_a_number_of_its_own(void **state)
{
    void *code, *frame, *old;

    (void)state;
    be(12, 1);
    code = new_code("/home/me/number.py", "f", 10);
    put_int(code, layout.code_version, 1);
    frame = new_frame(code, NULL, 1);
    assert_string_equal(text_of(frame), "/home/me/number.py:13 f");
    old = part(code, layout.code_table);
    put_pointer(code, layout.code_table, new_table(5));
    free(old);
    put_int(code, layout.code_version, 2);
    assert_string_equal(text_of(frame), "/home/me/number.py:15 f");
    free(frame);
    free_code(code);
}

/* Tables have any length, and their last byte is compared. */
static void tables_of_any_length(void **state)
{
    uint8_t data[700];

    (void)state;
    be(11, 1);
    for (size_t length = 2; length <= sizeof(data); length += length < 80 ? 2 : 46) {
        void *code = new_code("/home/me/long.py", "f", (int)length), *frame, *old;
        char expected[64];

        free(part(code, layout.code_table));
        memset(data, 0, sizeof(data));
        for (size_t i = 0; i < length; i += 2)
            data[i] = 0x80 | 13 << 3;
        frame = new_frame(code, NULL, (unsigned)length / 2 - 1);
        for (unsigned step = 0; step < 3; step++) {
            data[length - 1] = (uint8_t)(step << 1);
            old = new_bytes(data, length);
            put_pointer(code, layout.code_table, old);
            snprintf(expected, sizeof(expected), "/home/me/long.py:%u f", (unsigned)length + step);
            assert_string_equal(text_of(frame), expected);
            if (step < 2)
                free(old);
        }
        free(frame);
        free_code(code);
    }
}

/* ---- limits of size ---- */

static void names_that_are_long_or_none(void **state)
{
    char file[3000];

    (void)state;
    be(12, 1);
    memset(file, 'd', sizeof(file));
    file[0] = '/';
    memcpy(file + sizeof(file) - 8, "/end.py", 8);
    assert_non_null(strstr(line_in(file, "f"), "ddd/end.py:13 f"));
    assert_memory_equal(line_in(file, "f"), "...ddd", 6);
    assert_true(strlen(line_in(file, file)) <= 1023);
    assert_string_equal(line_in("", ""), ":13 ");
}

static void more_lines_than_are_kept(void **state)
{
    uint64_t lost = sl_stats_get(SL_STAT_NAMES_LOST);
    void *code, *frame;
    unsigned known = 0;

    (void)state;
    be(11, 1);
    code = new_code("/home/me/many.py", "f", 0);
    frame = new_frame(code, NULL, 1);
    for (int line = 1; line <= 20000; line++) {
        put_int(code, layout.code_line, line);
        known += sl_python_line(frame, &seen) != 0;
    }
    assert_in_range(known, 10000, 16384);
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST) - lost, 20000 - known);
    assert_int_equal(sl_python_line(frame, &seen), 0); /* and it stays so */
    free(frame);
    free_code(code);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup((test), without_hashes), cmocka_unit_test_setup((test), with_hashes)

/* eval() compiles new code in each pass of a loop. It has the same line each time, not a new
 * one. */
static void code_that_is_made_anew_is_no_new_line(void **state)
{
    void *code, *other, *frame;
    uint32_t line = 0;

    (void)state;
    be(12, 1);
    code = new_code("<string>", "<module>", 1);
    for (int version = 1; version < 40000; version++) {
        put_int(code, layout.code_version, version);
        frame = new_frame(code, NULL, 0);
        if (!line)
            line = sl_python_line(frame, NULL);
        assert_int_equal(sl_python_line(frame, NULL), line);
        free(frame);
    }
    other = new_code("/home/me/later.py", "train", 7);
    frame = new_frame(other, NULL, 0);
    assert_string_equal(text_of(frame), "/home/me/later.py:7 train");
    free(frame);
    free_code(other);
    free_code(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_python_there_are_none),
        BOTH(every_version_has_lines),
        cmocka_unit_test(a_thread_has_an_innermost_frame),
        BOTH(the_innermost_frames_of_the_user_s_count),
        BOTH(frames_that_run_no_python_code_are_passed_over),
        BOTH(code_that_is_damaged_is_passed_over),
        BOTH(frames_without_end_end),
        BOTH(code_at_the_address_of_another),
        BOTH(code_with_a_number_of_its_own),
        BOTH(tables_of_any_length),
        BOTH(names_that_are_long_or_none),
        cmocka_unit_test(code_that_is_made_anew_is_no_new_line),
        cmocka_unit_test_setup(more_lines_than_are_kept, without_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
