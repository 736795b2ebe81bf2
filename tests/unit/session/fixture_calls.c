/* fixture_calls.c - the CUPTI functions that another profiler (fixture_client.c) calls. */
#include "unit/session/fixture_calls.h"

struct fixture_calls fixture_calls;

int cuptiActivityRegisterTimestampCallback(uint64_t (*stamp)(void))
{
    fixture_calls.clocks += stamp != NULL;
    return fixture_calls.result;
}

int cuptiActivityRegisterCallbacks(fixture_request request, fixture_complete complete)
{
    fixture_calls.request = request;
    fixture_calls.complete = complete;
    fixture_calls.registered++;
    return fixture_calls.result;
}

int cuptiActivityEnable(int kind)
{
    fixture_calls.kind = kind;
    fixture_calls.enabled++;
    if (fixture_calls.on_enable)
        fixture_calls.on_enable();
    return fixture_calls.result;
}

int cuptiActivityDisable(int kind)
{
    fixture_calls.kind = kind;
    fixture_calls.disabled++;
    return fixture_calls.result;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    fixture_calls.flag = flag;
    fixture_calls.flushed++;
    if (fixture_calls.on_flush)
        fixture_calls.on_flush();
    return fixture_calls.result;
}

int cuptiSubscribe(void **subscriber, void *callback, void *user)
{
    (void)callback;
    (void)user;
    *subscriber = &fixture_calls;
    fixture_calls.subscribed++;
    return fixture_calls.result;
}
