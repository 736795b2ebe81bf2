/*
 * python_row_test.c - which rows of Python functions in torch.profiler's files belong to the user's
 * code.
 */
#include "unit/test.h"

#include <string.h>

#include "read/python_row.h"

static int is_users(const char *name)
{
    const struct sl_text text = {name, strlen(name)};

    return sl_python_row_is_users(text);
}

static void test_the_users(void **state)
{
    assert_true(is_users("train.py(42): main"));
    assert_true(is_users("/home/me/torch/train.py(1): <module>"));
    assert_true(is_users("/opt/lib/python3.11/site-packages/transformers/trainer.py(7): step"));
    assert_true(is_users("model/attention.py(9): forward"));
}

static void test_others(void **state)
{
    assert_false(is_users("torch/nn/modules/module.py(1735): _call_impl"));
    assert_false(is_users("/opt/lib/python3.11/site-packages/torch/_ops.py(7): __call__"));
    assert_false(is_users("/usr/lib/python3.11/contextlib.py(7): inner"));
    assert_false(is_users("threading.py(982): run"));
    assert_false(is_users("<built-in method item of Tensor object at 0x7f1c>"));
    assert_false(is_users("<frozen importlib._bootstrap>(1): _find"));
    assert_false(is_users("nn.Module: Linear_0"));
    assert_false(is_users("a name"));
    assert_false(is_users(""));
    assert_false(sl_python_row_is_users((struct sl_text){NULL, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_users),
        cmocka_unit_test(test_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
