/*
 * host_changes.c - modes of the program `host` that change the process: its descriptors, user,
 * root, working directory, or the state of its main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <grp.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

#define LAUNCHES     2000
#define SHORT_NS     1000
#define ERRNO_KEPT   77
#define NOBODY       65534
#define NEW_ROOT     "empty"
#define BEFORE_MS    100
#define OWN_FILE     "host.dat"
#define SECOND_FILE  "host2.dat"
#define PRIVATE_MASK 0027

static char other_stack[1 << 16];

static void ignore_signal(int number)
{
    (void)number;
}

/* Gives the thread and the process a state that no program starts with. */
static void change_state(void)
{
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGUSR2, ignore_signal);
    signal(SIGPIPE, SIG_IGN);
    sigaltstack(&stack, NULL);
    umask(PRIVATE_MASK);
    setlocale(LC_ALL, "C.UTF-8");
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    pthread_setname_np(pthread_self(), "hostile");
}

static void run_state(int ms)
{
    int changed = 0;

    host_view("before");
    change_state();
    host_gpu_open();
    host_view("after cuInit");
    host_gpu_setup();
    for (int i = 0; i < LAUNCHES; i++) {
        errno = ERRNO_KEPT;
        host_gpu_launch(SHORT_NS);
        changed += errno != ERRNO_KEPT;
        errno = ERRNO_KEPT;
        host_gpu_wait();
        changed += errno != ERRNO_KEPT;
    }
    fprintf(host_out, "errno changed %d times\n", changed);
    host_view("after work");
    host_sleep_ms(ms);
    host_view("after pause");
}

static void print_size(const char *name)
{
    struct stat st;

    if (stat(name, &st))
        fprintf(host_out, "%s is gone\n", name);
    else
        fprintf(host_out, "%s: %ld bytes, mode %o\n", name, (long)st.st_size, st.st_mode);
}

static void run_close_fds(int ms)
{
    int first, second;

    host_gpu_setup();
    host_gpu_work_ms(BEFORE_MS);
    closefrom(3);
    first = open(OWN_FILE, O_RDWR | O_CREAT | O_TRUNC, 0644);
    second = open(SECOND_FILE, O_RDWR | O_CREAT | O_TRUNC, 0644);
    fprintf(host_out, "descriptors %d %d\n", first, second);
    host_gpu_work_ms(ms);
    print_size(OWN_FILE);
    print_size(SECOND_FILE);
    host_view("end");
}

static void run_setuid(int ms)
{
    host_gpu_setup();
    host_gpu_work_ms(BEFORE_MS);
    if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
        fprintf(host_out, "setuid: error %d\n", errno);
    host_gpu_work_ms(ms);
    host_view("end");
}

static void run_chroot(int ms)
{
    host_gpu_setup();
    host_gpu_work_ms(BEFORE_MS);
    if (chroot(NEW_ROOT) || chdir("/"))
        fprintf(host_out, "chroot: error %d\n", errno);
    host_gpu_work_ms(ms);
    host_view("end");
}

static void run_chdir(int ms)
{
    host_gpu_setup();
    host_gpu_work_ms(BEFORE_MS);
    if (chdir("/"))
        fprintf(host_out, "chdir: error %d\n", errno);
    host_gpu_work_ms(ms);
    host_view("end");
}

const struct host_mode host_change_modes[] = {
    {"state", run_state, "prints the process's state before and after work and N ms of sleep"},
    {"closefds", run_close_fds, "closes all descriptors, opens two files, works for N ms"},
    {"setuid", run_setuid, "becomes the user nobody, works for N ms; needs root"},
    {"chroot", run_chroot, "makes the folder `empty` its root, works for N ms; needs root"},
    {"chdir", run_chdir, "changes the working directory to /, works for N ms"},
    {0},
};
