/*
 * call_class.c - classifies CUDA calls by how they wait, from the callback id.
 *
 * Threads: any. The numbers are those of cupti_runtime_cbid.h and cupti_driver_cbid.h.
 */
#include "sync/call_class.h"

#include <stddef.h>

/* Indexed by callback id; ids that are not listed are SL_CALL_OTHER. This is a table because every
 * call is looked up. */
static const uint8_t runtime[] = {
    [13] = SL_CALL_KERNEL_LAUNCH,          /* cudaLaunch */
    [22] = SL_CALL_FREE,                   /* cudaFree */
    [24] = SL_CALL_FREE,                   /* cudaFreeArray */
    [26] = SL_CALL_FREE,                   /* cudaFreeHost */
    [31 ... 40] = SL_CALL_BLOCKING_COPY,   /* cudaMemcpy ... cudaMemcpyFromSymbol */
    [41 ... 48] = SL_CALL_ASYNC_COPY,      /* cudaMemcpyAsync ... cudaMemcpyFromSymbolAsync */
    [49 ... 50] = SL_CALL_BLOCKING_COPY,   /* cudaMemset, cudaMemset2D */
    [123] = SL_CALL_UNLOAD,                /* cudaThreadExit, the old name of cudaDeviceReset */
    [126] = SL_CALL_DEVICE_SYNC,           /* cudaThreadSynchronize */
    [131] = SL_CALL_STREAM_SYNC,           /* cudaStreamSynchronize */
    [132] = SL_CALL_STREAM_QUERY,          /* cudaStreamQuery */
    [137] = SL_CALL_EVENT_SYNC,            /* cudaEventSynchronize */
    [138] = SL_CALL_EVENT_QUERY,           /* cudaEventQuery */
    [142] = SL_CALL_BLOCKING_COPY,         /* cudaMemset3D */
    [144] = SL_CALL_BLOCKING_COPY,         /* cudaMemcpy3D */
    [145] = SL_CALL_ASYNC_COPY,            /* cudaMemcpy3DAsync */
    [147] = SL_CALL_STREAM_WAIT,           /* cudaStreamWaitEvent */
    [160] = SL_CALL_BLOCKING_COPY,         /* cudaMemcpyPeer */
    [162] = SL_CALL_BLOCKING_COPY,         /* cudaMemcpy3DPeer */
    [164] = SL_CALL_UNLOAD,                /* cudaDeviceReset */
    [165] = SL_CALL_DEVICE_SYNC,           /* cudaDeviceSynchronize */
    [194] = SL_CALL_FREE,                  /* cudaFreeMipmappedArray */
    [211] = SL_CALL_KERNEL_LAUNCH,         /* cudaLaunchKernel */
    [213 ... 214] = SL_CALL_KERNEL_LAUNCH, /* cudaLaunch_ptsz, cudaLaunchKernel_ptsz */
    [215 ... 224] = SL_CALL_BLOCKING_COPY, /* cudaMemcpy_ptds ... cudaMemcpyFromSymbol_ptds */
    [225 ... 232] =
        SL_CALL_ASYNC_COPY, /* cudaMemcpyAsync_ptsz ... cudaMemcpyFromSymbolAsync_ptsz */
    [233 ... 234] = SL_CALL_BLOCKING_COPY, /* cudaMemset_ptds, cudaMemset2D_ptds */
    [239] = SL_CALL_STREAM_SYNC,           /* cudaStreamSynchronize_ptsz */
    [240] = SL_CALL_STREAM_QUERY,          /* cudaStreamQuery_ptsz */
    [243] = SL_CALL_BLOCKING_COPY,         /* cudaMemset3D_ptds */
    [245] = SL_CALL_BLOCKING_COPY,         /* cudaMemcpy3D_ptds */
    [246] = SL_CALL_ASYNC_COPY,            /* cudaMemcpy3DAsync_ptsz */
    [247] = SL_CALL_STREAM_WAIT,           /* cudaStreamWaitEvent_ptsz */
    [249] = SL_CALL_BLOCKING_COPY,         /* cudaMemcpy3DPeer_ptds */
    [269 ... 270] = SL_CALL_KERNEL_LAUNCH, /* cudaLaunchCooperativeKernel, its _ptsz */
    [272] = SL_CALL_KERNEL_LAUNCH,         /* cudaLaunchCooperativeKernelMultiDevice */
    [311 ... 312] = SL_CALL_GRAPH_LAUNCH,  /* cudaGraphLaunch, cudaGraphLaunch_ptsz */
    [315 ... 316] = SL_CALL_CAPTURE_BEGIN, /* cudaStreamBeginCapture, its _ptsz */
    [319 ... 320] = SL_CALL_CAPTURE_END,   /* cudaStreamEndCapture, its _ptsz */
    [430 ... 431] = SL_CALL_KERNEL_LAUNCH, /* cudaLaunchKernelExC, its _ptsz */
    [452 ... 453] = SL_CALL_CAPTURE_BEGIN, /* cudaStreamBeginCaptureToGraph, its _ptsz */
    [472] = SL_CALL_UNLOAD,                /* cudaLibraryUnload */
    [482 ... 485] = SL_CALL_ASYNC_COPY, /* cudaMemcpyBatchAsync ... cudaMemcpy3DBatchAsync_ptsz */
    [509 ... 512] = SL_CALL_ASYNC_COPY, /* the same, as renamed in 13.0 */
    [543] = SL_CALL_CONTEXT_RECORD,     /* cudaExecutionCtxRecordEvent */
    [544] = SL_CALL_CONTEXT_WAIT,       /* cudaExecutionCtxWaitEvent */
    [562 ... 563] = SL_CALL_CAPTURE_BEGIN, /* cudaStreamBeginRecaptureToGraph, its _ptsz */
};

