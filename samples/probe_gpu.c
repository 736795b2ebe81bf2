/*
 * probe_gpu.c - looks for a GPU that CUDA can use. Prints its name and exits with 0, or prints the
 * reason and exits with 1.
 *
 * demo.sh and tests/gpu/run.sh run this program to choose between a real and a simulated GPU.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    __typeof__(cuInit) *init;
    __typeof__(cuDeviceGetCount) *count;
    __typeof__(cuDeviceGetName) *get_name;
    char name[256] = "";
    int devices = 0, error;

    if (!library) {
        printf("no CUDA driver (libcuda.so.1)\n");
        return 1;
    }
    init = (__typeof__(init))dlsym(library, "cuInit");
    count = (__typeof__(count))dlsym(library, "cuDeviceGetCount");
    get_name = (__typeof__(get_name))dlsym(library, "cuDeviceGetName");
    if (!init || !count || !get_name) {
        printf("libcuda.so.1 is not a CUDA driver\n");
        return 1;
    }
    error = init(0);
    if (!error)
        error = count(&devices);
    if (error || devices == 0) {
        printf("a CUDA driver, but no device (cuInit: %d)\n", error);
        return 1;
    }
    get_name(name, sizeof(name), 0);
    printf("%d x %s\n", devices, name);
    return 0;
}
