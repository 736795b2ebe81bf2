/*
 * layout.h - where CPython keeps what we read of it.
 *
 * CPython has no stable interface to a thread's frames that works without its lock, so they are
 * read where they lie. Where that is differs from version to version: up to 3.12 it stands here,
 * from 3.13 on CPython tells it itself (_Py_DebugOffsets). A Python that is not known to the last
 * detail (a newer version, another build, another implementation, one without the lock) has none.
 *
 * Threads: sl_python_layout_find() is called once, before others look. Memory: none.
 */
#ifndef SL_PYTHON_LAYOUT_H
#define SL_PYTHON_LAYOUT_H

#include <stdint.h>

#include "collect/python/line_table.h"

#define SL_PYTHON_NOWHERE UINT16_MAX

/* Offsets, in bytes. */
struct sl_python_layout {
    /* CPython's own functions and types. */
    int (*is_initialized)(void);
    void *(*this_thread)(void); /* the calling thread's state; NULL: it has none */
    const void *code_type, *str_type, *bytes_type;

    uint16_t thread_frame; /* in a thread's state: its innermost frame... */
    uint16_t cframe_frame; /* ...or what has it here; SL_PYTHON_NOWHERE: the frame itself */
    uint16_t frame_back;
    uint16_t frame_code;
    uint16_t frame_at;    /* where in the code it is: an address, or an index (3.9, 3.10) */
    uint16_t frame_owner; /* SL_PYTHON_NOWHERE: all frames are of Python code */
    uint16_t code_file, code_name, code_table, code_line;
    uint16_t code_version; /* a number that no other code object has, 0 excepted; SL_PYTHON_NOWHERE:
                            * there is none */
    uint16_t code_start;   /* where instructions begin; SL_PYTHON_NOWHERE: `frame_at` is an index */
    uint16_t index_bytes;  /* what one step of the index is */
    uint16_t ascii_text;   /* in a str: its characters, if all are ASCII... */
    uint16_t compact_text; /* ...and if not */
    enum sl_python_table table;
    unsigned version; /* minor */
};

/* Objects of all those versions, where CPython has its lock. */
enum {
    SL_PYTHON_TYPE = 8, /* of any object: its type */
    SL_PYTHON_STR_LENGTH = 16,
    SL_PYTHON_STR_HASH = 24,
    SL_PYTHON_STR_STATE = 32,
    SL_PYTHON_STR_KIND = 7 << 2, /* bytes a character */
    SL_PYTHON_STR_COMPACT = 1 << 5,
    SL_PYTHON_STR_ASCII = 1 << 6,
    SL_PYTHON_BYTES_LENGTH = 16,
    SL_PYTHON_BYTES_DATA = 32,
    /* A frame that is of no Python code: from 3.12 on. */
    SL_PYTHON_OWNER_OUTSIDE = 3,
};

/* Fills what the process's CPython has. 0; -ENOENT: there is none; -ENOTSUP: one that is not known.
 */
int sl_python_layout_find(struct sl_python_layout *out);

#endif
