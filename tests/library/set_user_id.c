/* set_user_id.c - loads the given library as libcuda and NVTX do, and prints the results. The test
 * installs this program set-user-id. The loader then ignores LD_PRELOAD and similar variables, so
 * the library's path is an argument. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

extern char **environ;

static int tables_asked;

static const void *get_export_table(uint32_t id)
{
    (void)id;
    tables_asked++;
    return NULL;
}

static int count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    int count = 0;

    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count;
}

static uint64_t hash_environment(void)
{
    uint64_t hash = 14695981039346656037u;

    for (char **at = environ; *at; at++)
        for (const char *c = *at; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return hash;
}

static int (*find(void *library, const char *name))(void *)
{
    void *found = dlsym(library, name);
    int (*function)(void *);

    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    memcpy(&function, &found, sizeof(function));
    return function;
}

int main(int argc, char **argv)
{
    uint64_t before = hash_environment();
    void *library, *table;
    int descriptors, nvtx, injected, started;
    const void *(*get)(uint32_t) = get_export_table;

    printf("secure %lu\n", getauxval(AT_SECURE));
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    descriptors = count_entries("/proc/self/fd");
    memcpy(&table, &get, sizeof(table));
    nvtx = find(library, "InitializeInjectionNvtx2")(table);
    injected = find(library, "InitializeInjection")(NULL);
    started = find(library, "sl_start")(NULL);
    printf("nvtx %d asked %d inject %d start %d\n", nvtx, tables_asked, injected, started);
    printf("threads %d descriptors %d environment %s\n", count_entries("/proc/self/task") - 2,
           count_entries("/proc/self/fd") - descriptors,
           hash_environment() == before ? "untouched" : "changed");
    return 0;
}
