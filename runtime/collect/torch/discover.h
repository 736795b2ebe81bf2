/*
 * discover.h - finds the PyTorch loaded in this process, and the observer that was built for it.
 *
 * Threads: any, one at a time. May wait for the loader until it has run the initialisers of
 * PyTorch, so a PyTorch that is found is ready. Memory: the caller's.
 */
#ifndef SL_TORCH_DISCOVER_H
#define SL_TORCH_DISCOVER_H

#include <limits.h>
#include <stddef.h>

struct sl_torch {
    char packages[PATH_MAX]; /* the folder that contains "torch"; "": not known */
    char version[64];        /* "2.11.0+cu130"; "": the package does not say */
    int major, minor;        /* 0: not known */
    int is_release;          /* not a nightly or source build, whose headers may differ */
    int is_old_abi;          /* built with the std::string ABI from before C++11 */
    int is_named; /* the loader knows it as libtorch_cpu.so, so a library that needs that name gets
                     this one */
};

/* 0; -ENOENT: PyTorch is not loaded. */
int sl_torch_discover(struct sl_torch *out);

/* Parses "2.11.0+cu130". 0, or -EINVAL. */
int sl_torch_version(struct sl_torch *torch, const char *text);

/* Path of the observer for this PyTorch. 0; -ENOENT: there is none. */
int sl_torch_observer_path(const struct sl_torch *torch, const char *home, char *path, size_t size);

#endif
