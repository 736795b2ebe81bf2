/*
 * demangle.h - makes C++ names readable.
 *
 * Threads: one caller at a time (the writer thread), because the first call may open a library.
 */
#ifndef SL_DEMANGLE_H
#define SL_DEMANGLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

/* Writes the demangled form of `name`, at most `size` bytes without NUL, and returns its length.
 * Returns 0 if there is nothing to demangle, no demangler is available, or the result does not fit.
 * The caller then uses `name` unchanged. */
size_t sl_demangle(char *out, size_t size, const char *name);

/* An interned name and its length; NULL: none. `area`, of `size` bytes: demangled there if it is
 * mangled; NULL: as it is. */
const char *sl_demangle_interned(const struct sl_intern *names, uint32_t id, char *area,
                                 size_t size, size_t *length);

#endif
