/*
 * layout.h - where CPython keeps the fields that we read.
 *
 * CPython has no stable interface that reads a thread's frames without its lock, so frames are read
 * in memory. Offsets differ from version to version: up to 3.12 they are in layout.c, from 3.13 on
 * CPython publishes them (_Py_DebugOffsets). A Python that is not known exactly has no layout: a
 * newer version, another build or implementation, one without the lock.
 *
 * Threads: sl_python_layout_find() is called once, before other threads look. Memory: none.
 */
#ifndef SL_PYTHON_LAYOUT_H
#define SL_PYTHON_LAYOUT_H

#include <stdint.h>

#include "collect/python/line_table.h"

#define SL_PYTHON_NOWHERE UINT16_MAX

/* Offsets are in bytes. */
struct sl_python_layout {
    /* CPython's own functions and types. */
    int (*is_initialized)(void);
    void *(*this_thread)(void); /* the calling thread's state; NULL: it has none */
    const void *code_type, *str_type, *bytes_type;

    uint16_t thread_frame; /* in a thread's state: its innermost frame... */
    uint16_t cframe_frame; /* ...or a struct with the frame at this offset; SL_PYTHON_NOWHERE: the
                              frame itself */
    uint16_t frame_back;
    uint16_t frame_code;
    uint16_t frame_at;    /* position in the code: an address, or an index (3.9, 3.10) */
    uint16_t frame_owner; /* SL_PYTHON_NOWHERE: all frames run Python code */
    uint16_t code_file, code_name, code_table, code_line;
    uint16_t code_version; /* a number that no other code object has, except 0; SL_PYTHON_NOWHERE:
                              there is none */
    uint16_t code_start;   /* first instruction; SL_PYTHON_NOWHERE: `frame_at` is an index */
    uint16_t index_bytes;  /* bytes per step of the index */
    uint16_t ascii_text;   /* in a str: its characters, if all are ASCII... */
    uint16_t compact_text; /* ...and if not */
    enum sl_python_table table;
    unsigned version; /* minor */
};

/* The same in all those versions, where CPython has its lock. */
enum {
    SL_PYTHON_TYPE = 8, /* in any object: its type */
    SL_PYTHON_STR_LENGTH = 16,
    SL_PYTHON_STR_HASH = 24,
    SL_PYTHON_STR_STATE = 32,
    SL_PYTHON_STR_KIND = 7 << 2, /* bytes per character */
    SL_PYTHON_STR_COMPACT = 1 << 5,
    SL_PYTHON_STR_ASCII = 1 << 6,
    SL_PYTHON_BYTES_LENGTH = 16,
    SL_PYTHON_BYTES_DATA = 32,
    /* A frame that runs no Python code; from 3.12 on. */
    SL_PYTHON_OWNER_OUTSIDE = 3,
};

/* Finds the layout of the process's CPython. 0; -ENOENT: no CPython; -ENOTSUP: not known. */
int sl_python_layout_find(struct sl_python_layout *out);

#endif
