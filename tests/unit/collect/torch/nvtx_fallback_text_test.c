/* nvtx_fallback_text_test.c - parses the NVTX texts that PyTorch writes for operators, texts that
 * only resemble these, and harmful texts. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/torch/nvtx_fallback_text.h"

#define ADDMM                                                                                      \
    "aten::addmm, seq = 1, op_id = 5, sizes = [[8], [2, 8], [8, 8], [], []], input_op_ids = "      \
    "[(0,-1), (0,-1), (2,0), (0,-1), (0,-1)]"

/* Parses the text from memory that ends where the text ends. */
static int read_text(struct sl_nvtx_fallback_text *out, const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);
    int err;

    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(out, 0x5a, sizeof(*out));
    err = sl_nvtx_fallback_text_read(out, copy, length);
    if (!err) {
        assert_in_range(out->name_length, 1, length);
        assert_true((uint32_t)out->handle);
        assert_true(out->sequence >= -1);
        if (out->sizes) {
            assert_true(out->sizes >= copy && out->sizes + out->sizes_length <= copy + length);
            out->sizes = text + (out->sizes - copy);
        }
    }
    free(copy);
    return err;
}

static struct sl_nvtx_fallback_text good(const char *text, const char *name)
{
    struct sl_nvtx_fallback_text t;

    assert_int_equal(read_text(&t, text, strlen(text)), 0);
    assert_int_equal(t.name_length, strlen(name));
    assert_memory_equal(text, name, t.name_length);
    return t;
}

static void as_pytorch_writes_them(void **state)
{
    struct sl_nvtx_fallback_text t = good(ADDMM, "aten::addmm");

    assert_int_equal(t.sequence, 1);
    assert_int_equal(t.handle, 5);
    assert_int_equal(t.sizes_length, strlen("[[8], [2, 8], [8, 8], [], []]"));
    assert_memory_equal(t.sizes, "[[8], [2, 8], [8, 8], [], []]", t.sizes_length);
    assert_false(t.was_cut || t.is_user || t.is_evaluation);
    t = good("autograd::engine::evaluate_function: SumBackward0, op_id = 13",
             "autograd::engine::evaluate_function: SumBackward0");
    assert_int_equal(t.sequence, -1);
    assert_int_equal(t.handle, 13);
    assert_null(t.sizes);
    assert_true(t.is_evaluation && !t.is_user);
    t = good("SumBackward0, seq = 2, op_id = 14", "SumBackward0");
    assert_int_equal(t.sequence, 2);
    assert_false(t.is_user || t.is_evaluation);
    t = good("aten::empty, seq = 0, op_id = 18446744073709551615", "aten::empty");
    assert_true(t.handle == UINT64_MAX && t.sequence == 0);
}

static void scopes_of_the_users(void **state)
{
    assert_true(good("forward, op_id = 7", "forward").is_user);
    assert_true(good("Optimizer.step#SGD.step, op_id = 7", "Optimizer.step#SGD.step").is_user);
    assert_true(good("ProfilerStep#3, op_id = 7", "ProfilerStep#3").is_user);
    assert_true(good("a:b, op_id = 7", "a:b").is_user);
    assert_false(good("detach, op_id = 7", "detach").is_user);
    assert_true(good("detached, op_id = 7", "detached").is_user);
    assert_false(good("record_param_comms, op_id = 7", "record_param_comms").is_user);
    assert_false(
        good("Torch-Compiled Region: 0/0, op_id = 7", "Torch-Compiled Region: 0/0").is_user);
    assert_false(good("MyFunction, seq = 9, op_id = 7", "MyFunction").is_user);
}

