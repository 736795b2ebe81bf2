/* fixture_driver.h - what fixture_driver.c, loaded as the CUDA driver, says. */
#ifndef SL_NVTX_FIXTURE_DRIVER_H
#define SL_NVTX_FIXTURE_DRIVER_H

struct fixture_driver {
    void *current;
    int no_current, no_context, no_device, no_stream; /* 1: the call fails */
};

#endif
