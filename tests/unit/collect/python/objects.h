/* objects.h - code objects and frames with CPython's memory layout. Each object's memory ends right
 * after the last member that is read, so that a sanitizer notices later reads. The test frees the
 * objects. */
#ifndef SL_PYTHON_OBJECTS_H
#define SL_PYTHON_OBJECTS_H

#include "unit/collect/python/rig.h"

#include <stdlib.h>

#include "collect/python/layout.h"

static struct sl_python_layout layout; /* the layout in which objects are made */
static int are_hashed; /* true if str objects have a hash, so that code with them can be cached */

static inline void objects_of_python(unsigned minor)
{
    be_python(minor);
    assert_int_equal(sl_python_layout_find(&layout), 0);
}

static inline void put_pointer(void *at, size_t offset, const void *pointer)
{
    put_word(at, offset, (uintptr_t)pointer);
}

static inline void put_int(void *at, size_t offset, int value)
{
    memcpy((char *)at + offset, &value, sizeof(value));
}

static inline void *new_object(size_t size, const void *type)
{
    char *object = calloc(1, size);

    assert_non_null(object);
    put_pointer(object, SL_PYTHON_TYPE, type);
    return object;
}

static inline uint64_t hash_of(const char *text)
{
    uint64_t hash = 5381;

    for (; *text; text++)
        hash = hash * 33 + (uint8_t)*text;
    return hash;
}

static inline void *new_str(const char *text)
{
    size_t length = strlen(text);
    char *str = new_object(layout.ascii_text + length, cpython.str);

    put_word(str, SL_PYTHON_STR_LENGTH, length);
    put_word(str, SL_PYTHON_STR_HASH, are_hashed ? hash_of(text) : UINT64_MAX);
    put_int(str, SL_PYTHON_STR_STATE, 1 << 2 | SL_PYTHON_STR_COMPACT | SL_PYTHON_STR_ASCII);
    memcpy(str + layout.ascii_text, text, length);
    return str;
}

static inline void *new_bytes(const void *data, size_t length)
{
    char *bytes = new_object(SL_PYTHON_BYTES_DATA + length, cpython.bytes);

    put_word(bytes, SL_PYTHON_BYTES_LENGTH, length);
    memcpy(bytes + SL_PYTHON_BYTES_DATA, data, length);
    return bytes;
}

/* Returns a line table in which the second instruction is `step` lines after the first. An
 * instruction has two bytes. */
static inline void *new_table(unsigned step)
{
    const uint8_t lnotab[] = {2, (uint8_t)step};
    const uint8_t linetable[] = {2, 0, 2, (uint8_t)step};
    const uint8_t locations[] = {0x80 | 13 << 3, 0, 0x80 | 13 << 3, (uint8_t)(step << 1)};

    switch (layout.table) {
    case SL_PYTHON_LNOTAB:
        return new_bytes(lnotab, sizeof(lnotab));
    case SL_PYTHON_LINETABLE:
        return new_bytes(linetable, sizeof(linetable));
    default:
        return new_bytes(locations, sizeof(locations));
    }
}

/* Returns the size of a code object that ends right after the last member that is read. */
static inline size_t bytes_of_code(void)
{
    const uint16_t end[] = {
        (uint16_t)(layout.code_file + 8), (uint16_t)(layout.code_name + 8),
        (uint16_t)(layout.code_table + 8), (uint16_t)(layout.code_line + 4),
        (uint16_t)(layout.code_version == SL_PYTHON_NOWHERE ? 0 : layout.code_version + 4)};
    size_t most = 0;

    for (unsigned i = 0; i < sizeof(end) / sizeof(*end); i++)
        most = end[i] > most ? end[i] : most;
    return most;
}

static inline void *new_code(const char *file, const char *name, int line)
{
    void *code = new_object(bytes_of_code(), cpython.code);

    put_pointer(code, layout.code_file, new_str(file));
    put_pointer(code, layout.code_name, new_str(name));
    put_pointer(code, layout.code_table, new_table(3));
    put_int(code, layout.code_line, line);
    return code;
}

static inline void *part(const void *object, size_t offset)
{
    void *pointer;

    memcpy(&pointer, (const char *)object + offset, sizeof(pointer));
    return pointer;
}

static inline void free_code(void *code)
{
    free(part(code, layout.code_file));
    free(part(code, layout.code_name));
    free(part(code, layout.code_table));
    free(code);
}

static inline void set_instruction(void *frame, const void *code, unsigned instruction)
{
    if (layout.code_start == SL_PYTHON_NOWHERE)
        put_int(frame, layout.frame_at, (int)(instruction * 2 / layout.index_bytes));
    else
        put_word(frame, layout.frame_at,
                 (uintptr_t)code + layout.code_start + 2 * (uint64_t)instruction);
}

static inline void *new_frame(const void *code, const void *back, unsigned instruction)
{
    void *frame = calloc(1, 128);

    assert_non_null(frame);
    put_pointer(frame, layout.frame_code, code);
    put_pointer(frame, layout.frame_back, back);
    set_instruction(frame, code, instruction);
    return frame;
}

#endif
