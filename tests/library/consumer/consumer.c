/*
 * consumer.c - a user's program: calls the public API without linking the library. One thread; owns
 * nothing. Prints what sl_start() returned before and after the library (argv[1]) was loaded.
 */
#include <syncline/syncline.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct sl_status status = {.size = sizeof(status)};

    printf("before %d\n", sl_start());
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (sl_status(&status) == 0)
        printf("state %d\n", (int)status.state);
    return 0;
}
