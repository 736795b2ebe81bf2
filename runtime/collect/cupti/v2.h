/*
 * v2.h - CUPTI through a subscriber of our own (CUPTI 13.2 and later), behind the same table
 * of functions.
 *
 * The older calls work on settings of the whole process, the newer ones (`_v2`) on a subscriber's,
 * of which there may be several. The two do not mix in one process: what uses the older calls is
 * refused while we have a subscriber.
 *
 * Threads: subscribe and unsubscribe as sl_cupti_attach(); the functions as those of the table. One
 * subscriber per process; state is static.
 */
#ifndef SL_CUPTI_V2_H
#define SL_CUPTI_V2_H

#include <stddef.h>

#include "collect/cupti/api.h"

/* Subscribes, and replaces those functions of the table that have a `_v2` form; `old` keeps them.
 * `*fields`: records are to have the fields that we read and no others (fields.h); whether
 * they do. 0; -ENOTSUP: the library has none; -EBUSY: another tool holds CUPTI, `holder` is its
 * name ("" if it is not told); -EIO. */
int sl_cupti_v2_subscribe(struct sl_cupti_functions *fn, struct sl_cupti_functions *old,
                          void *handle, int *fields, char *holder, size_t holder_size);

/* Whom its callbacks go to, for the rest of the process. The subscriber, for cuptiEnableCallback();
 * NULL: there is none. */
void *sl_cupti_v2_listen(sl_cupti_callback_fn callback);

/* Lets go of everything and restores the table. Kinds must be off and buffers back. */
void sl_cupti_v2_unsubscribe(struct sl_cupti_functions *fn, const struct sl_cupti_functions *old);

#endif
