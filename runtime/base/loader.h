/*
 * loader.h - calls of the dynamic linker that never overlap with a fork().
 *
 * The linker's list of objects has a lock. glibc (2.36, for example) releases its other locks in a
 * forked child, but not the lock of this list:
 *   - If another thread walks the list during the fork(), the child's first dlopen() hangs
 *     forever.
 *   - If another thread loads an object during the fork(), the child's first dlopen() ends the
 *     child.
 *
 * So a fork() waits for our calls of the linker, and our calls wait for a fork(). No other file of
 * the runtime calls dl_iterate_phdr() or the functions of <dlfcn.h>, except dlerror().
 *
 * Threads: any. No thread waits longer than SL_LOADER_PATIENCE_NS, because the forking thread may
 * hold a lock that the other thread's call needs. Allocates nothing; errno is preserved.
 */
#ifndef SL_LOADER_H
#define SL_LOADER_H

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

/* The longest time that a call or a fork() waits for the other. A walk of the list takes a few
 * milliseconds, a fork() of a large process some hundred milliseconds. */
#define SL_LOADER_PATIENCE_NS 1000000000u

typedef int (*sl_loader_visit_fn)(struct dl_phdr_info *info, size_t size, void *user);

/* Calls dl_iterate_phdr(). A visitor may call sl_loader_look() again. */
int sl_loader_look(sl_loader_visit_fn visit, void *user);

/* These functions call dlopen(), dlsym(), dlclose() and dladdr(). Results, ownership of libraries
 * and dlerror() are the same as for the called functions. sl_loader_file() returns the file name of
 * an open library, or NULL if the library has none. */
void *sl_loader_open(const char *file, int flags);
void *sl_loader_symbol(void *library, const char *name);
void sl_loader_close(void *library);
int sl_loader_find(const void *address, Dl_info *out);
const char *sl_loader_file(void *library);

/* The caller encloses work in these two calls, if a fork() during the work would leave a lock held
 * in the child. The pairs may be nested. */
void sl_loader_enter(void);
void sl_loader_leave(void);

/* Handlers for pthread_atfork(). The forking thread calls them before the fork, after the fork in
 * the parent, and after the fork in the child. */
void sl_loader_before_fork(void);
void sl_loader_after_fork(void);
void sl_loader_fork_child(void);

#endif
