/*
 * find.h - finding libcupti.
 *
 * A copy that is already in the process is taken, whatever else there is: a second one collides
 * with it. Else the places are tried in this order, first with the major version of the CUDA in the
 * process: the loader's path, the folders beside the loaded libcudart, the toolkit, Python's
 * packages.
 *
 * Threads: one, at injection. Allocates (dlopen and glob do).
 */
#ifndef SL_CUPTI_FIND_H
#define SL_CUPTI_FIND_H

#include <stddef.h>

/* Says whether a library can be used: 0, or -errno with `why`. */
typedef int (*sl_cupti_accept_fn)(void *user, void *handle, char *why, size_t why_size);

/* 0 with the handle, pinned in the process for good, of the first library accepted, and its path.
 * -ENOENT: none found; -ENOTSUP: none accepted; `why` says it for a person, in one line. */
int sl_cupti_find(sl_cupti_accept_fn accept, void *user, void **handle, char *path,
                  size_t path_size, char *why, size_t why_size);

#endif
