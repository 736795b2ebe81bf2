/* frames_test.c - finds the line of the user's code in a chain of frames. The frames have the
 * memory layout of each CPython version. The memory ends where an object ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stats.h"
#include "base/text_table.h"
#include "collect/python/code_cache.h"
#include "collect/python/frames.h"
#include "unit/collect/python/objects.h"

static struct sl_python_code_cache seen;

static int without_hashes(void **state)
{
    are_hashed = 0;
    return 0;
}

static int with_hashes(void **state)
{
    are_hashed = 1;
    return 0;
}

/* Selects a CPython version (3.`minor`). Checks that syncline finds the layout with which the
 * objects are made. */
static void be(unsigned minor, unsigned depth)
{
    objects_of_python(minor);
    assert_int_equal(sl_python_lines_init(depth), 0);
}

/* Returns the text of the line found from this frame. Checks that the result is the same with and
 * without the cache. */
static const char *text_of(const void *frame)
{
    uint32_t line = sl_python_line(frame, NULL);

    /* the first call has filled the cache, and this call uses it */
    assert_int_equal(sl_python_line(frame, &seen), line);
    assert_int_equal(sl_python_line(frame, &seen), line);

    return line ? sl_text_table_get(line, NULL) : "";
}

/* ---- lines ---- */

static void without_python_there_are_none(void **state)
{
    assert_int_equal(sl_python_lines_init(0), 0);
    assert_int_equal(sl_python_lines_init(1), -ENOENT);
    assert_null(sl_python_frame());
    assert_int_equal(sl_python_line(NULL, NULL), 0);
    load_python();
    be_python(11);
    assert_int_equal(sl_python_lines_init(0), 0); /* 0: no lines are recorded */
    assert_null(sl_python_frame());
    cpython.said->version = "3.99";
    assert_int_equal(sl_python_lines_init(1), -ENOTSUP);
    assert_null(sl_python_frame());
}

static void every_version_has_lines(void **state)
{
    char file[32];

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

/* The innermost frame is found through the thread's state. In some versions, there is another
 * object between the state and the frame. */
static void a_thread_has_an_innermost_frame(void **state)
{
    for (unsigned minor = 9; minor <= 15; minor++) {
        char thread[4096] = "", between[64] = "", frame[8];
        const void *found;

        be(minor, 1);
        cpython.said->thread = NULL;
        assert_null(sl_python_frame()); /* this is not a thread of Python */
        cpython.said->thread = thread;
        assert_null(sl_python_frame()); /* this thread runs no Python code */
        if (layout.cframe_frame == SL_PYTHON_NOWHERE) {
            put_pointer(thread, layout.thread_frame, frame);
        } else {
            put_pointer(thread, layout.thread_frame, between);
            assert_null(sl_python_frame());
            put_pointer(between, layout.cframe_frame, frame);
        }
        found = sl_python_frame();
        assert_ptr_equal(found, frame);
        cpython.said->is_initialized = 0; /* Python is ending and frees the states of its threads */
        assert_null(sl_python_frame());
    }
    cpython.said->is_initialized = 1;
    sl_python_lines_stop();
    assert_null(sl_python_frame());
}

static void the_innermost_frames_of_the_user_s_count(void **state)
{
    void *mine, *outer, *torch, *frame[4];

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
        /* All frames belong to libraries, like those of autograd's threads. Such a stack gives no
         * line. */
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

/* In each round, another part of a code object is missing or damaged. The frame of this code is
 * skipped. */
static void code_that_is_damaged_is_passed_over(void **state)
{
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

/* ---- bounds ---- */

static void more_lines_than_are_kept(void **state)
{
    uint64_t lost = sl_stats_get(SL_STAT_NAMES_LOST);
    void *code, *frame;
    unsigned known = 0;

    be(11, 1);
    code = new_code("/home/me/many.py", "f", 0);
    frame = new_frame(code, NULL, 1);
    for (int line = 1; line <= 20000; line++) {
        put_int(code, layout.code_line, line);
        known += sl_python_line(frame, &seen) != 0;
    }
    assert_in_range(known, 10000, 16384);
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST) - lost, 20000 - known);
    assert_int_equal(sl_python_line(frame, &seen), 0); /* a second call gives no line either */
    free(frame);
    free_code(code);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup((test), without_hashes), cmocka_unit_test_setup((test), with_hashes)

/* A loop calls eval(), which compiles a new code object each time. All these code objects give the
 * same line id. */
static void code_that_is_made_anew_is_no_new_line(void **state)
{
    void *code, *other, *frame;
    uint32_t line = 0;

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
        cmocka_unit_test(code_that_is_made_anew_is_no_new_line),
        cmocka_unit_test_setup(more_lines_than_are_kept, without_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
