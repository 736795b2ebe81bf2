/*
 * discover.h - finds the PyTorch loaded in this process, and the observer that was built for this
 * PyTorch.
 *
 * Threads: any thread, but only one at a time. sl_torch_discover() may wait until the loader has
 * run PyTorch's initialisers, so that the caller can use the PyTorch that it finds. Memory: the
 * caller's.
 */
#ifndef SL_TORCH_DISCOVER_H
#define SL_TORCH_DISCOVER_H

#include <limits.h>
#include <stddef.h>

struct sl_torch {
    char packages[PATH_MAX]; /* the folder that contains "torch"; "": not known */
    char version[64];        /* version, such as "2.11.0+cu130"; "": the package does not state its
                              * version */
    int major, minor;        /* PyTorch's version numbers; 0: not known */
    int is_release;          /* 0: a nightly or source build, whose headers may differ from the
                              * headers of a release */
    int is_old_abi;          /* 1: built with the std::string ABI from before C++11 */
    int is_named; /* 1: the loader knows PyTorch's library by the name libtorch_cpu.so, so an
                   * observer, which needs a library of that name, is linked with this PyTorch */
};

/* Returns 0, or -ENOENT if PyTorch is not loaded. */
int sl_torch_discover(struct sl_torch *out);

/* Parses a version such as "2.11.0+cu130". Returns 0 or -EINVAL. */
int sl_torch_version(struct sl_torch *torch, const char *text);

/* Writes the path of the observer for this PyTorch. Returns 0, or -ENOENT if there is no such
 * observer. */
int sl_torch_observer_path(const struct sl_torch *torch, const char *home, char *path, size_t size);

#endif
