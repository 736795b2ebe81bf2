/* fixture_driver.h - the loaded fixture_driver.c: what its functions return. */
#ifndef SL_NVTX_FIXTURE_DRIVER_H
#define SL_NVTX_FIXTURE_DRIVER_H

struct fixture_driver {
    void *current;
    int no_current, no_context, no_device, no_stream; /* 1: the call fails */
};

#endif
