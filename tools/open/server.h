/*
 * server.h - serves one file to a browser on this machine, until it was fetched once.
 *
 * Threads: main only. Memory: per client a request of 8 KiB, and what body.h says.
 */
#ifndef SL_OPEN_SERVER_H
#define SL_OPEN_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct sl_open_file {
    const char *path, *name; /* the name in the address: letters, digits, '.', '_' and '-' */
    uint64_t sent_bytes;     /* set by the server: what the last complete fetch sent */
    char trouble[256];       /* the fault of the file; "" if it has none */
};

/* Listens on 127.0.0.1. *port 0 becomes a free one. Returns a descriptor or a negative errno. */
int sl_open_listen(uint16_t *port);

/* Serves the file, and closes the descriptor. Returns 0 when a client has fetched the whole file
 * and no other is fetching it, or a negative errno. */
int sl_open_serve(int listener, struct sl_open_file *file);

#endif
