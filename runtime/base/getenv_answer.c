/*
 * getenv_answer.c - answers a library's getenv() for a few names, without changing the environment.
 *
 * Threads, memory: see getenv_answer.h.
 */
#include "base/getenv_answer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/import_slot.h"

static struct {
    const char *_Atomic name; /* NULL: free; written after `value` */
    const char *(*_Atomic value)(void);
} answers[SL_GETENV_ANSWERS];

/* The C library's getenv(). A pointer in data is not a slot, so it is never redirected, even if the
 * object of this file is. `volatile` keeps the compiler from calling through the slot. */
static char *(*volatile real_getenv)(const char *name) = getenv;

int sl_getenv_answer(const char *name, const char *(*answer)(void))
{
    for (unsigned i = 0; i < SL_GETENV_ANSWERS; i++) {
        const char *there = atomic_load(&answers[i].name);

        if (there && strcmp(there, name) != 0)
            continue;
        atomic_store(&answers[i].value, answer);
        atomic_store(&answers[i].name, name);
        return 0;
    }
    return -ENOSPC;
}

/* Replaces getenv() in redirected objects. Libraries only read the returned string. */
static char *answer(const char *name)
{
    char *value = real_getenv(name);

    if (value && *value)
        return value;
    for (unsigned i = 0; i < SL_GETENV_ANSWERS; i++) {
        const char *there = atomic_load_explicit(&answers[i].name, memory_order_acquire);
        const char *ours;

        if (!there || strcmp(there, name) != 0)
            continue;
        ours = atomic_load_explicit(&answers[i].value, memory_order_relaxed)();
        return ours ? (char *)(uintptr_t)ours : value;
    }
    return value;
}

static unsigned redirect(const void *inside, const char *exporting)
{
    /* The function is identified by its address and not by dlsym(), because the caller may hold the
     * lock of the linker's list of objects. dlsym() would wait for a thread that is loading an
     * object, and that thread would wait for the list. */
    struct sl_import import = {.name = "getenv",
                               .instead = (void *)(uintptr_t)answer,
                               .function = (void *)(uintptr_t)real_getenv,
                               .within = inside,
                               .exporting = exporting};

    sl_import_redirect(&import, 1);
    return import.redirected;
}

void sl_getenv_answer_in(const void *inside)
{
    redirect(inside, NULL);
}

unsigned sl_getenv_answer_where(const char *function)
{
    return redirect(NULL, function);
}
