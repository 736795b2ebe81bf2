/*
 * row_usable.c - checks for ids and times that CUPTI can produce.
 *
 * Threads, memory: see row_usable.h.
 */
#include "read/row_usable.h"

#include "event/event.h"

static const char *wrong_time(const struct sl_trace_row *row)
{
    if (!(row->has & SL_HAS_TS))
        return "ts is no time";
    if (row->ts_ns < 0)
        return "ts is below 0";
    return row->has & SL_HAS_DUR ? NULL : "dur is no time";
}

static const char *wrong_thread(const struct sl_trace_row *row)
{
    return row->tid.is_number ? NULL : "tid is no whole number of 64 bits";
}

static const char *wrong_ids(const struct sl_trace_row *row, int own)
{
    const char *why = wrong_time(row);

    if (why)
        return why;
    if (!(row->has & SL_HAS_CORRELATION))
        return "correlation is no number";
    if (row->correlation <= 0)
        return "correlation is below 1";
    if (row->correlation > UINT32_MAX && !own)
        return "correlation has more than CUPTI's 32 bits";
    return NULL;
}

static const char *wrong_device(const struct sl_trace_row *row)
{
    return (row->has & SL_HAS_DEVICE) && row->device >= UINT16_MAX ? "device has more than 16 bits"
                                                                   : NULL;
}

static const char *wrong_place(const struct sl_trace_row *row)
{
    if (!(row->has & SL_HAS_STREAM) || row->stream < 0 || row->stream >= SL_STREAM_NONE)
        return "stream is none of CUDA's";
    if ((row->has & SL_HAS_DEVICE) && row->device < 0)
        return "device is below 0";
    return wrong_device(row);
}

const char *sl_row_unusable(const struct sl_trace_row *row, int own)
{
    const char *why;

    if (row->phase != 'X')
        return NULL;
    switch (row->category) {
    case SL_CAT_CPU_OP:
    case SL_CAT_USER_ANNOTATION:
        why = wrong_time(row);
        return why ? why : wrong_thread(row);
    case SL_CAT_RUNTIME:
    case SL_CAT_DRIVER:
        why = wrong_ids(row, own);
        return why ? why : wrong_thread(row);
    case SL_CAT_KERNEL:
    case SL_CAT_MEMCPY:
    case SL_CAT_MEMSET:
        why = wrong_ids(row, own);
        return why ? why : wrong_place(row);
    case SL_CAT_SYNC:
        why = wrong_ids(row, own);
        return why ? why : wrong_device(row);
    default:
        return NULL;
    }
}
