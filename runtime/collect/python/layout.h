/*
 * layout.h - finds the offsets of the fields that we read in CPython's objects.
 *
 * CPython has no stable interface that reads a thread's frames without the GIL, so we read the
 * frames in memory. Offsets differ from version to version. Up to 3.12, layout.c lists the offsets.
 * From 3.13 on, CPython publishes them (_Py_DebugOffsets). There is no layout for a Python that we
 * do not know exactly: a newer version, another build or implementation, or a build without the
 * GIL.
 *
 * Threads: sl_python_layout_find() is called once, before any thread reads frames. Memory: none.
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
    void *(*this_thread)(void); /* returns the calling thread's state; NULL: the thread has no
                                 * state */
    const void *code_type, *str_type, *bytes_type;

    uint16_t thread_frame; /* offset, in a thread's state, of the pointer to its innermost frame, or
                            * to a struct with that pointer */
    uint16_t cframe_frame; /* offset of the frame's pointer in the struct; SL_PYTHON_NOWHERE: the
                            * state itself has the pointer */
    uint16_t frame_back;
    uint16_t frame_code;
    uint16_t frame_at;    /* offset of the position in the code; the position is an address, or in
                           * 3.9 and 3.10 an index */
    uint16_t frame_owner; /* offset of the frame's owner; SL_PYTHON_NOWHERE: all frames run Python
                           * code */
    uint16_t code_file, code_name, code_table, code_line;
    uint16_t code_version; /* offset of a number that no other code object has (0: not numbered);
                            * SL_PYTHON_NOWHERE: this Python does not number code objects */
    uint16_t code_start;   /* offset of the first instruction; SL_PYTHON_NOWHERE: `frame_at` is an
                            * index */
    uint16_t index_bytes;  /* bytes per step of the index */
    uint16_t ascii_text;   /* offset of the characters in a str whose characters are all ASCII */
    uint16_t compact_text; /* offset of the characters in any other str */
    enum sl_python_table table;
    unsigned version; /* minor version of CPython */
};

/* Offsets and flags that are the same in all supported versions. */
enum {
    SL_PYTHON_TYPE = 8, /* offset of the type in any object */
    SL_PYTHON_STR_LENGTH = 16,
    SL_PYTHON_STR_HASH = 24,
    SL_PYTHON_STR_STATE = 32,
    SL_PYTHON_STR_KIND = 7 << 2, /* mask of the bits that hold the bytes per character */
    SL_PYTHON_STR_COMPACT = 1 << 5,
    SL_PYTHON_STR_ASCII = 1 << 6,
    SL_PYTHON_BYTES_LENGTH = 16,
    SL_PYTHON_BYTES_DATA = 32,
    /* Owner of a frame that runs no Python code (from 3.12 on). */
    SL_PYTHON_OWNER_OUTSIDE = 3,
};

/* Finds the layout of the CPython in this process. Returns 0, -ENOENT if there is no CPython, or
 * -ENOTSUP if this CPython is not supported. */
int sl_python_layout_find(struct sl_python_layout *out);

#endif