static const uint8_t driver[] = {
    [11] = SL_CALL_UNLOAD,                 /* cuCtxDestroy */
    [17] = SL_CALL_CONTEXT_SYNC,           /* cuCtxSynchronize */
    [22] = SL_CALL_UNLOAD,                 /* cuModuleUnload */
    [33] = SL_CALL_FREE,                   /* cuMemFree */
    [38] = SL_CALL_FREE,                   /* cuMemFreeHost */
    [43 ... 59] = SL_CALL_BLOCKING_COPY,   /* cuMemcpyHtoD ... cu64Memcpy3D */
    [62] = SL_CALL_ASYNC_COPY,             /* cuMemcpyDtoHAsync */
    [67 ... 70] = SL_CALL_ASYNC_COPY,      /* cuMemcpyAtoHAsync ... cu64Memcpy3DAsync */
    [71 ... 82] = SL_CALL_BLOCKING_COPY,   /* cuMemsetD8 ... cu64MemsetD2D32 */
    [89] = SL_CALL_FREE,                   /* cuArrayDestroy */
    [115 ... 117] = SL_CALL_KERNEL_LAUNCH, /* cuLaunch, cuLaunchGrid, cuLaunchGridAsync */
    [120] = SL_CALL_EVENT_QUERY,           /* cuEventQuery */
    [121] = SL_CALL_EVENT_SYNC,            /* cuEventSynchronize */
    [125] = SL_CALL_STREAM_QUERY,          /* cuStreamQuery */
    [126] = SL_CALL_STREAM_SYNC,           /* cuStreamSynchronize */
    [245] = SL_CALL_FREE,                  /* cuMemFree_v2 */
    [248 ... 254] = SL_CALL_BLOCKING_COPY, /* cuMemcpy_v2, cuMemsetD8_v2 ... cuMemsetD2D32_v2 */
    [276] = SL_CALL_BLOCKING_COPY,         /* cuMemcpyHtoD_v2 */
    [278] = SL_CALL_BLOCKING_COPY,         /* cuMemcpyDtoH_v2 */
    [279] = SL_CALL_ASYNC_COPY,            /* cuMemcpyDtoHAsync_v2 */
    [280] = SL_CALL_BLOCKING_COPY,         /* cuMemcpyDtoD_v2 */
    [282] = SL_CALL_BLOCKING_COPY,         /* cuMemcpyAtoH_v2 */
    [283] = SL_CALL_ASYNC_COPY,            /* cuMemcpyAtoHAsync_v2 */
    [284 ... 288] = SL_CALL_BLOCKING_COPY, /* cuMemcpyAtoD_v2 ... cuMemcpy2DUnaligned_v2 */
    [289] = SL_CALL_ASYNC_COPY,            /* cuMemcpy2DAsync_v2 */
    [290] = SL_CALL_BLOCKING_COPY,         /* cuMemcpy3D_v2 */
    [291] = SL_CALL_ASYNC_COPY,            /* cuMemcpy3DAsync_v2 */
    [292] = SL_CALL_BLOCKING_COPY,         /* cuMemcpyHtoA_v2 */
    [295] = SL_CALL_STREAM_WAIT,           /* cuStreamWaitEvent */
    [305] = SL_CALL_BLOCKING_COPY,         /* cuMemcpy */
    [306] = SL_CALL_ASYNC_COPY,            /* cuMemcpyAsync */
    [307] = SL_CALL_KERNEL_LAUNCH,         /* cuLaunchKernel */
    [318] = SL_CALL_BLOCKING_COPY,         /* cuMemcpyPeer */
    [320] = SL_CALL_BLOCKING_COPY,         /* cuMemcpy3DPeer */
    [322] = SL_CALL_UNLOAD,                /* cuCtxDestroy_v2 */
    [349] = SL_CALL_FREE,                  /* cuMipmappedArrayDestroy */
    [389] = SL_CALL_UNLOAD,                /* cuDevicePrimaryCtxReset */
    [397 ... 416] = SL_CALL_BLOCKING_COPY, /* cuMemcpyHtoD_v2_ptds ... cuMemsetD2D32_v2_ptds */
    [418] = SL_CALL_ASYNC_COPY,            /* cuMemcpyAsync_ptsz */
    [420] = SL_CALL_ASYNC_COPY,            /* cuMemcpyAtoHAsync_v2_ptsz */
    [422] = SL_CALL_ASYNC_COPY,            /* cuMemcpyDtoHAsync_v2_ptsz */
    [424 ... 425] = SL_CALL_ASYNC_COPY,    /* cuMemcpy2DAsync_v2_ptsz, cuMemcpy3DAsync_v2_ptsz */
    [436] = SL_CALL_STREAM_WAIT,           /* cuStreamWaitEvent_ptsz */
    [439] = SL_CALL_STREAM_QUERY,          /* cuStreamQuery_ptsz */
    [440] = SL_CALL_STREAM_SYNC,           /* cuStreamSynchronize_ptsz */
    [442] = SL_CALL_KERNEL_LAUNCH,         /* cuLaunchKernel_ptsz */
    [477 ... 478] = SL_CALL_KERNEL_LAUNCH, /* cuLaunchCooperativeKernel, its _ptsz */
    [480] = SL_CALL_KERNEL_LAUNCH,         /* cuLaunchCooperativeKernelMultiDevice */
    [495 ... 496] = SL_CALL_CAPTURE_BEGIN, /* cuStreamBeginCapture, its _ptsz */
    [497 ... 498] = SL_CALL_CAPTURE_END,   /* cuStreamEndCapture, its _ptsz */
    [514 ... 515] = SL_CALL_GRAPH_LAUNCH,  /* cuGraphLaunch, cuGraphLaunch_ptsz */
    [539 ... 540] = SL_CALL_CAPTURE_BEGIN, /* cuStreamBeginCapture_v2, its _ptsz */
    [545] = SL_CALL_UNLOAD,                /* cuDevicePrimaryCtxReset_v2 */
    [652 ... 653] = SL_CALL_KERNEL_LAUNCH, /* cuLaunchKernelEx, its _ptsz */
    [680] = SL_CALL_UNLOAD,                /* cuLibraryUnload */
    [720 ... 721] = SL_CALL_CAPTURE_BEGIN, /* cuStreamBeginCaptureToGraph, its _ptsz */
    [749] = SL_CALL_CONTEXT_RECORD,        /* cuGreenCtxRecordEvent */
    [750] = SL_CALL_CONTEXT_WAIT,          /* cuGreenCtxWaitEvent */
    [755] = SL_CALL_CONTEXT_RECORD,        /* cuCtxRecordEvent */
    [756] = SL_CALL_CONTEXT_WAIT,          /* cuCtxWaitEvent */
    [776 ... 779] = SL_CALL_ASYNC_COPY,    /* cuMemcpyBatchAsync ... cuMemcpy3DBatchAsync_ptsz */
    [796 ... 799] = SL_CALL_ASYNC_COPY,    /* the same, _v2 */
    [800] = SL_CALL_CONTEXT_SYNC,          /* cuCtxSynchronize_v2 */
    [819] = SL_CALL_GRAPH_LAUNCH,          /* cuGraphLaunchWithArguments */
    [828 ... 829] = SL_CALL_KERNEL_LAUNCH, /* cuSubgridScheduleLaunch, its _ptsz */
    [846 ... 847] = SL_CALL_CAPTURE_BEGIN, /* cuStreamBeginRecaptureToGraph, its _ptsz */
};

enum sl_call_class sl_call_class_of(enum sl_event_kind domain, uint32_t cbid)
{
    const uint8_t *class = domain == SL_EV_RUNTIME ? runtime : driver;
    size_t count = domain == SL_EV_RUNTIME ? sizeof runtime : sizeof driver;

    return cbid < count ? (enum sl_call_class) class[cbid] : SL_CALL_OTHER;
}
