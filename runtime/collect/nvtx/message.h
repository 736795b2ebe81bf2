/*
 * message.h - converts the texts and handles of NVTX calls.
 *
 * Pure functions; any thread. Include after NVTX's own headers.
 */
#ifndef SL_NVTX_MESSAGE_H
#define SL_NVTX_MESSAGE_H

#include <string.h>

#include "base/utf8.h"
#include "collect/nvtx/calls.h"

_Static_assert(sizeof(wchar_t) == 4, "wide characters are UTF-32");

/* The low 32 bits of a registered string's handle hold the string's number. If the string names a
 * step, the high bits hold the step's number + 1. */
#define SL_NVTX_STEP_SHIFT 32

static inline void *sl_nvtx_handle_of(uint32_t number)
{
    return (void *)(uintptr_t)number;
}

static inline struct sl_nvtx_message sl_nvtx_message_of_text(const char *text)
{
    struct sl_nvtx_message m = {0, text, 0};

    if (text)
        m.length = strnlen(text, SL_LANE_TEXT_MAX);
    return m;
}

/* The message points into `room`. */
static inline struct sl_nvtx_message sl_nvtx_message_of_wide(const wchar_t *text, char *room)
{
    struct sl_nvtx_message m = {0, text ? room : NULL, 0};

    m.length = sl_utf8_from_utf32(room, SL_LANE_TEXT_MAX, text, SL_LANE_TEXT_MAX);
    return m;
}

static inline struct sl_nvtx_message sl_nvtx_message_of(int32_t type,
                                                        const nvtxMessageValue_t *value, char *room)
{
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return sl_nvtx_message_of_text(value->ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return sl_nvtx_message_of_wide(value->unicode, room);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        return (struct sl_nvtx_message){(uint32_t)(uintptr_t)value->registered, NULL, 0};
    default:
        return (struct sl_nvtx_message){0, NULL, 0};
    }
}

#endif
