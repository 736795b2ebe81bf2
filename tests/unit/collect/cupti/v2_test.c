/* v2_test.c - which CUPTI functions syncline calls while it is a subscriber, and afterwards. Also
 * tests which client is reported if CUPTI refuses the subscription. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "collect/cupti/tables.h"
#include "collect/cupti/v2.h"
#include "unit/session/fixture_subscriber.h"

static void *library;
static struct fixture_subscriber *cupti;

static int init(void **state)
{
    library = dlopen(FIXTURE_SUBSCRIBER, RTLD_NOW);
    cupti = library ? dlsym(library, "fixture_subscriber") : NULL;
    return cupti ? 0 : -1;
}

/* ---- the older functions ---- */

static int old_calls;

static int old_enable(int kind)
{
    (void)kind;
    return ++old_calls;
}

static int old_flush(uint32_t flag)
{
    (void)flag;
    return ++old_calls;
}

static int old_next(uint8_t *buffer, size_t valid, void **record)
{
    (void)valid;
    *record = buffer + 1;
    return ++old_calls;
}

static int old_dropped(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = 5;
    return 0;
}

static int old_filter(uint32_t cbid, uint8_t on)
{
    (void)cbid;
    (void)on;
    return ++old_calls;
}

static const struct sl_cupti_functions before = {
    .ActivityEnable = old_enable,
    .ActivityFlushAll = old_flush,
    .ActivityGetNextRecord = old_next,
    .ActivityGetNumDroppedRecords = old_dropped,
    .ActivityEnableRuntimeApi = old_filter,
    .ActivityEnableDriverApi = old_filter,
};

static struct sl_cupti_functions fn, old;
static char holder[64];
static int fields;

static int subscribe_with(int wanted, size_t holder_size)
{
    fn = before;
    memset(&old, 0x5a, sizeof(old));
    memset(holder, 'x', sizeof(holder));
    fields = wanted;
    old_calls = 0;
    return sl_cupti_v2_subscribe(&fn, &old, library, &fields, holder, holder_size);
}

static int subscribe(int wanted)
{
    return subscribe_with(wanted, sizeof(holder));
}

static int reset(void **state)
{
    memset(cupti, 0, sizeof(*cupti));
    return 0;
}

/* ---- subscribing ---- */

static void without_the_newer_calls_there_is_none(void **state)
{
    fn = before;
    assert_int_equal(sl_cupti_v2_subscribe(&fn, &old, NULL, &fields, holder, sizeof(holder)),
                     -ENOTSUP);
    assert_int_equal(
        sl_cupti_v2_subscribe(&fn, &old, dlopen(NULL, RTLD_NOW), &fields, holder, sizeof(holder)),
        -ENOTSUP);
    assert_memory_equal(&fn, &before, sizeof(fn));
    assert_string_equal(holder, "");
    assert_null(sl_cupti_v2_listen(NULL));
}

static void another_tool_that_holds_cupti_is_named(void **state)
{
    static const char longest[] =
        "a tool whose name is longer than all the room that there is for it, by far";

    cupti->subscribe_result = SL_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    assert_int_equal(subscribe(0), -EBUSY);
    assert_string_equal(holder, "");
    cupti->holder = "nsys";
    assert_int_equal(subscribe(0), -EBUSY);
    assert_string_equal(holder, "nsys");
    assert_memory_equal(&fn, &before, sizeof(fn));
    cupti->holder = longest; /* no NUL at the end */
    assert_int_equal(subscribe(0), -EBUSY);
    assert_int_equal(strlen(holder), 63);
    assert_int_equal(subscribe_with(0, 8), -EBUSY);
    assert_string_equal(holder, "a tool ");
    assert_int_equal(holder[8], 'x');
}

/* CUPTI refuses the subscription but writes a handle. There is no subscriber. */
static void a_refusal_leaves_none(void **state)
{
    cupti->subscribe_result = 999;
    assert_int_equal(subscribe(0), -EIO);
    assert_memory_equal(&fn, &before, sizeof(fn));
    assert_null(sl_cupti_v2_listen(NULL));
}

