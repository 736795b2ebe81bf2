/* fixture_subscriber.c - CUPTI functions for subscribers, used by collect.cupti.v2_test. */
#include "unit/session/fixture_subscriber.h"

#include <string.h>

struct fixture_subscriber fixture_subscriber;

/* The beginning of CUPTI's struct, up to the last member that is read. */
struct params {
    size_t struct_size;
    const char *name;
    char *holder;
    size_t holder_size;
};

int cuptiSubscribe_v2(void **out, void *callback, void *user, struct params *params);
int cuptiUnsubscribe(void *subscriber);
int cuptiActivityRegisterCallbacks_v2(void *subscriber, fixture_request_v2 request,
                                      fixture_complete_v2 complete);
int cuptiActivityEnable_v2(void *subscriber, int kind, void *config);
int cuptiActivityDisable_v2(void *subscriber, int kind, void *config);
int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value);
int cuptiActivityGetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value);
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid, void **record);

/* Counts a call with another handle than our subscriber, and returns the configured result. */
static int check(const void *subscriber)
{
    fixture_subscriber.strangers += subscriber != &fixture_subscriber;
    return fixture_subscriber.result;
}

int cuptiSubscribe_v2(void **out, void *callback, void *user, struct params *params)
{
    *out = &fixture_subscriber; /* even if the call fails */
    fixture_subscriber.callback = (fixture_callback)callback;
    fixture_subscriber.user = user;
    if (fixture_subscriber.holder)
        strncpy(params->holder, fixture_subscriber.holder, params->holder_size);
    return fixture_subscriber.subscribe_result;
}

int cuptiUnsubscribe(void *subscriber)
{
    fixture_subscriber.unsubscribed++;
    return check(subscriber);
}

int cuptiActivityRegisterCallbacks_v2(void *subscriber, fixture_request_v2 request,
                                      fixture_complete_v2 complete)
{
    fixture_subscriber.request = request;
    fixture_subscriber.complete = complete;
    return check(subscriber);
}

int cuptiActivityEnable_v2(void *subscriber, int kind, void *config)
{
    fixture_subscriber.kind = kind;
    fixture_subscriber.has_config = config != NULL;
    return check(subscriber);
}

int cuptiActivityDisable_v2(void *subscriber, int kind, void *config)
{
    fixture_subscriber.kind = kind;
    fixture_subscriber.has_config = config != NULL;
    return check(subscriber);
}

int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value)
{
    fixture_subscriber.attribute = attribute;
    fixture_subscriber.size = *size;
    fixture_subscriber.value = *(uint8_t *)value;
    check(subscriber);
    return fixture_subscriber.attribute_result;
}

int cuptiActivityGetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value)
{
    fixture_subscriber.attribute = attribute;
    memset(value, 7, *size);
    return check(subscriber);
}

int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid, void **record)
{
    (void)valid;
    *record = buffer;
    return check(subscriber);
}
