/*
 * host_process.c - modes of the program `host` that fork, start other programs, become a daemon or
 * another program, or end in unusual ways.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define WARM_UP  100
#define LONG_RUN 1000
#define HANGS_S  60 /* far longer than any child needs on a busy machine */
#define SELF     "/proc/self/exe"
#define MOST_FD  4096

extern char **environ;

static int wait_for(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* ---- fork ---- */

/* Ends a forked child in one of three ways. A child that hangs is killed by its alarm. */
static _Noreturn void end_child(int way)
{
    alarm(HANGS_S);
    if (way == 0) {
        host_gpu_after_fork();
        exit(0);
    }
    if (way == 1)
        _exit(0);
    if (!dlopen("libresolv.so.2", RTLD_NOW))
        _exit(1);
    quick_exit(0);
}

static void run_fork(int n)
{
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    for (int i = 0; i < n; i++) {
        pid_t child = fork();

        if (child == 0) {
            if (i < 3)
                host_view("child");
            end_child(i % 3);
        }
        host_gpu_work(10);
        fprintf(host_out, "child %d status %x\n", i, (unsigned)wait_for(child));
    }
    host_gpu_work(WARM_UP);
    host_view("end");
}

static void run_fork_keep(int n)
{
    pid_t parent = getpid();

    (void)n;
    host_gpu_setup();
    host_gpu_work(LONG_RUN);
    if (fork() == 0) {
        alarm(HANGS_S);
        while (getppid() == parent)
            host_sleep_ms(1);
        host_view("child");
        fprintf(host_out, "child done\n");
        exit(0);
    }
    host_gpu_work(LONG_RUN);
    fprintf(host_out, "parent done\n");
}

/* ---- other programs ---- */

static void spawn_view(void)
{
    char *argument[] = {"host", "view", NULL};
    pid_t child;

    if (posix_spawn(&child, SELF, NULL, NULL, argument, environ))
        fprintf(host_out, "spawn failed\n");
    else
        fprintf(host_out, "spawned: status %x\n", (unsigned)wait_for(child));
}

static void run_true_by_vfork(void)
{
    pid_t child = vfork();

    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    fprintf(host_out, "vfork: status %x\n", (unsigned)wait_for(child));
}

static void run_spawn(int n)
{
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    for (int i = 0; i < n; i++) {
        spawn_view();
        fprintf(host_out, "system: status %x\n", (unsigned)system("true"));
        run_true_by_vfork();
        host_gpu_work(10);
    }
    host_view("end");
}

static void run_again(const char *mode, int n)
{
    char left[16];

    if (n == 0)
        return;
    snprintf(left, sizeof(left), "%d", n - 1);
    execl(SELF, "host", mode, left, (char *)NULL);
    fprintf(host_out, "exec failed\n");
}

static void run_exec(int n)
{
    host_gpu_setup();
    host_gpu_work(500);
    host_view("exec");
    run_again("exec", n);
}

static int has_trace_file(void)
{
    char link[32], name[4096];

    for (int fd = 0; fd < MOST_FD; fd++) {
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name) - 1);
        name[n > 0 ? n : 0] = '\0';
        if (strstr(name, ".pt.trace.json"))
            return 1;
    }
    return 0;
}

static void run_exec_recorded(int n)
{
    int64_t end_ms = host_now_ms() + HANGS_S * 1000;

    host_gpu_setup();
    while (!has_trace_file() && host_now_ms() < end_ms)
        host_gpu_work(10);
    run_again("execfile", n);
}

/* ---- daemons ---- */

/* Opens what a daemon reports to, and writes the daemon's pid to a file. Exits if it cannot. */
static FILE *open_report(void)
{
    FILE *report = fopen("daemon.txt", "w"), *pid = fopen("daemon.pid", "w");

    if (!report || !pid)
        exit(1);
    fprintf(pid, "%d\n", (int)getpid());
    fclose(pid);
    setvbuf(report, NULL, _IOLBF, BUFSIZ);
    return report;
}

/* Forks twice, before CUDA is used. Descriptors 0 to 2 stay closed. */
static void run_daemon(int ms)
{
    if (fork())
        _exit(0);
    setsid();
    if (fork())
        _exit(0);
    host_out = open_report();
    if (chdir("/"))
        exit(1);
    umask(0);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    host_gpu_setup();
    host_gpu_work_ms(ms);
    host_view("daemon");
}

/* Becomes a daemon after CUDA was used. CUDA does not work in the child. */
static void run_daemon_late(int n)
{
    (void)n;
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    if (daemon(1, 1))
        fprintf(host_out, "daemon failed\n");
    host_out = open_report();
    host_view("daemon");
    host_sleep_ms(100);
}

/* ---- ends ---- */

static void run_quick_exit(int n)
{
    (void)n;
    host_gpu_setup();
    host_gpu_work(LONG_RUN);
    host_view("end");
    quick_exit(0);
}

static void run_abort(int ms)
{
    host_gpu_setup();
    host_gpu_work_ms(ms);
    host_view("end");
    abort();
}

static void run_segv(int ms)
{
    volatile int *volatile nothing = NULL;

    host_gpu_setup();
    host_gpu_work_ms(ms);
    host_view("end");
    *nothing = 1;
}

static volatile sig_atomic_t got;

static void note_signal(int number)
{
    got = number;
}

static void run_term(int n)
{
    (void)n;
    signal(SIGTERM, note_signal);
    signal(SIGINT, note_signal);
    host_gpu_setup();
    host_view("handlers");
    fprintf(host_out, "works\n");
    while (!got)
        host_gpu_work(10);
    fprintf(host_out, "got %d\n", (int)got);
    host_view("end");
}

/* Not allowed in a handler, but common. */
static void exit_in_handler(int number)
{
    (void)number;
    exit(3);
}

static void run_term_exit(int n)
{
    (void)n;
    signal(SIGTERM, exit_in_handler);
    host_gpu_setup();
    host_view("handlers");
    fprintf(host_out, "works\n");
    for (;;)
        host_gpu_work(10);
}

const struct host_mode host_process_modes[] = {
    {"fork", run_fork, "forks N children, which end in three ways"},
    {"forkkeep", run_fork_keep, "forks a child that lives longer than its parent"},
    {"spawn", run_spawn, "starts programs by posix_spawn(), system() and vfork(); N times"},
    {"exec", run_exec, "replaces itself by this program; N times"},
    {"execfile", run_exec_recorded, "as exec, but waits for a trace file of the library each time"},
    {"daemon", run_daemon, "becomes a daemon, then works for N ms"},
    {"daemon2", run_daemon_late, "works, then becomes a daemon by daemon(3)"},
    {"exithandler", run_quick_exit, "ends by quick_exit()"},
    {"abort", run_abort, "works for N ms, then ends by abort()"},
    {"segv", run_segv, "works for N ms, then writes to address 0"},
    {"term", run_term, "works until SIGTERM or SIGINT, for which it has a handler"},
    {"termexit", run_term_exit, "works until SIGTERM, whose handler calls exit(3)"},
    {0},
};
