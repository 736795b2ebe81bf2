/* names_test.c - registered strings, domains and names get a number each. A text gets the same
 * number on every thread. A full table is reported. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "base/text_table.h"
#include "collect/lane/lane.h"
#include "collect/nvtx/names.h"

/* The tables exist once per process, so the cases build on each other, in this order. */

static uint32_t string(const char *text)
{
    return sl_text_table_put(text, strlen(text));
}

static void a_text_has_one_number(void **state)
{
    char longest[SL_LANE_TEXT_MAX + 2];
    uint32_t forward = string("forward"), backward = string("backward");
    size_t length;

    assert_true(forward && backward && forward != backward);
    assert_int_equal(string("forward"), forward);
    assert_string_equal(sl_text_table_get(backward, &length), "backward");
    assert_int_equal(length, 8);
    assert_string_equal(sl_text_table_get(string(""), &length), "");
    assert_null(sl_text_table_get(0, NULL));
    assert_null(sl_text_table_get(1000000, NULL));
    /* A longer text is truncated, and equals the truncated text. */
    memset(longest, 'x', sizeof(longest));
    assert_int_equal(sl_text_table_put(longest, sizeof(longest)),
                     sl_text_table_put(longest, SL_LANE_TEXT_MAX));
    sl_text_table_get(sl_text_table_put(longest, sizeof(longest)), &length);
    assert_int_equal(length, SL_LANE_TEXT_MAX);
}

enum {
    THREADS = 4,
    TEXTS = 2000,
};

static void *register_all(void *numbers)
{
    char text[32];

    for (unsigned i = 0; i < TEXTS; i++)
        ((uint32_t *)numbers)[i] =
            sl_text_table_put(text, (size_t)snprintf(text, sizeof(text), "shared %u", i));
    return NULL;
}

static void threads_that_meet_get_the_same_numbers(void **state)
{
    static uint32_t number[THREADS][TEXTS];
    pthread_t thread[THREADS];
    char text[32];

    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, register_all, number[t]), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    for (unsigned i = 0; i < TEXTS; i++) {
        for (unsigned t = 1; t < THREADS; t++)
            assert_int_equal(number[t][i], number[0][i]);
        snprintf(text, sizeof(text), "shared %u", i);
        assert_string_equal(sl_text_table_get(number[0][i], NULL), text);
    }
}

static void domains_share_the_last_number_when_there_are_too_many(void **state)
{
    uint64_t lost;
    char text[32];
    unsigned nccl = sl_nvtx_domain("NCCL", 4);

    assert_in_range(nccl, 1, SL_LANE_DOMAINS - 2);
    assert_int_equal(sl_nvtx_domain("NCCL", 4), nccl);
    assert_string_equal(sl_text_table_get(sl_nvtx_domain_name(nccl), NULL), "NCCL");
    assert_int_equal(sl_nvtx_domain_name(0), 0);
    assert_int_equal(sl_nvtx_domain_name(1u << 20), 0);
    lost = sl_stats_get(SL_STAT_NAMES_LOST);
    for (int i = 0; i < SL_LANE_DOMAINS; i++)
        sl_nvtx_domain(text, (size_t)snprintf(text, sizeof(text), "domain %d", i));
    assert_int_equal(sl_nvtx_domain("one more", 8), SL_LANE_DOMAINS - 1);
    assert_true(sl_stats_get(SL_STAT_NAMES_LOST) > lost);
    assert_int_equal(sl_nvtx_domain("NCCL", 4), nccl);
}

static void names_are_kept_until_there_is_no_room(void **state)
{
    struct sl_named name = {.what = SL_NAMED_STREAM, .key = 13, .within = 1}, got;
    uint32_t first = sl_nvtx_name(&name), number = first;
    uint64_t lost;

    assert_int_equal(sl_nvtx_name_get(first, &got), 0);
    assert_true(got.what == SL_NAMED_STREAM && got.key == 13 && got.within == 1);
    assert_int_equal(sl_nvtx_name_get(first + 1, &got), -ENOENT);
    lost = sl_stats_get(SL_STAT_NAMES_LOST);
    while (number)
        number = sl_nvtx_name(&name);
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST), lost + 1);
    assert_int_equal(sl_nvtx_name_get(first, &got), 0);
}

static void strings_are_kept_until_there_is_no_room(void **state)
{
    uint32_t forward = string("forward"), number = forward;
    uint64_t lost = sl_stats_get(SL_STAT_NAMES_LOST);
    char text[32];

    for (unsigned i = 0; number; i++)
        number = sl_text_table_put(text, (size_t)snprintf(text, sizeof(text), "text %u", i));
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST), lost + 1);
    assert_int_equal(string("forward"), forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_number),
        cmocka_unit_test(threads_that_meet_get_the_same_numbers),
        cmocka_unit_test(domains_share_the_last_number_when_there_are_too_many),
        cmocka_unit_test(names_are_kept_until_there_is_no_room),
        cmocka_unit_test(strings_are_kept_until_there_is_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
