/*
 * memory.h - reads CPython's objects and frames in memory, by the offsets of layout.h.
 *
 * Pure functions. Call them on the thread that runs the frames.
 */
#ifndef SL_PYTHON_MEMORY_H
#define SL_PYTHON_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collect/python/layout.h"

/* Maximum number of frames of a stack that are examined. */
#define SL_PYTHON_WALK_MAX 96

/* Fields of a frame that runs Python code. */
struct sl_python_place {
    const void *code, *file, *name, *table;
    uint64_t table_bytes;
    uint64_t offset; /* offset of the running instruction, in bytes */
    int first_line;
};

static inline const void *sl_python_pointer_at(const void *object, size_t offset)
{
    const void *value;

    memcpy(&value, (const char *)object + offset, sizeof(value));
    return value;
}

static inline uint64_t sl_python_word_at(const void *object, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)object + offset, sizeof(value));
    return value;
}

static inline int sl_python_int_at(const void *object, size_t offset)
{
    int value;

    memcpy(&value, (const char *)object + offset, sizeof(value));
    return value;
}

static inline int sl_python_is_a(const void *object, const void *type)
{
    return object && sl_python_pointer_at(object, SL_PYTHON_TYPE) == type;
}

static inline uint64_t sl_python_offset_in(const struct sl_python_layout *l, const void *frame,
                                           const void *code)
{
    if (l->code_start == SL_PYTHON_NOWHERE)
        return (uint64_t)(int64_t)sl_python_int_at(frame, l->frame_at) * l->index_bytes;
    return sl_python_word_at(frame, l->frame_at) - (uint64_t)(uintptr_t)code - l->code_start;
}

/* Returns the frame's code object, or NULL if the frame runs no Python code. */
static inline const void *sl_python_code_of(const struct sl_python_layout *l, const void *frame)
{
    /* From 3.14 on the lowest bits of a reference are flags. */
    const void *code =
        (const void *)((uintptr_t)sl_python_pointer_at(frame, l->frame_code) & ~(uintptr_t)3);

    if (l->frame_owner != SL_PYTHON_NOWHERE &&
        ((const uint8_t *)frame)[l->frame_owner] >= SL_PYTHON_OWNER_OUTSIDE)
        return NULL;
    return sl_python_is_a(code, l->code_type) ? code : NULL;
}

/* Returns 0 if the code object has no version number. */
static inline uint32_t sl_python_version_of(const struct sl_python_layout *l, const void *code)
{
    return l->code_version == SL_PYTHON_NOWHERE ? 0
                                                : (uint32_t)sl_python_int_at(code, l->code_version);
}

#endif
