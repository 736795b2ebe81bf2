/* attributes_test.c - the attributes of an NVTX event become members of its row's args. Attributes
 * of any length and content give valid JSON, which fits into the reserved memory. Each text is
 * converted once. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text_table.h"
#include "collect/nvtx/attributes.h"
#include "collect/nvtx/names.h"
#include "event/pattern.h"
#include "unit/write/json_dom.h"

static struct sl_intern *intern;
static struct sl_nvtx_attributes *look;

static int begin(void **state)
{
    return sl_intern_create(&intern, 1 << 20) || sl_nvtx_attributes_create(&look, intern, 1 << 19);
}

static int end(void **state)
{
    sl_nvtx_attributes_destroy(look);
    sl_intern_destroy(intern);
    return 0;
}

/* Returns the attributes of an event that has only a category and a color. */
static struct sl_range_look colored(unsigned domain, uint32_t category, uint32_t color)
{
    struct {
        struct sl_lane_record record;
        uint64_t word;
    } r = {.record = {.what = SL_LANE_MARK,
                      .parts = SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR,
                      .pairs = 2,
                      .domain = (uint16_t)domain},
           .word = category | (uint64_t)color << 32};
    struct sl_range_look out;

    sl_nvtx_attributes_make(look, &r.record, NULL, &out, NULL);
    return out;
}

/* Returns the text of the member `key` of the args. */
static const char *member(uint32_t args, const char *key, size_t *length)
{
    static char object[20000], text[8192];
    size_t bytes = 0;
    const char *members = sl_intern_get(intern, args, &bytes);
    int size = snprintf(object, sizeof(object), "{%s}", members ? members : "");
    struct json *j = json_parse(object, (size_t)size), *child;

    assert_non_null(j);
    assert_int_equal(bytes, size - 2);
    for (child = j->child; child && strcmp(child->key, key) != 0; child = child->next)
        ;
    if (!child)
        fail_msg("no %s in %.100s (%zu bytes)", key, object, bytes);
    *length = child->length;
    assert_true(child->length < sizeof(text));
    memcpy(text, child->text, child->length);
    json_free(j);
    return text;
}

/* Two names have the greatest length, and each of their bytes needs six bytes in JSON (\u00NN).
 * Both names fit into the args. */
static void the_longest_names_fit_into_args(void **state)
{
    char name[SL_LANE_TEXT_MAX];
    struct sl_range_look got;
    unsigned domain;
    size_t length;

    memset(name, '\1', sizeof(name));
    domain = sl_nvtx_domain(name, sizeof(name));
    sl_nvtx_attributes_category(look, domain, 9, sl_text_table_put(name, sizeof(name)));
    got = colored(domain, 9, UINT32_MAX);
    assert_int_equal(*member(got.more, "domain", &length), '\1');
    assert_int_equal(length, SL_LANE_TEXT_MAX);
    member(got.more, "category", &length);
    assert_int_equal(length, SL_LANE_TEXT_MAX);
    assert_memory_equal(member(got.more, "color", &length), "#ffffffff", 9);
}

/* Names from the program are not UTF-8, or are truncated inside a character. The args are still
 * valid. */
static void names_that_are_no_utf8(void **state)
{
    char name[SL_LANE_TEXT_MAX];
    unsigned domain;
    size_t length;

    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = (char)(0x80 + i % 128);
    domain = sl_nvtx_domain(name, sizeof(name));
    member(colored(domain, 1, 2).more, "domain", &length);
    assert_true(length > 0);
    domain = sl_nvtx_domain("cut \xe2\x82", 6);
    assert_memory_equal(member(colored(domain, 1, 2).more, "domain", &length), "cut ", 4);
}

/* More combinations of attributes occur than the cache holds. Each row still has its own event's
 * attributes. */
static void looks_do_not_get_mixed_up(void **state)
{
    char expected[16];
    size_t length;

    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 3000; i++) {
            uint32_t color = i * 2654435761u;
            struct sl_range_look got = colored(0, i % 7, color);

            snprintf(expected, sizeof(expected), "#%08x", color);
            assert_memory_equal(member(got.more, "color", &length), expected, 9);
            assert_int_equal(got.more, colored(0, i % 7, color).more);
        }
    }
}

static void what_is_not_said_is_not_there(void **state)
{
    const struct sl_lane_record plain = {.what = SL_LANE_MARK, .pairs = 1};
    struct sl_range_look got;
    uint64_t id = 5;

    sl_nvtx_attributes_make(look, &plain, NULL, &got, &id);
    assert_int_equal(got.more, 0);
    assert_int_equal(got.payload, 0);
    assert_int_equal(got.value_type, 0);
    assert_int_equal(id, 0);
    assert_string_equal(sl_intern_get(intern, got.name, NULL), "NVTX range");
    sl_nvtx_attributes_add_payload(look, &got, "", 0);
    assert_int_equal(got.payload, 0);
    sl_nvtx_attributes_make(look, &plain, "\"sync\":\"held\"", &got, NULL);
    assert_string_equal(sl_intern_get(intern, got.more, NULL), "\"sync\":\"held\"");
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_longest_names_fit_into_args),
        CASE(names_that_are_no_utf8),
        CASE(looks_do_not_get_mixed_up),
        CASE(what_is_not_said_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
