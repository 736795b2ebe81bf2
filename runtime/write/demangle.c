/*
 * demangle.c - makes C++ names readable, with the demangler of the host process.
 *
 * syncline is a C library and does not link a C++ runtime. A process that uses CUDA from C++ has
 * loaded __cxa_demangle already. Otherwise the writer thread opens the system's libstdc++ or
 * libc++abi at the first mangled name. If the system has neither library, names stay mangled.
 *
 * Threads: one caller at a time. Memory: this file frees the result of __cxa_demangle.
 */
#include "write/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"

typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *size, int *status);

/* Longer names are not demangled, because the demangled form has no useful bound. No real program
 * has longer mangled names. */
#define MANGLED_MAX 32768

static demangle_fn find_demangler(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    demangle_fn found = (demangle_fn)(uintptr_t)sl_loader_symbol(RTLD_DEFAULT, "__cxa_demangle");
    size_t i;

    for (i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        void *handle = sl_loader_open(libraries[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

        if (handle)
            found = (demangle_fn)(uintptr_t)sl_loader_symbol(handle, "__cxa_demangle");
    }
    return found;
}

size_t sl_demangle(char *out, size_t size, const char *name)
{
    static demangle_fn demangler;
    static int searched;
    size_t length;
    int status = -1;
    char *text;

    if (strncmp(name, "_Z", 2) != 0 || strnlen(name, MANGLED_MAX + 1) > MANGLED_MAX)
        return 0;
    if (!searched) {
        searched = 1;
        demangler = find_demangler();
    }
    if (!demangler)
        return 0;
    text = demangler(name, NULL, NULL, &status);
    if (!text || status != 0) {
        free(text);
        return 0;
    }
    length = strlen(text);
    if (length > size)
        length = 0;
    else
        memcpy(out, text, length);
    free(text);
    return length;
}

const char *sl_demangled(char *room, size_t size, const char *name, size_t *length)
{
    size_t demangled = strlen(name) == *length ? sl_demangle(room, size, name) : 0;

    if (!demangled)
        return name;
    *length = demangled;
    return room;
}
