/* fixture_subscriber.h - the state of fixture_subscriber.c: the arguments that its functions
 * received, and the results that they return. */
#ifndef SL_SESSION_FIXTURE_SUBSCRIBER_H
#define SL_SESSION_FIXTURE_SUBSCRIBER_H

#include <stddef.h>
#include <stdint.h>

typedef void (*fixture_callback)(void *user, int domain, uint32_t cbid, const void *data);
typedef void (*fixture_request_v2)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*fixture_complete_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);

struct fixture_subscriber {
    int subscribe_result, attribute_result, result; /* the results that the functions return */
    const char *holder; /* name of the other subscriber; NULL if CUPTI does not report one */
    int strangers;      /* number of calls that named another subscriber */
    fixture_callback callback;
    void *user;
    fixture_request_v2 request;
    fixture_complete_v2 complete;
    int kind, attribute, has_config, unsubscribed;
    size_t size;
    uint8_t value;
};

#endif
