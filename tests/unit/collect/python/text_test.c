/* text_test.c - str objects, as CPython lays them out, become "FILE:LINE FUNCTION". */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "collect/python/text.h"

#define MOST SL_PYTHON_TEXT_MAX

/* The layout of Python 3.12. */
static const struct sl_python_layout layout = {.ascii_text = 40, .compact_text = 56};

/* Makes a str in memory of exactly its length, so that the address sanitizer notices a read past
 * the end. */
static void *new_str(const void *chars, size_t length, unsigned kind, uint32_t flags)
{
    uint32_t state = kind << 2 | flags;
    size_t at = flags & SL_PYTHON_STR_ASCII ? layout.ascii_text : layout.compact_text;
    char *str = calloc(1, at + length * kind);

    assert_non_null(str);
    memcpy(str + SL_PYTHON_STR_LENGTH, &(uint64_t){length}, sizeof(uint64_t));
    memcpy(str + SL_PYTHON_STR_STATE, &state, sizeof(state));
    memcpy(str + at, chars, length * kind);
    return str;
}

static void *ascii(const char *text)
{
    return new_str(text, strlen(text), 1, SL_PYTHON_STR_COMPACT | SL_PYTHON_STR_ASCII);
}

static void *wide(const void *chars, size_t length, unsigned kind)
{
    return new_str(chars, length, kind, SL_PYTHON_STR_COMPACT);
}

/* Returns the text of the line, appended to `before`. Frees both str objects. */
static const char *line_behind(const char *before, void *file, void *function, int line,
                               size_t most)
{
    static char text[MOST + 2];
    size_t length = strlen(before);

    memset(text, '#', sizeof(text));
    memcpy(text, before, length);
    length = sl_python_text_add(&layout, text, length, most, file, function, line);
    assert_true(length <= strlen(before) + most);
    assert_int_equal(text[length], '#'); /* no byte is written after the end */
    text[length] = '\0';
    free(file);
    free(function);
    return text;
}

static const char *line_of(void *file, void *function, int line)
{
    return line_behind("", file, function, line, MOST);
}

/* A str has 1, 2 or 4 bytes per character, depending on its largest character. */
static void characters_of_all_sizes(void **state)
{
    static const uint16_t two[] = {'n', 0xe9, 0x4e2d};
    static const uint32_t four[] = {'x', 0x1f600};

    assert_string_equal(line_of(wide("d\xe9\xff.py", 6, 1), ascii("f"), 1),
                        "d\xc3\xa9\xc3\xbf.py:1 f");
    assert_string_equal(line_of(wide(two, 3, 2), wide(four, 2, 4), 1),
                        "n\xc3\xa9\xe4\xb8\xad:1 x\xf0\x9f\x98\x80");
}

/* A path is too long. The beginning of the path is dropped, because the end is more useful. The
 * line and the function are kept. */
static void a_long_path_loses_its_beginning(void **state)
{
    char path[3000];
    uint16_t characters[1500];
    const char *text;

    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    memcpy(path + sizeof(path) - 8, "last.py", 7);
    text = line_of(ascii(path), ascii("function"), 12345);
    assert_true(strlen(text) <= MOST && strlen(text) > MOST / 2);
    assert_memory_equal(text, "...ppp", 6);
    assert_non_null(strstr(text, "plast.py:12345 function"));
    for (size_t i = 0; i < 1500; i++)
        characters[i] = 0x4e2d;
    characters[1499] = 0xe9;
    text = line_of(wide(characters, 1500, 2), ascii("function"), 1);
    assert_memory_equal(text, "...\xe4\xb8\xad", 6); /* the cut is between two characters */
    assert_non_null(strstr(text, "\xe4\xb8\xad\xc3\xa9:1 function"));
}

static void a_long_function_leaves_room_for_the_path(void **state)
{
    char function[3000];
    const char *text;

    memset(function, 'f', sizeof(function) - 1);
    function[sizeof(function) - 1] = '\0';
    text = line_of(ascii("folder/train.py"), ascii(function), 5);
    assert_memory_equal(text, "folder/train.py:5 ffff", 22);
    /* No byte is written after the given room. */
    for (size_t most = 40; most < 120; most++)
        line_behind("before", ascii(function), ascii(function), 2147483647, most);
}

/* A str has another memory layout than CPython uses for names. This str gives no text, and no
 * memory after it is read. */
