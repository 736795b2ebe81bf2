/*
 * v2.h - replaces CUPTI's functions by functions that use a subscriber of our own (13.2 and later).
 *
 * The older calls change settings of the whole process. The newer calls (`_v2`) change settings of
 * one subscriber, and a process may have several subscribers. One process cannot use both: while we
 * have a subscriber, CUPTI refuses other clients that use the older calls.
 *
 * Threads: the thread that opens and closes libcupti also subscribes and unsubscribes. A replacing
 * function may be called on the same threads as the older function. Memory: static, one subscriber
 * per process.
 */
#ifndef SL_CUPTI_V2_H
#define SL_CUPTI_V2_H

#include <stddef.h>

#include "collect/cupti/api.h"

/* Subscribes, and replaces the functions of the table that have a `_v2` form. Saves the previous
 * table in *old. Set *fields if records shall have only the fields that we read (fields.h). On
 * return, *fields says whether records have only these fields. Returns 0, -ENOTSUP if the library
 * has no subscribers of this form, -EBUSY if another tool named `holder` ("": not known) has
 * subscribed, or -EIO. */
int sl_cupti_v2_subscribe(struct sl_cupti_functions *fn, struct sl_cupti_functions *old,
                          void *handle, int *fields, char *holder, size_t holder_size);

/* Passes the subscriber's callbacks to `callback` for the rest of the process. Returns the
 * subscriber, for cuptiEnableCallback(), or NULL if we have not subscribed. */
void *sl_cupti_v2_listen(sl_cupti_callback_fn callback);

/* Ends the subscription and restores the table of functions. All kinds must be off, and CUPTI must
 * have returned all buffers. */
void sl_cupti_v2_unsubscribe(struct sl_cupti_functions *fn, const struct sl_cupti_functions *old);

#endif
