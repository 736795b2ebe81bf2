/*
 * absent.c - CUPTI 12's events and metrics, which the PyTorch of its time resolves when it is
 * loaded. There are none: whoever asks is told so.
 *
 * Application threads.
 */
#include <cupti.h>

#define ABSENT(name)                                                                               \
    CUptiResult sim_cupti_##name(void) __asm__(#name);                                             \
    __attribute__((visibility("default"))) CUptiResult sim_cupti_##name(void)                      \
    {                                                                                              \
        return CUPTI_ERROR_NOT_SUPPORTED;                                                          \
    }

ABSENT(cuptiEventGetAttribute)
ABSENT(cuptiEventGetIdFromName)
ABSENT(cuptiEventGroupGetAttribute)
ABSENT(cuptiEventGroupReadEvent)
ABSENT(cuptiEventGroupSetAttribute)
ABSENT(cuptiEventGroupSetDisable)
ABSENT(cuptiEventGroupSetEnable)
ABSENT(cuptiEventGroupSetsCreate)
ABSENT(cuptiEventGroupSetsDestroy)
ABSENT(cuptiMetricEnumEvents)
ABSENT(cuptiMetricGetAttribute)
ABSENT(cuptiMetricGetIdFromName)
ABSENT(cuptiMetricGetNumEvents)
ABSENT(cuptiMetricGetValue)
ABSENT(cuptiSetEventCollectionMode)
