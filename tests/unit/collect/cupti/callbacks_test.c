/* callbacks_test.c - buffer callbacks run on application threads, so they must not allocate memory
 * or lock. This program replaces the allocator, mmap, and the functions of mutexes, condition
 * variables, rwlocks and semaphores in its whole process. It fails if a callback calls one of the
 * replaced functions. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/stats.h"
#include "collect/cupti/buffer.h"

/* Sanitizers replace the same functions, so this program cannot replace them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* volatile, because compilers assume that functions like malloc do not read this variable, and
 * would remove the stores to it. */
static _Thread_local volatile int watched;
static _Atomic unsigned forbidden;
static const char *_Atomic forbidden_name;

#ifndef SANITIZED
static void seen(const char *name)
{
    if (!watched)
        return;
    atomic_fetch_add(&forbidden, 1);
    atomic_store(&forbidden_name, name);
}

/* The allocator functions of glibc by their internal names. dlsym() cannot be used to find them,
 * because it allocates memory. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t n)
{
    seen("malloc");
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t m)
{
    seen("calloc");
    return __libc_calloc(n, m);
}

void *realloc(void *p, size_t n)
{
    seen("realloc");
    return __libc_realloc(p, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    seen("posix_memalign");
    *out = __libc_memalign(align, n);
    return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t n)
{
    seen("aligned_alloc");
    return __libc_memalign(align, n);
}

void free(void *p)
{
    seen("free");
    __libc_free(p);
}

#define FORWARD(type, name, parameters, arguments)                                                 \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
                                                                                                   \
        seen(#name);                                                                               \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        return real arguments;                                                                     \
    }

FORWARD(int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
FORWARD(int, pthread_mutex_trylock, (pthread_mutex_t * m), (m))
FORWARD(int, pthread_mutex_unlock, (pthread_mutex_t * m), (m))
FORWARD(int, pthread_spin_lock, (pthread_spinlock_t * l), (l))
FORWARD(int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
FORWARD(int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
FORWARD(int, pthread_cond_signal, (pthread_cond_t * c), (c))
FORWARD(int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
FORWARD(int, pthread_create,
        (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *arg), (t, a, f, arg))
FORWARD(int, sem_post, (sem_t * s), (s))
FORWARD(int, sem_wait, (sem_t * s), (s))
FORWARD(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t at),
        (p, n, prot, flags, fd, at))
FORWARD(int, munmap, (void *p, size_t n), (p, n))
#endif

static _Atomic unsigned wakes;

static void wake(void)
{
    atomic_fetch_add(&wakes, 1);
}

enum {
    BYTES = 4096,
    BUFFERS = 8
};

/* Runs every path through the callbacks: a normal buffer, no buffer left, a quarter of the buffers
 * in use, a foreign buffer, and a buffer that is returned twice. */
static void *application(void *arg)
{
    static uint8_t strange[64];
    uint8_t *buffer[BUFFERS + 2];
    size_t size, max;

    (void)arg;
    watched = 1;
    for (int i = 0; i < BUFFERS + 2; i++)
        sl_cupti_pool_request(&buffer[i], &size, &max);
    for (int i = 0; i < BUFFERS + 2; i++)
        sl_cupti_pool_complete(NULL, 0, buffer[i], size, 64);
    sl_cupti_pool_complete(NULL, 0, buffer[0], size, 64);
    sl_cupti_pool_complete(NULL, 0, strange, sizeof strange, 64);
    watched = 0;
    return NULL;
}

static void callbacks_do_not_allocate_or_lock(void **state)
{
    pthread_t thread[2];
    unsigned before;

    assert_int_equal(sl_cupti_pool_init(BYTES, BYTES * BUFFERS, BUFFERS, wake), 0);
    before = atomic_load(&forbidden);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, application, NULL), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    if (atomic_load(&forbidden) != before)
        fail_msg("%s was called inside a callback", atomic_load(&forbidden_name));
    /* the rare paths of the callbacks really ran */
    assert_true(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER) >= 2);
    assert_true(sl_stats_get(SL_STAT_FOREIGN_BUFFERS) >= 2);
    assert_true(atomic_load(&wakes) >= 1);
    assert_non_null(sl_cupti_pool_take());
}

static void a_forbidden_call_would_be_seen(void **state)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    char *volatile copy;

#ifdef SANITIZED
    skip();
#endif
    pthread_mutex_lock(&mutex); /* this call makes the replaced function look up the real one */
    pthread_mutex_unlock(&mutex);
    atomic_store(&forbidden, 0);
    watched = 1;
    copy = strdup("from inside libc");
    watched = 0;
    free(copy);
    assert_int_equal(atomic_load(&forbidden), 1);
    watched = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    watched = 0;
    assert_int_equal(atomic_load(&forbidden), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_do_not_allocate_or_lock),
        cmocka_unit_test(a_forbidden_call_would_be_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
