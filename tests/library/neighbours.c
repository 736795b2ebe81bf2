/*
 * neighbours.c - a process with its own libzstd and libz loads libsyncline.so (argv[1]) and still
 * uses its own copies. One thread; buffers are on the stack.
 *
 * The process loads its libraries by soname at run time, so it can be built without their
 * development packages. argv[2] = "first" loads syncline before them, "last" after them. Exit
 * status 77: one of the libraries is not installed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef size_t zstd_fn(void *, size_t, const void *, size_t, int);
typedef size_t unzstd_fn(void *, size_t, const void *, size_t);
typedef int deflate_fn(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
typedef const char *version_fn(void);

static void *open_or_say(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

    if (!handle)
        fprintf(stderr, "%s\n", dlerror());
    return handle;
}

/* dlsym() returns an object pointer; memcpy() converts it portably to a function pointer. */
#define LOOK_UP(fn, handle, name)                                                                  \
    do {                                                                                           \
        void *symbol_ = dlsym(handle, name);                                                       \
        memcpy(&(fn), &symbol_, sizeof(fn));                                                       \
    } while (0)

static int zstd_works(void *zstd)
{
    static const char text[] = "the host's own bytes, the host's own bytes, the host's own bytes";
    char packed[256], back[256];
    zstd_fn *compress;
    unzstd_fn *decompress;
    size_t size;

    LOOK_UP(compress, zstd, "ZSTD_compress");
    LOOK_UP(decompress, zstd, "ZSTD_decompress");
    size = compress(packed, sizeof(packed), text, sizeof(text), 3);
    return size < sizeof(packed) && decompress(back, sizeof(back), packed, size) == sizeof(text) &&
           !memcmp(back, text, sizeof(text));
}

static int zlib_works(void *zlib)
{
    static const unsigned char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    unsigned char packed[256], back[256];
    unsigned long packed_size = sizeof(packed), back_size = sizeof(back);
    deflate_fn *compress, *uncompress;

    LOOK_UP(compress, zlib, "compress");
    LOOK_UP(uncompress, zlib, "uncompress");
    return compress(packed, &packed_size, text, sizeof(text)) == 0 &&
           uncompress(back, &back_size, packed, packed_size) == 0 && back_size == sizeof(text) &&
           !memcmp(back, text, sizeof(text));
}

/* Returns the file that currently defines a global symbol. */
static const char *owner(const char *symbol)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, symbol);

    return address && dladdr(address, &info) ? info.dli_fname : "nobody";
}

int main(int argc, char **argv)
{
    int first = argc > 2 && !strcmp(argv[2], "first");
    void *zstd, *zlib;

    if (argc < 3 || (first && !open_or_say(argv[1])))
        return 1;
    zstd = open_or_say("libzstd.so.1");
    zlib = open_or_say("libz.so.1");
    if (!zstd || !zlib)
        return 77;
    if (!first && !open_or_say(argv[1]))
        return 1;

    printf("zstd %s\nzlib %s\n", zstd_works(zstd) ? "works" : "broken",
           zlib_works(zlib) ? "works" : "broken");
    printf("ZSTD_compress %s\ndeflate %s\n", owner("ZSTD_compress"), owner("deflate"));
    return 0;
}
