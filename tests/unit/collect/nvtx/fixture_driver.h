/* fixture_driver.h - sets the values that the functions of fixture_driver.c return. */
#ifndef SL_NVTX_FIXTURE_DRIVER_H
#define SL_NVTX_FIXTURE_DRIVER_H

struct fixture_driver {
    void *current;
    int no_current, no_context, no_device, no_stream; /* 1: the function returns an error */
};

#endif
