/*
 * forks.c - forks while the injected library uses the dynamic linker, and loads a library in the
 * child:
 *
 *     forks LIBRARY look        Forks while syncline iterates over the loaded objects.
 *     forks LIBRARY demangle    Forks while syncline loads a demangler.
 *
 * LIBRARY must not be loaded yet. Prints `child N` with the child's exit status, or that the child
 * hung. Exit status 2 means that the test did not work, because the dynamic linker was busy when
 * the process forked.
 *
 * The main thread and the library's threads run this code. The program defines dl_iterate_phdr()
 * and dlopen() itself. The library calls these functions, because the loader prefers functions of
 * the program to functions of libc.
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_load.h"
#include "spin_kernel.h"

#define HUNG_S    20
#define LINGER_US 300000
#define MANGLED   "_ZN6layers14linear_spin_nsIfLi4EEEvy"
#define DEMANGLER "libstdc++.so.6"

static const char ptx[] = SPIN_MODULE SPIN_KERNEL(MANGLED);

typedef int (*visit_fn)(struct dl_phdr_info *info, size_t size, void *user);

struct visit {
    visit_fn visit;
    void *user;
};

enum {
    NOTHING,
    A_LOOK,
    A_DEMANGLER
};

static _Atomic int wanted, is_inside, has_left;

static void linger(void)
{
    atomic_store(&is_inside, 1);
    usleep(LINGER_US);
    atomic_store(&has_left, 1);
}

static int is_wanted(int what)
{
    return atomic_compare_exchange_strong(&wanted, &what, NOTHING);
}

/* A callback of dl_iterate_phdr(), which calls it while it holds the linker's lock. The callback
 * waits, so that the process forks at this time. */
static int linger_and_visit(struct dl_phdr_info *info, size_t size, void *user)
{
    struct visit *v = user;

    if (is_wanted(A_LOOK))
        linger();
    return v->visit(info, size, v->user);
}

static int (*real_iterate)(visit_fn visit, void *user);
static void *(*real_open)(const char *file, int flags);

/* Finds the functions of libc. Runs before any other thread exists. */
static void find_real(void)
{
    *(void **)&real_iterate = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    *(void **)&real_open = dlsym(RTLD_NEXT, "dlopen");
}

__attribute__((visibility("default"))) int dl_iterate_phdr(visit_fn visit, void *user)
{
    struct visit v = {visit, user};

    if (!real_iterate)
        find_real();
    return real_iterate(linger_and_visit, &v);
}

__attribute__((visibility("default"))) void *dlopen(const char *file, int flags)
{
    if (!real_open)
        find_real();
    if (file && strcmp(file, DEMANGLER) == 0 && is_wanted(A_DEMANGLER))
        linger();
    return real_open(file, flags);
}

static void launch(void)
{
    CUfunction kernel;
    CUmodule module;

    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&kernel, module, MANGLED));
    spin_launch(kernel, NULL, 1, 32, 1000);
    CHECK(cu.CtxSynchronize());
}

int main(int argc, char **argv)
{
    int status, is_demangler = argc == 3 && strcmp(argv[2], "demangle") == 0;
    pid_t child;

    if (argc != 3 || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
        return 2;
    if (is_demangler && dlsym(RTLD_DEFAULT, "__cxa_demangle"))
        return 3;
    cuda_open();
    cuda_use_device(0);
    atomic_store(&wanted, is_demangler ? A_DEMANGLER : A_LOOK);
    if (is_demangler)
        launch();
    while (!atomic_load(&is_inside))
        usleep(1000);
    child = fork();
    if (child == 0) {
        alarm(HUNG_S);
        if (!dlopen(argv[1], RTLD_NOW))
            _exit(1);
        _exit(atomic_load(&has_left) ? 0 : 2);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("child hung\n");
    else
        printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
