/*
 * find.h - finds libcupti.
 *
 * A copy that is already in the process is always used, because a second copy would collide with
 * it. Otherwise the search tries the loader's path, the folders beside the loaded libcudart, the
 * toolkit, and Python's packages. The major version of the CUDA in the process is tried first.
 *
 * Threads: one, at injection. Memory: only what dlopen() and glob() allocate.
 */
#ifndef SL_CUPTI_FIND_H
#define SL_CUPTI_FIND_H

#include <stddef.h>

/* Returns 0 if the library can be used, or -errno with the reason in `why`. */
typedef int (*sl_cupti_accept_fn)(void *user, void *handle, char *why, size_t why_size);

/* Returns 0 with the handle and path of the first accepted library, which stays loaded for good.
 * Returns -ENOENT if no library was found, -ENOTSUP if none was accepted. Then `why` explains the
 * failure to the user, in one line. */
int sl_cupti_find(sl_cupti_accept_fn accept, void *user, void **handle, char *path,
                  size_t path_size, char *why, size_t why_size);

#endif
