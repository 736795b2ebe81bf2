/*
 * call_name.c - looks up a CUDA call by its callback id.
 *
 * Threads: any.
 */
#include "event/call_name.h"

#include <stddef.h>

static const struct sl_call_name_row *row_of(enum sl_event_kind domain, uint32_t cbid)
{
    if (domain == SL_EV_RUNTIME)
        return cbid < sl_call_names_runtime_count ? &sl_call_names_runtime[cbid] : NULL;
    return cbid < sl_call_names_driver_count ? &sl_call_names_driver[cbid] : NULL;
}

const char *sl_call_name(enum sl_event_kind domain, uint32_t cbid)
{
    const struct sl_call_name_row *row = row_of(domain, cbid);

    return row ? row->name : NULL;
}

int sl_call_name_is_wanted(enum sl_event_kind domain, uint32_t cbid)
{
    const struct sl_call_name_row *row = row_of(domain, cbid);

    return row && (row->bits & SL_CALL_NAME_WANTED);
}

int sl_call_name_launches(enum sl_event_kind domain, uint32_t cbid)
{
    const struct sl_call_name_row *row = row_of(domain, cbid);

    return row && (row->bits & SL_CALL_NAME_LAUNCHES);
}
