/*
 * loader.h - the dynamic linker's list of objects, looked at so that a fork() finds it free.
 *
 * The list has a lock of its own, which glibc (2.36, for one) does not free in a forked child as it
 * does its other ones: forked while another thread goes through the list, a child waits for ever in
 * its first dlopen(). So a fork() waits for our looks, and our looks wait for a fork().
 *
 * Threads: any. Neither side waits longer than SL_LOADER_PATIENCE_NS: who forks may hold what the
 * other one's look waits for. Allocates nothing; errno is kept.
 */
#ifndef SL_LOADER_H
#define SL_LOADER_H

#include <link.h>
#include <stddef.h>

/* A look takes some milliseconds, a fork() of a large process some hundred. */
#define SL_LOADER_PATIENCE_NS 1000000000u

typedef int (*sl_loader_visit_fn)(struct dl_phdr_info *info, size_t size, void *user);

/* dl_iterate_phdr(). A visitor may look again. */
int sl_loader_look(sl_loader_visit_fn visit, void *user);

/* Around other calls that change or go through the list: dlopen() of what is not loaded yet. Or
 * that take another lock which a forked child must not find taken. They nest. */
void sl_loader_enter(void);
void sl_loader_leave(void);

/* For pthread_atfork(): in the thread that forks, before, and after in the parent and the child. */
void sl_loader_before_fork(void);
void sl_loader_after_fork(void);
void sl_loader_fork_child(void);

#endif
