/*
 * demangle.h - C++ names for people.
 *
 * Threads: one caller at a time (the writer thread): the first call may open a library.
 */
#ifndef SL_DEMANGLE_H
#define SL_DEMANGLE_H

#include <stddef.h>

/* Writes the demangled form of `name`, at most `size` bytes without NUL, and returns its length.
 * 0 when there is nothing to demangle, no demangler in reach, or the result does not fit: the
 * caller then uses the name as it is. */
size_t sl_demangle(char *out, size_t size, const char *name);

#endif
