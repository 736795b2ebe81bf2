/*
 * getenv_hook.c - makes NVTX find this library when a copy of NVTX looks for its tool.
 *
 * Threads, memory: see getenv_hook.h. The path of this library is a string that the dynamic linker
 * owns. The string stays valid because this library is never unloaded.
 */
#include "collect/nvtx/getenv_hook.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/getenv_answer.h"
#include "base/loader.h"

#define VARIABLE "NVTX_INJECTION64_PATH"

static struct {
    const char *_Atomic path; /* path of this library; NULL: calls of getenv() are passed on */
    _Atomic int invited, other_tool;
} invite;

static int has_one_thread(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int threads = 0;

    if (!folder)
        return 0;
    while ((entry = readdir(folder)))
        threads += entry->d_name[0] != '.';
    closedir(folder);
    return threads == 1;
}

int sl_nvtx_getenv_hook_set(void)
{
    const char *tool = getenv(VARIABLE);
    Dl_info self, theirs;
    void *library;
    int is_ours;

    if (!sl_loader_find((void *)(uintptr_t)sl_nvtx_getenv_hook_set, &self) || !self.dli_fname)
        return -ENOENT;
    if (tool && *tool) {
        library = sl_loader_open(tool, RTLD_LAZY | RTLD_NOLOAD);
        is_ours = library &&
                  sl_loader_find(sl_loader_symbol(library, "InitializeInjectionNvtx2"), &theirs) &&
                  theirs.dli_fbase == self.dli_fbase;
        atomic_store(&invite.invited, is_ours);
        atomic_store(&invite.other_tool, !is_ours);
        return -EALREADY;
    }
    atomic_store(&invite.path, self.dli_fname);
    if (!has_one_thread())
        return -EBUSY;
    if (setenv(VARIABLE, self.dli_fname, 1)) /* 1 means that setenv() also replaces an empty
                                              * value */
        return -errno;
    atomic_store(&invite.invited, 1);
    return 0;
}

int sl_nvtx_getenv_hook_is_set(void)
{
    return atomic_load(&invite.invited);
}

int sl_nvtx_has_other_tool(void)
{
    return atomic_load(&invite.other_tool);
}

static const char *our_path(void)
{
    return atomic_load(&invite.path);
}

void sl_nvtx_getenv_hook_add_object(const void *inside)
{
    if (atomic_load(&invite.path) && !atomic_load(&invite.invited) &&
        sl_getenv_answer(VARIABLE, our_path) == 0)
        sl_getenv_answer_in(inside);
}
