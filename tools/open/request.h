/*
 * request.h - understands the requests of a browser for the one file that `syncline open` serves.
 *
 * Pure function; any thread.
 */
#ifndef SL_OPEN_REQUEST_H
#define SL_OPEN_REQUEST_H

#include <stddef.h>

enum sl_open_method {
    SL_OPEN_UNFINISHED, /* the head of the request is not complete */
    SL_OPEN_GET,
    SL_OPEN_HEAD,
    SL_OPEN_OPTIONS,
    SL_OPEN_UNKNOWN /* anything else, or for another file: the answer is 404 */
};

struct sl_open_request {
    enum sl_open_method method;
    int is_old; /* 1: HTTP/1.0, which has no chunks */
};

/* Reads the head of a request for the file `name`. A page of another site may reach a server of
 * this machine by a name of its own (DNS rebinding), and may then read the answer. So a request
 * is unknown if its Host is not this machine. */
struct sl_open_request sl_open_request_parse(const char *text, size_t size, const char *name);

#endif
