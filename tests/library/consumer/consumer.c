/*
 * consumer.c - a user's program: calls the public API without linking the library. One thread.
 * Prints the result of sl_start() before the library (argv[1]) is loaded. Then loads the library,
 * calls its entry point like the CUDA driver, and prints the state.
 */
#include <syncline/syncline.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct sl_status status = {.size = sizeof(status)};

    printf("before %d\n", sl_start());
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*inject)(void);

        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void **)&inject = dlsym(library, "InitializeInjection");
        printf("inject %d\n", inject());
    }
    if (sl_status(&status) == 0)
        printf("state %d\n", (int)status.state);
    return 0;
}
