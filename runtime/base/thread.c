/*
 * thread.c - starts a thread of ours. Any thread; no state.
 */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>

/* ---- rounding and floating-point traps, which a thread inherits from its creator ----
 *
 * The functions of <fenv.h> that change them are in libm, and a library in each process must not
 * load libm into programs without it. */

struct float_control {
    uint64_t vector; /* MXCSR on x86-64, FPCR on AArch64 */
    uint16_t x87;    /* printf and strtod round as this register says on x86-64 */
};

#if defined(__x86_64__)
static const struct float_control default_control = {0x1f80, 0x37f}; /* nearest, no traps */

static struct float_control read_control(void)
{
    struct float_control c = {__builtin_ia32_stmxcsr(), 0};

    __asm__ volatile("fnstcw %0" : "=m"(c.x87));
    return c;
}

static void set_control(struct float_control c)
{
    __builtin_ia32_ldmxcsr((unsigned)c.vector);
    __asm__ volatile("fldcw %0" : : "m"(c.x87));
}
#elif defined(__aarch64__)
static const struct float_control default_control = {0, 0};

static struct float_control read_control(void)
{
    struct float_control c = {0, 0};

    __asm__ volatile("mrs %0, fpcr" : "=r"(c.vector));
    return c;
}

static void set_control(struct float_control c)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(c.vector));
}
#else
#error "write down how this architecture sets rounding and traps"
#endif

/* ---- starting ---- */

int sl_thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    struct float_control control = read_control();
    sigset_t all, before;
    pthread_attr_t attributes;
    int error, saved = errno;

    /* A thread inherits the signal mask of its creator, too. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    set_control(default_control);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    error = pthread_create(out, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    if (error == EINVAL)
        error = pthread_create(out, NULL, run, argument);
    set_control(control);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return -error;
}
