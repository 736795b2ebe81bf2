/*
 * discover.h - the PyTorch that is loaded in this process, and the observer that was built for
 * it.
 *
 * Threads: any, one at a time. May wait for the loader, which runs the initialisers of what it
 * loads: what is found is ready. Memory: the caller's.
 */
#ifndef SL_TORCH_DISCOVER_H
#define SL_TORCH_DISCOVER_H

#include <limits.h>
#include <stddef.h>

struct sl_torch {
    char packages[PATH_MAX]; /* the folder that its own, "torch", is in; "": not known */
    char version[64];        /* "2.11.0+cu130"; "": its package does not tell */
    int major, minor;        /* 0: not known */
    int is_release;          /* not a build of some day in between, whose headers may be any */
    int is_old_abi;          /* built for std::string as it was before C++11 */
    int is_named; /* the loader knows it as libtorch_cpu.so: what needs that gets this one */
};

/* 0; -ENOENT: there is none. */
int sl_torch_discover(struct sl_torch *out);

/* Takes "2.11.0+cu130" apart. 0, or -EINVAL. */
int sl_torch_version(struct sl_torch *torch, const char *text);

/* Where its observer lies. 0; -ENOENT: there is none. */
int sl_torch_observer_path(const struct sl_torch *torch, const char *home, char *path, size_t size);

#endif
