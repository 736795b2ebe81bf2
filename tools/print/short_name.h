/*
 * short_name.h - a kernel's name in little room, so that it can be told from others like it.
 *
 * Any thread; owns nothing.
 */
#ifndef SL_SHORT_NAME_H
#define SL_SHORT_NAME_H

#include <stddef.h>

/* At most `width` bytes of it, above 8, and a NUL; never half of a character. First goes what a C++
 * name has for the compiler's sake: `void`, at::native::, (anonymous namespace)::, the parameters
 * of a template's function, which are those in its brackets once more. Where that is not enough the
 * middle shows as "...". */
char *sl_short_name(char *to, size_t width, const char *name, size_t length);

#endif
