/*
 * discover.c - finds the PyTorch loaded in this process, and the observer that was built for this
 * PyTorch.
 *
 * Threads, memory: see discover.h.
 */
#include "collect/torch/discover.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/home.h"
#include "base/loader.h"
#include "base/own_file.h"

#define LIBRARY "libtorch_cpu.so"
/* The name of a libc10 function with a std::string argument, as mangled in the old ABI. */
#define OLD_ABI "_ZN3c105ErrorC1ENS_14SourceLocationESs"

/* ---- the version ---- */

int sl_torch_version(struct sl_torch *torch, const char *text)
{
    char *end;
    long major = strtol(text, &end, 10), minor;

    if (end == text || *end != '.' || major < 1 || major > 99)
        return -EINVAL;
    text = end + 1;
    minor = strtol(text, &end, 10);
    if (end == text || *end != '.' || minor < 0 || minor > 999)
        return -EINVAL;
    torch->major = (int)major;
    torch->minor = (int)minor;
    /* The rest of the version shows whether this is a release. "0+cu130" is the rest of a release;
     * "0a0+git" and "0.dev20260101" are not. */
    strtol(end + 1, &end, 10);
    torch->is_release = *end == '\0' || *end == '+';
    return 0;
}

/* Reads the line `__version__ = '2.11.0+cu130'`. */
static void read_version(struct sl_torch *torch, const char *text)
{
    static const char name[] = "__version__ = ";
    const char *at = strstr(text, name);
    size_t length;

    at = at ? strpbrk(at + sizeof(name) - 1, "'\"\n") : NULL;
    if (!at || *at == '\n')
        return;
    length = strcspn(at + 1, "'\"\n");
    if (length >= sizeof(torch->version))
        return;
    memcpy(torch->version, at + 1, length);
    torch->version[length] = '\0';
    if (sl_torch_version(torch, torch->version))
        torch->version[0] = '\0';
}

/* Reads the version that the package states. `depth` is the number of folders between the packages'
 * folder and `library`: 2 for torch/lib/libtorch_cpu.so. */
static void ask_package(struct sl_torch *torch, const char *library, int depth)
{
    char folder[PATH_MAX], path[PATH_MAX + 16], text[4096];
    ssize_t length;
    char *slash;

    snprintf(folder, sizeof(folder), "%s", library);
    for (int up = 0; up < depth; up++) {
        slash = strrchr(folder, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    slash = strrchr(folder, '/');
    if (slash)
        snprintf(torch->packages, sizeof(torch->packages), "%.*s", (int)(slash - folder), folder);
    snprintf(path, sizeof(path), "%s/version.py", folder);
    length = sl_own_file_read(path, text, sizeof(text) - 1);
    if (length <= 0)
        return;
    text[length] = '\0';
    read_version(torch, text);
}

/* ---- the library ---- */

static int look(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    char *path = user;

    (void)size;
    if (!slash || strncmp(slash + 1, LIBRARY, sizeof(LIBRARY) - 1) != 0)
        return 0;
    snprintf(path, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* Checks whether this object is the package's own library, such as
 * ".../torch/_C.cpython-311-x86_64-linux-gnu.so". */
static int look_for_part(struct dl_phdr_info *info, size_t size, void *user)
{
    static const char begins[] = "/torch/_C.";
    const char *slash = strrchr(info->dlpi_name, '/');
    char *path = user;

    (void)size;
    if (!slash || slash - info->dlpi_name < (ptrdiff_t)sizeof("/torch") - 1)
        return 0;
    slash -= sizeof("/torch") - 1;
    if (strncmp(slash, begins, sizeof(begins) - 1) != 0)
        return 0;
    snprintf(path, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* Linux distributions may install PyTorch's libraries in a common library folder. Then the path of
 * the package's own library shows where the package is. */
static void find_package(struct sl_torch *torch, const char *library)
{
    char part[PATH_MAX] = "";

    ask_package(torch, library, 2);
    if (!*torch->version && sl_loader_look(look_for_part, part))
        ask_package(torch, part, 1);
}

int sl_torch_discover(struct sl_torch *out)
{
    char path[PATH_MAX] = "";
    void *library, *named;
    int saved = errno;

    memset(out, 0, sizeof(*out));
    if (!sl_loader_look(look, path))
        return -ENOENT;
    /* dlopen() waits until the library's initialisers have run. */
    library = sl_loader_open(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return -ENOENT;
    named = sl_loader_open(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    out->is_named = named == library;
    out->is_old_abi = sl_loader_symbol(library, OLD_ABI) != NULL;
    find_package(out, path);
    if (named)
        sl_loader_close(named);
    sl_loader_close(library);
    errno = saved;
    return 0;
}

/* ---- its observer ---- */

static int is_there(const struct sl_torch *torch, const char *home, char *path, size_t size,
                    const char *version)
{
    char below[128];

    snprintf(below, sizeof(below), "observers/torch-%s%s.so", version,
             torch->is_old_abi ? "-old-abi" : "");
    return sl_home_path(path, size, home, below) == 0 && access(path, R_OK) == 0 &&
           sl_home_is_trusted(path);
}

int sl_torch_observer_path(const struct sl_torch *torch, const char *home, char *path, size_t size)
{
    char minor[32];

    if (*torch->version && is_there(torch, home, path, size, torch->version))
        return 0;
    snprintf(minor, sizeof(minor), "%d.%d", torch->major, torch->minor);
    return torch->is_release && is_there(torch, home, path, size, minor) ? 0 : -ENOENT;
}
