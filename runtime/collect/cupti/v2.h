/*
 * v2.h - uses CUPTI through a subscriber of our own (CUPTI 13.2 and later), behind the same table
 * of functions.
 *
 * The older calls change settings of the whole process. The newer calls (`_v2`) change settings of
 * one subscriber, and a process may have several. The two do not mix in one process: while we have
 * a subscriber, CUPTI refuses other clients that use the older calls.
 *
 * Threads: subscribe and unsubscribe like sl_cupti_attach(); the functions like those of the table.
 * Memory: static, one subscriber per process.
 */
#ifndef SL_CUPTI_V2_H
#define SL_CUPTI_V2_H

#include <stddef.h>

#include "collect/cupti/api.h"

/* Subscribes and replaces the functions of the table that have a `_v2` form; `old` gets the
 * previous ones. `*fields`, in: records shall have only the fields that we read (fields.h); out:
 * whether they do. 0; -ENOTSUP: the library has no subscribers of this form; -EBUSY: another tool
 * holds CUPTI, and `holder` is its name ("": not known); -EIO. */
int sl_cupti_v2_subscribe(struct sl_cupti_functions *fn, struct sl_cupti_functions *old,
                          void *handle, int *fields, char *holder, size_t holder_size);

/* Sends the subscriber's callbacks to `callback` for the rest of the process. Returns the
 * subscriber, for cuptiEnableCallback(); NULL: there is none. */
void *sl_cupti_v2_listen(sl_cupti_callback_fn callback);

/* Ends the subscription and restores the table. Kinds must be off and all buffers returned. */
void sl_cupti_v2_unsubscribe(struct sl_cupti_functions *fn, const struct sl_cupti_functions *old);

#endif
