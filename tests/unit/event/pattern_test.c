/* pattern_test.c - splits any text into its numbers and a pattern (the text without the numbers),
 * and joins both again. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "event/pattern.h"

/* Splits the text, and checks that the parts give the text again. */
static size_t apart(const char *text, char *pattern, uint64_t *numbers)
{
    uint32_t number[SL_PATTERN_NUMBERS];
    size_t length = sl_pattern_make(pattern, text, strlen(text), number);
    char back[256], *end;

    *numbers = sl_pattern_pack(number);
    end = sl_pattern_expand(back, pattern, length, *numbers, sl_json_raw);
    assert_int_equal(end - back, strlen(text));
    assert_memory_equal(back, text, strlen(text));
    return length;
}

static void names_that_count_are_one_pattern(void **state)
{
    char first[256], second[256];
    uint64_t numbers;
    size_t length;

    length = apart("epoch 3 batch 17", first, &numbers);
    assert_int_equal(numbers, 3 | 17ull << 32);
    assert_int_equal(apart("epoch 12 batch 999999999", second, &numbers), length);
    assert_memory_equal(first, second, length);
    assert_true(sl_pattern_varies(first, length));
    length = apart("ProfilerStep#5", first, &numbers);
    assert_int_equal(numbers, 5);
    assert_int_equal(length, sizeof("ProfilerStep#"));
}

static void the_last_two_numbers_vary(void **state)
{
    char pattern[256];
    uint64_t numbers;

    apart("layer 1 conv 2 step 3", pattern, &numbers);
    assert_int_equal(numbers, 2 | 3ull << 32);
}

static void what_would_not_come_back_stays_text(void **state)
{
    static const char *const text[] = {"", "forward", "007", "1234567890", "x00000000000000000001"};
    char pattern[256];
    uint64_t numbers;

    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
        size_t length = apart(text[i], pattern, &numbers);

        assert_false(sl_pattern_varies(pattern, length));
        assert_int_equal(numbers, 0);
    }
}

static void any_text_comes_back(void **state)
{
    static const char letters[] = "0019a. -#";
    char text[40], pattern[256];
    uint64_t numbers;

    srand(1);
    for (int i = 0; i < 20000; i++) {
        size_t length = (size_t)rand() % (sizeof(text) - 1);

        for (size_t j = 0; j < length; j++)
            text[j] = letters[(size_t)rand() % (sizeof(letters) - 1)];
        text[length] = '\0';
        apart(text, pattern, &numbers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_count_are_one_pattern),
        cmocka_unit_test(the_last_two_numbers_vary),
        cmocka_unit_test(what_would_not_come_back_stays_text),
        cmocka_unit_test(any_text_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
