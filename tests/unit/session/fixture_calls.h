/* fixture_calls.h - the state of fixture_calls.c, a CUPTI that counts the calls that it
 * receives. */
#ifndef SL_SESSION_FIXTURE_CALLS_H
#define SL_SESSION_FIXTURE_CALLS_H

#include <stddef.h>
#include <stdint.h>

typedef void (*fixture_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fixture_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid);

struct fixture_calls {
    fixture_request request;
    fixture_complete complete;
    int registered, clocks, enabled, disabled, flushed, subscribed;
    int kind;               /* the last kind that was enabled or disabled */
    uint32_t flag;          /* the flag of the last flush */
    int result;             /* the result that all functions return */
    void (*on_flush)(void); /* called during a flush */
    void (*on_enable)(void);
};

/* The functions have the names of CUPTI's functions. */
int cuptiActivityRegisterTimestampCallback(uint64_t (*stamp)(void));
int cuptiActivityRegisterCallbacks(fixture_request request, fixture_complete complete);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiSubscribe(void **subscriber, void *callback, void *user);

#endif
