/*
 * host_view.c - prints what the program `host` sees of itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define LOW_FDS 512 /* descriptors from here on may be the library's */
#define MOST_FD 4096
#define SETTLE  3 /* ms; longer than a descriptor is held while its number is raised */

extern char **environ;

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t bits = 0;

    for (int s = 1; s < NSIG; s++)
        bits |= (uint64_t)(sigismember(set, s) == 1) << (s - 1);
    return bits;
}

static void view_signals(const char *when)
{
    sigset_t mask, pending;
    stack_t stack;

    sigemptyset(&mask);
    sigemptyset(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    sigaltstack(NULL, &stack);
    fprintf(host_out, "%s: mask %llx pending %llx altstack flags %d size %zu\n", when,
            (unsigned long long)bits_of(&mask), (unsigned long long)bits_of(&pending),
            stack.ss_flags, stack.ss_flags & SS_DISABLE ? 0 : stack.ss_size);
    for (int s = 1; s < NSIG; s++) {
        struct sigaction action;

        if (sigaction(s, NULL, &action) || action.sa_handler == SIG_DFL)
            continue;
        fprintf(host_out, "%s: signal %d %s flags %x mask %llx\n", when, s,
                action.sa_handler == SIG_IGN ? "ignored" : "handled", (unsigned)action.sa_flags,
                (unsigned long long)bits_of(&action.sa_mask));
    }
}

static void view_process(const char *when)
{
    static const int limits[] = {RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_CORE,  RLIMIT_AS,
                                 RLIMIT_FSIZE,  RLIMIT_NPROC, RLIMIT_DATA,  RLIMIT_MEMLOCK,
                                 RLIMIT_CPU,    RLIMIT_NICE,  RLIMIT_RTPRIO};
    char folder[4096];
    int death_signal = 0, reaper = 0;
    struct itimerval timer[3];
    mode_t mask = umask(0);

    umask(mask);
    prctl(PR_GET_PDEATHSIG, &death_signal);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    for (int which = 0; which < 3; which++)
        getitimer(which, &timer[which]);
    fprintf(host_out, "%s: umask %o cwd %s locale %s\n", when, mask,
            getcwd(folder, sizeof(folder)) ? folder : "?", setlocale(LC_ALL, NULL));
    fprintf(host_out, "%s: user %d %d group %d %d leads group %d session %d\n", when, (int)getuid(),
            (int)geteuid(), (int)getgid(), (int)getegid(), getpgrp() == getpid(),
            getsid(0) == getpid());
    fprintf(host_out, "%s: dumpable %d death signal %d reaper %d no new privileges %d timers %d\n",
            when, prctl(PR_GET_DUMPABLE), death_signal, reaper,
            prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
            timer[0].it_value.tv_sec || timer[1].it_value.tv_sec || timer[2].it_value.tv_sec);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit limit;

        if (getrlimit((__rlimit_resource_t)limits[i], &limit) == 0)
            fprintf(host_out, "%s: limit %d %lld %lld\n", when, limits[i],
                    (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
}

static void view_thread(const char *when)
{
    char name[16] = "?";
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof(cpus), &cpus);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    fprintf(host_out, "%s: rounding %d trapped %d\n", when, fegetround(), fegetexcept());
    fprintf(host_out, "%s: name %s scheduler %d nice %d cpus %d timer slack %d\n", when, name,
            sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), CPU_COUNT(&cpus),
            prctl(PR_GET_TIMERSLACK));
}

/* ---- descriptors ---- */

static int is_open(int fd, struct stat *st)
{
    return fstat(fd, st) == 0;
}

static void view_fd(const char *when, int fd)
{
    char link[32], target[4096];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = '\0';
    fprintf(host_out, "%s: descriptor %d %s flags %x status %x\n", when, fd, target,
            (unsigned)fcntl(fd, F_GETFD), (unsigned)fcntl(fd, F_GETFL));
}

/* Prints descriptors that stay open for some milliseconds: a file of the library has a low number
 * for some microseconds (own_file.h). */
static void view_fds(const char *when)
{
    static struct stat first[LOW_FDS];
    static unsigned char was_open[LOW_FDS];
    int inherited = 0;
    struct stat st;

    for (int fd = 0; fd < LOW_FDS; fd++)
        was_open[fd] = (unsigned char)is_open(fd, &first[fd]);
    host_sleep_ms(SETTLE);
    for (int fd = 0; fd < LOW_FDS; fd++) {
        if (was_open[fd] && is_open(fd, &st) && st.st_ino == first[fd].st_ino &&
            st.st_dev == first[fd].st_dev)
            view_fd(when, fd);
    }
    for (int fd = LOW_FDS; fd < MOST_FD; fd++) {
        int flags = fcntl(fd, F_GETFD);

        inherited += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    fprintf(host_out, "%s: high descriptors without close-on-exec %d\n", when, inherited);
}

/* ---- children, environment ---- */

static void view_children(const char *when)
{
    siginfo_t info;
    int has_none = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) && errno == ECHILD;

    fprintf(host_out, "%s: children %s\n", when, has_none ? "none" : "some");
}

void host_view(const char *when)
{
    view_thread(when);
    view_signals(when);
    view_process(when);
    view_fds(when);
    view_children(when);
    for (char **entry = environ; *entry; entry++)
        fprintf(host_out, "%s: environment %s\n", when, *entry);
    fflush(host_out);
}
