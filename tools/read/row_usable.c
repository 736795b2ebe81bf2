/*
 * row_usable.c - checks that the ids and times of a row are values that CUPTI can produce.
 *
 * Threads, memory: see row_usable.h.
 */
#include "read/row_usable.h"

#include "event/event.h"

static const char *wrong_time(const struct sl_trace_row *row)
{
    return !(row->has & SL_HAS_TS)    ? "ts is no time"
           : row->ts_ns < 0           ? "ts is below 0"
           : !(row->has & SL_HAS_DUR) ? "dur is no time"
                                      : NULL;
}

/* CUPTI sometimes has no times of an operation. Other profilers then write 0 for both. */
static const char *wrong_operation_time(const struct sl_trace_row *row)
{
    return row->ts_ns == 0 && row->dur_ns == 0 ? "ts and dur are 0: CUPTI had no times" : NULL;
}

static const char *wrong_correlation(const struct sl_trace_row *row, int own)
{
    return !(row->has & SL_HAS_CORRELATION)        ? "correlation is no number"
           : row->correlation <= 0                 ? "correlation is below 1"
           : row->correlation > UINT32_MAX && !own ? "correlation has more than CUPTI's 32 bits"
                                                   : NULL;
}

static const char *wrong_thread(const struct sl_trace_row *row)
{
    return row->tid.is_number ? NULL : "tid is no whole number of 64 bits";
}

static const char *wrong_device(const struct sl_trace_row *row)
{
    return (row->has & SL_HAS_DEVICE) && row->device >= UINT16_MAX ? "device has more than 16 bits"
                                                                   : NULL;
}

static const char *wrong_place(const struct sl_trace_row *row)
{
    if (!(row->has & SL_HAS_STREAM) || row->stream < 0 || row->stream == SL_STREAM_NONE)
        return "stream is none of CUDA's";
    if ((row->has & SL_HAS_DEVICE) && row->device < 0)
        return "device is below 0";
    return wrong_device(row);
}

const char *sl_row_unusable(const struct sl_trace_row *row, int own)
{
    int is_range = row->category == SL_CAT_CPU_OP || row->category == SL_CAT_USER_ANNOTATION;
    int is_call = sl_row_is_call(row);
    int is_wait = row->category == SL_CAT_SYNC;
    const char *why;

    if (row->phase != 'X' || !(is_range || is_call || is_wait || sl_row_is_gpu(row)))
        return NULL;
    why = wrong_time(row);
    if (!why && sl_row_is_gpu(row))
        why = wrong_operation_time(row);
    if (!why && !is_range)
        why = wrong_correlation(row, own);
    if (why)
        return why;
    return is_range || is_call ? wrong_thread(row) : is_wait ? wrong_device(row) : wrong_place(row);
}
