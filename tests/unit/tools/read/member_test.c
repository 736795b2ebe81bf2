/* member_test.c - members of objects, elements of arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/member.h"
#include "read/scan.h"

static char padded[512];

static struct sl_text text_of(const char *text)
{
    memset(padded, '}', sizeof(padded));
    memcpy(padded, text, strlen(text));
    return (struct sl_text){padded, strlen(text)};
}

static void expect(const char *object, const char *key, const char *value)
{
    struct sl_text found = sl_member_find(text_of(object), key);

    if (!value) {
        assert_null(found.data);
        return;
    }
    assert_non_null(found.data);
    assert_int_equal(found.size, strlen(value));
    assert_memory_equal(found.data, value, found.size);
}

static void test_members(void **state)
{
    const char *object = "{ \"a\" : [1, {\"b\": \"]}\"}] , \"b\":-1.5e3,\"\":null,\"s\":\"x\\\"y\","
                         "\"o\":{}}";

    (void)state;
    expect(object, "a", "[1, {\"b\": \"]}\"}]");
    expect(object, "b", "-1.5e3");
    expect(object, "", "null");
    expect(object, "s", "\"x\\\"y\"");
    expect(object, "o", "{}");
    expect(object, "c", NULL);
    expect("{}", "a", NULL);
    expect("[\"a\", 1]", "a", NULL);
    expect("7", "a", NULL);
}

static void test_elements(void **state)
{
    struct sl_text array = text_of(" [1 ,\"two\", [3], {\"f\": 4} ]"), value;
    static const char *const wanted[] = {"1", "\"two\"", "[3]", "{\"f\": 4}"};
    size_t at = 0;

    (void)state;
    array.data++;
    array.size--;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sl_member_next(array, &at, NULL, &value), 1);
        assert_int_equal(value.size, strlen(wanted[i]));
        assert_memory_equal(value.data, wanted[i], value.size);
    }
    assert_int_equal(sl_member_next(array, &at, NULL, &value), 0);
    at = 0;
    assert_int_equal(sl_member_next(text_of("[ ]"), &at, NULL, &value), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
