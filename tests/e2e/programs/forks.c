/*
 * forks.c - forks while the injected library looks at the list of loaded objects, and loads one in
 * the child: forks LIBRARY, a library that is not loaded yet. Prints `child N`: its exit status, or
 * that it hung.
 *
 * The main thread, and the library's own, which comes by in dl_iterate_phdr(): ours, since a
 * program's functions come before libc's.
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_load.h"

#define HUNG_S    20
#define LINGER_US 300000

typedef int (*visit_fn)(struct dl_phdr_info *info, size_t size, void *user);

struct visit {
    visit_fn visit;
    void *user;
};

static _Atomic int is_wanted, is_inside;

/* The linker's lock is held here. */
static int linger(struct dl_phdr_info *info, size_t size, void *user)
{
    struct visit *v = user;

    if (atomic_exchange(&is_wanted, 0)) {
        atomic_store(&is_inside, 1);
        usleep(LINGER_US);
    }
    return v->visit(info, size, v->user);
}

__attribute__((visibility("default"))) int dl_iterate_phdr(visit_fn visit, void *user)
{
    static int (*real)(visit_fn visit, void *user);
    struct visit v = {visit, user};

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return real(linger, &v);
}

int main(int argc, char **argv)
{
    int status;
    pid_t child;

    if (argc != 2 || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
        return 2;
    cuda_open();
    cuda_use_device(0);
    atomic_store(&is_wanted, 1);
    while (!atomic_load(&is_inside))
        usleep(1000);
    child = fork();
    if (child == 0) {
        alarm(HUNG_S);
        _exit(dlopen(argv[1], RTLD_NOW) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("child hung\n");
    else
        printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
