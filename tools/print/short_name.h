/*
 * short_name.h - shortens a kernel's name so that similar kernels stay distinguishable.
 *
 * Any thread; owns nothing.
 */
#ifndef SL_SHORT_NAME_H
#define SL_SHORT_NAME_H

#include <stddef.h>

/* Writes at most `width` (above 8) bytes and a NUL; UTF-8 characters stay complete. First the
 * function drops parts that only the compiler needs: `void`, at::native::, (anonymous namespace)::,
 * and the parameters of a template function, which repeat its template arguments. If the name is
 * still too long, "..." replaces the middle. Spaces replace line ends and tabs. */
char *sl_short_name(char *to, size_t width, const char *name, size_t length);

#endif
