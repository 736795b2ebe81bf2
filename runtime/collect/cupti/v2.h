/*
 * v2.h - replaces CUPTI's functions by those that take a subscriber of our own (13.2 and later).
 *
 * The older calls change settings of the whole process. The newer calls (`_v2`) change settings of
 * one subscriber, and a process may have several. The two do not mix in one process: while we have
 * a subscriber, CUPTI refuses other clients that use the older calls.
 *
 * Threads: subscribe and unsubscribe like sl_cupti_attach(); the replaced functions like the older
 * ones. Memory: static, one subscriber per process.
 */
#ifndef SL_CUPTI_V2_H
#define SL_CUPTI_V2_H

#include <stddef.h>

#include "collect/cupti/api.h"

/* Subscribes and replaces the functions of the table that have a `_v2` form; saves the previous
 * table in *old. Set *fields if records shall have only the fields that we read (fields.h); on
 * return it says whether they do. Returns 0, -ENOTSUP if the library has no subscribers of this
 * form, -EBUSY if another tool named `holder` ("": not known) has subscribed, or -EIO. */
int sl_cupti_v2_subscribe(struct sl_cupti_functions *fn, struct sl_cupti_functions *old,
                          void *handle, int *fields, char *holder, size_t holder_size);

/* Passes the subscriber's callbacks to `callback` for the rest of the process. Returns the
 * subscriber, for cuptiEnableCallback(), or NULL if we have not subscribed. */
void *sl_cupti_v2_listen(sl_cupti_callback_fn callback);

/* Ends the subscription and restores the table. Kinds must be off and all buffers returned. */
void sl_cupti_v2_unsubscribe(struct sl_cupti_functions *fn, const struct sl_cupti_functions *old);

#endif
