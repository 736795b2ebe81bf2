/* fixture_client.c - another profiler that is linked with CUPTI, so that its CUPTI calls go through
 * its import slots (GOT entries). */
#include "unit/session/fixture_calls.h"

int client_clock(uint64_t (*stamp)(void));
int client_register(fixture_request request, fixture_complete complete);
int client_enable(int kind);
int client_disable(int kind);
int client_flush(uint32_t flag);
int client_subscribe(void);

int client_clock(uint64_t (*stamp)(void))
{
    return cuptiActivityRegisterTimestampCallback(stamp);
}

int client_register(fixture_request request, fixture_complete complete)
{
    return cuptiActivityRegisterCallbacks(request, complete);
}

int client_enable(int kind)
{
    return cuptiActivityEnable(kind);
}

int client_disable(int kind)
{
    return cuptiActivityDisable(kind);
}

int client_flush(uint32_t flag)
{
    return cuptiActivityFlushAll(flag);
}

int client_subscribe(void)
{
    void *subscriber;

    return cuptiSubscribe(&subscriber, NULL, NULL);
}