/* ---- with a subscriber ---- */

static uint8_t buffer[64];
static size_t completed_bytes, completed_valid;

static void on_request(uint8_t **out, size_t *size, size_t *max_records)
{
    *out = buffer;
    *size = sizeof(buffer);
    *max_records = 0;
}

static void on_complete(void *context, uint32_t stream, uint8_t *from, size_t size, size_t valid)
{
    assert_null(context);
    assert_int_equal(stream, 0);
    assert_ptr_equal(from, buffer);
    completed_bytes = size;
    completed_valid = valid;
}

static int heard;

static void listen(void *user, int domain, uint32_t cbid, const void *data)
{
    assert_null(user);
    assert_ptr_equal(data, &heard);
    heard += domain * 100 + (int)cbid;
}

static void calls_name_our_subscriber(void **state)
{
    uint8_t *asked = NULL;
    size_t size = 4, max_records;
    uint32_t value = 0;
    void *record;

    assert_int_equal(subscribe(0), 0);
    assert_memory_equal(&old, &before, sizeof(old));
    assert_int_equal(fields, 0);
    assert_int_equal(fn.ActivityEnable(10), 0);
    assert_true(cupti->kind == 10 && !cupti->has_config);
    assert_int_equal(fn.ActivityDisable(11), 0);
    assert_int_equal(cupti->kind, 11);
    assert_int_equal(fn.ActivitySetAttribute(3, &size, &value), 0);
    assert_true(cupti->attribute == 3 && cupti->size == 4);
    assert_int_equal(fn.ActivityGetAttribute(4, &size, &value), 0);
    assert_int_equal(value, 0x07070707);
    assert_int_equal(fn.ActivityEnableAllSyncRecords(1), 0);
    assert_true(cupti->attribute == SL_CUPTI_ATTR_ENABLE_ALL_SYNC_RECORDS && cupti->value == 1);
    assert_int_equal(fn.SetThreadIdType(2), 0);
    assert_true(cupti->attribute == SL_CUPTI_ATTR_THREAD_ID_TYPE && cupti->value == 2);
    assert_int_equal(fn.ActivityRegisterCallbacks(on_request, on_complete), 0);
    cupti->request(&asked, &size, &max_records, NULL);
    assert_ptr_equal(asked, buffer);
    cupti->complete(buffer, 64, 32, NULL);
    assert_true(completed_bytes == 64 && completed_valid == 32);
    assert_int_equal(fn.ActivityGetNextRecord(buffer, 64, &record), 0);
    assert_ptr_equal(record, buffer);
    assert_int_equal(cupti->strangers, 0);
    cupti->result = 7; /* the functions return CUPTI's own results */
    assert_int_equal(fn.ActivityEnable(10), 7);
    sl_cupti_v2_unsubscribe(&fn, &old);
}

/* After the end of the subscription, the older functions are used. Buffers that arrived earlier can
 * still be read. */
static void after_the_end_calls_are_the_older_ones(void **state)
{
    int (*next)(uint8_t *, size_t, void **);
    void *record;

    assert_int_equal(subscribe(0), 0);
    next = fn.ActivityGetNextRecord;
    sl_cupti_v2_unsubscribe(&fn, &old);
    assert_int_equal(cupti->unsubscribed, 1);
    assert_memory_equal(&fn, &before, sizeof(fn));
    assert_int_equal(next(buffer, 64, &record), 1);
    assert_ptr_equal(record, buffer + 1);
    assert_null(sl_cupti_v2_listen(listen));
}

#define CASE(function) cmocka_unit_test_setup(function, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_the_newer_calls_there_is_none),
        CASE(another_tool_that_holds_cupti_is_named),
        CASE(a_refusal_leaves_none),
        CASE(calls_name_our_subscriber),
        CASE(after_the_end_calls_are_the_older_ones),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