/* An operator's name contains a part that looks like an attribute. The name is unchanged. */
static void names_that_look_like_the_rest(void **state)
{
    struct sl_nvtx_fallback_text t = good("x, op_id = 1, op_id = 2", "x, op_id = 1");

    assert_int_equal(t.handle, 2);
    t = good("x, seq = 1, seq = 2, op_id = 3", "x, seq = 1");
    assert_int_equal(t.sequence, 2);
    t = good("x, seq = -1, op_id = 3", "x, seq = -1");
    assert_int_equal(t.sequence, -1);
    t = good("x, seq = , op_id = 3", "x, seq = ");
    assert_int_equal(t.sequence, -1);
    t = good("x, seq = 9223372036854775808, op_id = 3", "x, seq = 9223372036854775808");
    assert_int_equal(t.sequence, -1);
    good("12, op_id = 3", "12");
    good("x, sizes = [[2]], op_id = 3", "x, sizes = [[2]]");
}

static void no_operators(void **state)
{
    static const char *const texts[] = {
        "",
        "a",
        ", op_id = ",
        ", op_id = 1",
        ", seq = 1, op_id = 2",
        "a, op_id = ",
        "a, op_id = x",
        "a, op_id = -1",
        "a, op_id = 0",
        "a, op_id = 18446744073709551616",
        "a, op_id = 4294967296",
        "a, op_id = 1x",
        "a, op_id = 1, ",
        "a, op_id = 1, size = [[]]",
        "a, op_id=1",
        "a,op_id = 1",
        "a, op_id = 99999999999999999999999999999999999999999",
        "a, op_id = 1, sizes = [[2]]x",
    };
    struct sl_nvtx_fallback_text t;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(read_text(&t, texts[i], strlen(texts[i])), -EINVAL);
}

/* Input sizes that are not valid JSON are dropped. */
static void sizes_that_make_no_sense(void **state)
{
    static const char *const sizes[] = {
        "",       "[",        "[]",      "[[",
        "[[]",    "[[2",      "[[2,3]]", "[[2, ]]",
        "[[-2]]", "[[2]",     "[2]",     "[[2], ]",
        "[[x]]",  "[[\"]]",   "[[[2]]]", "[[9223372036854775808]]",
        "null",   "[[2], [3",
    };
    char text[128];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct sl_nvtx_fallback_text t;

        snprintf(text, sizeof(text), "aten::mm, op_id = 4, sizes = %s", sizes[i]);
        t = good(text, "aten::mm");
        assert_null(t.sizes);
        assert_true(t.was_cut);
    }
}

static void cut_anywhere(void **state)
{
    struct sl_nvtx_fallback_text t;

    for (size_t length = 0; length < strlen(ADDMM); length++)
        (void)read_text(&t, ADDMM, length);
    /* The text is truncated inside the ids of inputs, after all needed parts. */
    assert_int_equal(read_text(&t, ADDMM, strlen(ADDMM) - 3), 0);
    assert_true(t.sizes && !t.was_cut);
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Parses random combinations of parts of these texts, with some random bytes. */
static void made_to_hurt(void **state)
{
    static const char *const pieces[] = {", op_id = ",
                                         ", seq = ",
                                         ", sizes = ",
                                         "[[",
                                         "]]",
                                         "[",
                                         "]",
                                         ", ",
                                         "12",
                                         "18446744073709551615",
                                         "aten::mm",
                                         "::",
                                         ", input_op_ids = ",
                                         "9223372036854775807",
                                         " ",
                                         "\0",
                                         "-"};
    char text[1200];
    struct sl_nvtx_fallback_text t;
    uint64_t seed = 7, read = 0;

    for (int i = 0; i < 200000; i++) {
        size_t length = 0, count = next(&seed) % 12;

        while (count--) {
            const char *piece = pieces[next(&seed) % (sizeof(pieces) / sizeof(*pieces))];
            size_t size = *piece ? strlen(piece) : 1;

            memcpy(text + length, piece, size);
            length += size;
        }
        if (length && next(&seed) % 4 == 0)
            text[next(&seed) % length] = (char)next(&seed);
        read += read_text(&t, text, length) == 0;
    }
    assert_true(read > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_pytorch_writes_them),
        cmocka_unit_test(scopes_of_the_users),
        cmocka_unit_test(names_that_look_like_the_rest),
        cmocka_unit_test(no_operators),
        cmocka_unit_test(sizes_that_make_no_sense),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(made_to_hurt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
