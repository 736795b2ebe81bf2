/* layout_test.c - finds the memory layout of objects for a CPython version. There is no layout for
 * a version that is not fully known. */
#include <errno.h>

#include "collect/python/layout.h"
#include "unit/collect/python/rig.h"

static struct sl_python_layout layout;

static int find(void)
{
    memset(&layout, 0x5a, sizeof(layout));
    return sl_python_layout_find(&layout);
}

static void without_python_there_is_none(void **state)
{
    assert_int_equal(find(), -ENOENT);
    load_python();
}

static void every_known_version_has_one(void **state)
{
    for (unsigned minor = 9; minor <= 15; minor++) {
        be_python(minor);
        assert_int_equal(find(), 0);
        assert_int_equal(layout.version, minor);
        assert_ptr_equal(layout.code_type, cpython.code);
        assert_ptr_equal(layout.str_type, cpython.str);
        assert_ptr_equal(layout.bytes_type, cpython.bytes);
        assert_true(layout.is_initialized());
        assert_int_equal(layout.frame_owner == SL_PYTHON_NOWHERE, minor < 12);
        assert_int_equal(layout.code_version == SL_PYTHON_NOWHERE, minor < 12);
        assert_int_equal(layout.code_start == SL_PYTHON_NOWHERE, minor < 11);
        assert_int_equal(layout.table, minor == 9    ? SL_PYTHON_LNOTAB
                                       : minor == 10 ? SL_PYTHON_LINETABLE
                                                     : SL_PYTHON_LOCATIONS);
    }
}

static void later_versions_tell_their_offsets(void **state)
{
    for (unsigned minor = 13; minor <= 15; minor++) {
        be_python(minor);
        assert_int_equal(find(), 0);
        assert_int_equal(layout.thread_frame, usual.thread_frame);
        assert_int_equal(layout.frame_back, usual.back);
        assert_int_equal(layout.frame_code, usual.code);
        assert_int_equal(layout.frame_at, usual.at);
        assert_int_equal(layout.frame_owner, usual.owner);
        assert_int_equal(layout.code_file, usual.file);
        assert_int_equal(layout.code_name, usual.qualified_name);
        assert_int_equal(layout.code_table, usual.table);
        assert_int_equal(layout.code_line, usual.line);
        assert_int_equal(layout.code_start, usual.start);
    }
}

static void versions_that_are_not_known(void **state)
{
    static const char *const version[] = {"3.8.20", "3.16.0",  "2.7.18",      "4.0.0",
                                          "",       "3.",      "3",           "3.x",
                                          "3.-11",  "3.111.0", "3.4294967307"};

    be_python(11);
    for (unsigned i = 0; i < sizeof(version) / sizeof(*version); i++) {
        cpython.said->version = version[i];
        assert_int_equal(find(), -ENOTSUP);
    }
    cpython.said->version = NULL;
    assert_int_equal(find(), -ENOTSUP);
}

/* A known version was built with options that change the layout of objects. There is no layout for
 * this build. */
static void objects_that_are_built_otherwise(void **state)
{
    for (unsigned minor = 9; minor <= 15; minor++) {
        be_python(minor);
        cpython.code->size += 8;
        assert_int_equal(find(), -ENOTSUP);
    }
    be_python(12);
    cpython.code->name = "Code";
    assert_int_equal(find(), -ENOTSUP);
    cpython.code->name = "code";
    cpython.bytes->name = "bytearray";
    assert_int_equal(find(), -ENOTSUP);
    cpython.bytes->name = "bytes";
    assert_int_equal(find(), 0);
}

static void tables_of_offsets_that_are_none(void **state)
{
    static const unsigned prereleases[] = {0xa1, 0xb4};

    for (unsigned minor = 13; minor <= 15; minor++) {
        be_python(minor);
        cpython.runtime[0] = 'X';
        assert_int_equal(find(), -ENOTSUP);
        be_python(minor);
        put_word(cpython.runtime, 16, 1); /* a free-threaded build */
        assert_int_equal(find(), -ENOTSUP);
        be_python(minor);
        put_word(cpython.runtime, 8, 3u << 24 | (minor - 1) << 16 | 0xf0); /* another version */
        assert_int_equal(find(), -ENOTSUP);
        for (unsigned i = 0; i < 2; i++) {
            be_python(minor);
            put_word(cpython.runtime, 8, 3u << 24 | minor << 16 | prereleases[i]);
            assert_int_equal(find(), -ENOTSUP);
        }
        be_python(minor);
        put_word(cpython.runtime, 8, 3u << 24 | minor << 16 | 0xc1); /* a release candidate */
        assert_int_equal(find(), 0);
    }
}

static void offsets_that_no_object_has(void **state)
{
    struct told_python t;

    for (unsigned minor = 13; minor <= 15; minor++) {
        be_python(minor);
        t = usual;
        t.table = 4096;
        tell_python(minor, &t);
        assert_int_equal(find(), -ENOTSUP);
        t = usual;
        t.thread_frame = 0xffff;
        tell_python(minor, &t);
        assert_int_equal(find(), -ENOTSUP);
        t = usual;
        t.name = 0xffff; /* this offset is not used */
        tell_python(minor, &t);
        assert_int_equal(find(), 0);
    }
}

/* If a layout is unknown, the output struct is unchanged. */
static void nothing_is_written_but_on_success(void **state)
{
    struct sl_python_layout before;

    be_python(13);
    cpython.runtime[0] = 'X';
    memset(&before, 0x5a, sizeof(before));
    assert_int_equal(find(), -ENOTSUP);
    assert_memory_equal(&layout, &before, sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_python_there_is_none),
        cmocka_unit_test(every_known_version_has_one),
        cmocka_unit_test(later_versions_tell_their_offsets),
        cmocka_unit_test(versions_that_are_not_known),
        cmocka_unit_test(objects_that_are_built_otherwise),
        cmocka_unit_test(tables_of_offsets_that_are_none),
        cmocka_unit_test(offsets_that_no_object_has),
        cmocka_unit_test(nothing_is_written_but_on_success),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
