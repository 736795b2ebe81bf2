/*
 * loader.h - the dynamic linker, asked so that a fork() finds it at rest.
 *
 * Its list of objects has a lock, which glibc (2.36, for one) does not free in a forked child as it
 * does its other ones: forked while another thread goes through the list, a child waits for ever in
 * its first dlopen(), and one forked while another thread loads an object is ended by it. So a
 * fork() waits for what we ask the linker, and what we ask waits for a fork(): no other file of the
 * runtime's calls dl_iterate_phdr() or the functions of <dlfcn.h>, but for dlerror().
 *
 * Threads: any. Neither side waits longer than SL_LOADER_PATIENCE_NS: who forks may hold what the
 * other one's look waits for. Allocates nothing; errno is kept.
 */
#ifndef SL_LOADER_H
#define SL_LOADER_H

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

/* A look takes some milliseconds, a fork() of a large process some hundred. */
#define SL_LOADER_PATIENCE_NS 1000000000u

typedef int (*sl_loader_visit_fn)(struct dl_phdr_info *info, size_t size, void *user);

/* dl_iterate_phdr(). A visitor may look again. */
int sl_loader_look(sl_loader_visit_fn visit, void *user);

/* dlopen(), dlsym(), dlclose(), dladdr() and the file of a library that is open, NULL if it has no
 * name; results and ownership are theirs, and so is dlerror() behind them. */
void *sl_loader_open(const char *file, int flags);
void *sl_loader_symbol(void *library, const char *name);
void sl_loader_close(void *library);
int sl_loader_find(const void *address, Dl_info *out);
const char *sl_loader_file(void *library);

/* Around calls that take another lock which a forked child must not find taken. They nest. */
void sl_loader_enter(void);
void sl_loader_leave(void);

/* For pthread_atfork(): in the thread that forks, before, and after in the parent and the child. */
void sl_loader_before_fork(void);
void sl_loader_after_fork(void);
void sl_loader_fork_child(void);

#endif