static void a_str_of_another_form(void **state)
{
    void *not_compact = new_str("", 0, 1, SL_PYTHON_STR_ASCII);
    void *endless = ascii("x");
    struct sl_python_chars chars;

    memcpy((char *)not_compact + SL_PYTHON_STR_LENGTH, &(uint64_t){5}, sizeof(uint64_t));
    memcpy((char *)endless + SL_PYTHON_STR_LENGTH, &(uint64_t){1ull << 40}, sizeof(uint64_t));
    sl_python_chars_of(&layout, not_compact, &chars);
    assert_int_equal(chars.length, 0);
    sl_python_chars_of(&layout, endless, &chars);
    assert_int_equal(chars.length, 0);
    assert_string_equal(line_of(not_compact, endless, 3), ":3 ");
}

static int is_library(const char *path)
{
    void *file = ascii(path);
    int is = sl_python_is_library(&layout, file);

    free(file);
    return is;
}

static void whose_file_it_is(void **state)
{
    static const char *const libraries[] = {
        "/usr/lib/python3.11/threading.py",
        "/usr/lib64/python3.9/contextlib.py",
        "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py",
        "/usr/lib/python3/dist-packages/torch/optim/adamw.py",
        "/opt/venv/lib/python3.12/site-packages/triton/runtime/jit.py",
        "/opt/venv/lib/python3.12/site-packages/syncline/_steps.py",
        "/usr/lib/syncline/python/syncline/_modules.py",
        "/tmp/torchinductor_me/ab/cab.py",
        "/srv/cache/wv/cwvfpks2dcevwdkfq5ddx4o4zea3f3bj6yd6wr3glglqf4ahoxyy.py",
        "<frozen importlib._bootstrap>",
        "<eval_with_key>.12",
    };
    static const char *const users[] = {
        "train.py",
        "/home/me/lib/python3.py",
        "/home/me/torch/train.py",
        "/opt/venv/lib/python3.12/site-packages/transformers/trainer.py",
        "/opt/venv/lib/python3.12/site-packages/torchvision/models/resnet.py",
        "/opt/venv/lib/python3.12/site-packages/torch.py",
        "/home/me/lib/python3.x/train.py",
        "/srv/cache/wv/cwv.py",
        "/srv/cache/xy/cwvfpks2dcevwdkfq5ddx4o4zea3f3bj6yd6wr3glglqf4ahoxyy.py",
        "cwvfpks2dcevwdkfq5ddx4o4zea3f3bj6yd6wr3glglqf4ahoxyy.py",
        "<stdin>",
        "<ipython-input-3>",
        "",
    };

    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (!is_library(libraries[i]))
            fail_msg("%s is a library's", libraries[i]);
    for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
        if (is_library(users[i]))
            fail_msg("%s is the user's", users[i]);
}

/* Files of packages are recognized wherever PyTorch is installed. */
static void packages_in_a_folder_of_their_own(void **state)
{
    assert_int_equal(is_library("/srv/deps/torch/_tensor_str.py"), 0);
    sl_python_packages_are_in("");
    sl_python_packages_are_in("/srv/deps");
    sl_python_packages_are_in("/home/me"); /* only the first call counts */
    assert_int_equal(is_library("/srv/deps/torch/_tensor_str.py"), 1);
    assert_int_equal(is_library("/srv/deps/triton/runtime/jit.py"), 1);
    assert_int_equal(is_library("/srv/deps/torchvision/models/resnet.py"), 0);
    assert_int_equal(is_library("/srv/deps/train.py"), 0);
    assert_int_equal(is_library("/srv/deps2/torch/optim/adamw.py"), 0);
    assert_int_equal(is_library("/home/me/torch/train.py"), 0);
}

/* A path is longer than the part that syncline checks. The path's end still shows whether the file
 * belongs to a library. */
static void whose_a_long_path_is(void **state)
{
    static char path[9000];

    memset(path, 'p', sizeof(path) - 1);
    strcpy(path + 8000, "/lib/python3.12/site-packages/torch/cuda/__init__.py");
    assert_int_equal(is_library(path), 1);
    strcpy(path + 8000, "/train.py");
    assert_int_equal(is_library(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_of_all_sizes),
        cmocka_unit_test(a_long_path_loses_its_beginning),
        cmocka_unit_test(a_long_function_leaves_room_for_the_path),
        cmocka_unit_test(a_str_of_another_form),
        cmocka_unit_test(whose_file_it_is),
        cmocka_unit_test(whose_a_long_path_is),
        cmocka_unit_test(packages_in_a_folder_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
