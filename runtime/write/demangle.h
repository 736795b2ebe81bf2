/*
 * demangle.h - makes C++ names readable.
 *
 * Threads: one caller at a time (the writer thread), because the first call may open a library.
 */
#ifndef SL_DEMANGLE_H
#define SL_DEMANGLE_H

#include <stddef.h>

/* Maximum stack size, in bytes, that sl_demangle() needs. libc++abi needs 3.3 MiB for a name of 32
 * KB that is one nested template. Longer names are not demangled. */
#define SL_DEMANGLE_STACK_BYTES (4u * 1024u * 1024u)

/* Writes the demangled form of `name`, at most `size` bytes without NUL, and returns its length.
 * Returns 0 if there is nothing to demangle, no demangler is available, or the result does not fit.
 * The caller then uses `name` unchanged. */
size_t sl_demangle(char *out, size_t size, const char *name);

/* Demangles a name of *length bytes into `room`, which has `size` bytes. Returns the demangled name
 * and writes its length to *length. If sl_demangle() would return 0, returns the name itself. */
const char *sl_demangled(char *room, size_t size, const char *name, size_t *length);

#endif
