/*
 * cudnn_backend.c - the stand-in for cuDNN's backend interface, which PyTorch uses for convolutions
 * and attention. A descriptor is a set of attributes. There is one engine, which runs every graph.
 * To execute a graph, it launches the kernels of the graph's convolution, or one kernel for all
 * matrix products of an attention.
 *
 * Application threads. A descriptor lives as long as any descriptor that refers to it, because
 * programs destroy the parts of a plan before the plan.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/cudnn.h"

enum kind { /* cudnnBackendDescriptorType_t */
    ENGINE = 2,
    FORWARD = 10,
    BACKWARD_FILTER = 11,
    BACKWARD_DATA = 12,
    PRODUCT = 19,
    ATTENTION = 41,
    ATTENTION_BACKWARD = 43
};

enum attribute_name { /* cudnnBackendAttributeName_t */
    ENGINEHEUR_OPERATION_GRAPH = 201,
    ENGINEHEUR_RESULTS = 202,
    ENGINECFG_ENGINE = 300,
    ENGINECFG_SHARED_MEMORY = 304,
    PLAN_ENGINE_CONFIG = 401,
    PLAN_WORKSPACE_SIZE = 402,
    FORWARD_W = 703,
    FORWARD_X = 704,
    FORWARD_Y = 705,
    DATA_W = 709,
    DATA_DX = 710,
    DATA_DY = 711,
    FILTER_DW = 715,
    FILTER_X = 716,
    FILTER_DY = 717,
    GRAPH_OPS = 801,
    GRAPH_ENGINE_COUNT = 802,
    TENSOR_TYPE = 901,
    TENSOR_DIMENSIONS = 902,
    TENSOR_STRIDES = 903,
    ENGINE_GRAPH = 1300,
    PRODUCT_A = 1520,
    PRODUCT_C = 1522,
    ATTENTION_Q = 2800,
    ATTENTION_K = 2801,
    ATTENTION_BACKWARD_Q = 2851,
    ATTENTION_BACKWARD_K = 2852,
    ENGINE_GLOBAL_INDEX = 1301
};

enum {
    TYPE_DESCRIPTOR = 15, /* CUDNN_TYPE_BACKEND_DESCRIPTOR */
    TILE = 128
};

struct attribute {
    struct attribute *next;
    int name, type;
    int64_t count;
    char bytes[];
};

struct backend {
    atomic_int refs;
    int kind;
    struct attribute *attributes;
};

enum sim_precision sim_cudnn_precision(int data_type, bool tf32)
{
    static const enum sim_precision table[] = {[1] = SIM_FP64, [2] = SIM_FP16, [3] = SIM_INT8,
                                               [9] = SIM_BF16, [12] = SIM_FP8, [13] = SIM_FP8};

    if (data_type > 0 && (size_t)data_type < sizeof table / sizeof *table && table[data_type]) {
        return table[data_type];
    }
    return tf32 ? SIM_TF32 : SIM_FP32;
}

/* Returns the size in bytes of an attribute's element, by its cudnnBackendAttributeType_t. */
static size_t element_size(int type)
{
    switch (type) {
    case 0:  /* handle */
    case 3:  /* int64 */
    case 5:  /* double */
    case 6:  /* pointer */
    case 15: /* descriptor */
    case 26: /* fraction: two int64 */
        return type == 26 ? 16 : 8;
    case 2:  /* bool */
    case 24: /* char */
        return 1;
    default: /* enums, int32, float */
        return 4;
    }
}

static void release(struct backend *d);

static void drop(struct attribute *a)
{
    if (a->type == TYPE_DESCRIPTOR) {
        struct backend **held = (struct backend **)a->bytes;

        for (int64_t i = 0; i < a->count; i++) {
            release(held[i]);
        }
    }
    free(a);
}

static void release(struct backend *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) != 1) {
        return;
    }
    while (d->attributes) {
        struct attribute *a = d->attributes;

        d->attributes = a->next;
        drop(a);
    }
    free(d);
}

static const struct attribute *find(const struct backend *d, int name)
{
    const struct attribute *a = d ? d->attributes : NULL;

    while (a && a->name != name) {
        a = a->next;
    }
    return a;
}

static const struct backend *part(const struct backend *d, int name)
{
    const struct attribute *a = find(d, name);

    return a && a->count ? *(struct backend *const *)a->bytes : NULL;
}

static int set(struct backend *d, int name, int type, int64_t count, const void *values)
{
    size_t bytes = (size_t)count * element_size(type);
    struct attribute *a = malloc(sizeof *a + bytes), **at = &d->attributes;

    if (!a) {
        return CUDNN_ALLOC_FAILED;
    }
    *a = (struct attribute){.name = name, .type = type, .count = count};
    if (bytes) {
        memcpy(a->bytes, values, bytes);
    }
    for (int64_t i = 0; type == TYPE_DESCRIPTOR && i < count; i++) {
        atomic_fetch_add(&((struct backend **)a->bytes)[i]->refs, 1);
    }
    while (*at && (*at)->name != name) {
        at = &(*at)->next;
    }
    if (*at) {
        struct attribute *old = *at;

        *at = old->next;
        drop(old);
    }
    a->next = d->attributes;
    d->attributes = a;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnBackendCreateDescriptor, (int kind, struct backend **out))
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return CUDNN_ALLOC_FAILED;
    }
    (*out)->kind = kind;
    (*out)->refs = 1;
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnBackendDestroyDescriptor, (struct backend * d))
{
    release(d);
    return CUDNN_SUCCESS;
}

LIBRARY(int, cudnnBackendFinalize, (struct backend * d))
{
    return d ? CUDNN_SUCCESS : CUDNN_INVALID_VALUE;
}

LIBRARY(int, cudnnBackendSetAttribute,
        (struct backend * d, int name, int type, int64_t count, const void *values))
{
    return d && count >= 0 ? set(d, name, type, count, values) : CUDNN_INVALID_VALUE;
}

/* Implements the heuristics, which return one configuration: the single engine for the whole
 * graph. */
static int suggest(const struct backend *heuristic, int64_t wanted, int64_t *count,
                   struct backend **configurations)
{
    const struct attribute *graph = find(heuristic, ENGINEHEUR_OPERATION_GRAPH);
    struct backend *engine;

    *count = 1;
    if (wanted < 1 || !configurations) {
        return CUDNN_SUCCESS;
    }
    int status = cudnnBackendCreateDescriptor(ENGINE, &engine);

    if (status != CUDNN_SUCCESS) {
        return status;
    }
    if (graph) {
        status = set(engine, ENGINE_GRAPH, TYPE_DESCRIPTOR, 1, graph->bytes);
    }
    if (status == CUDNN_SUCCESS) {
        status = set(configurations[0], ENGINECFG_ENGINE, TYPE_DESCRIPTOR, 1, &engine);
    }
    release(engine);
    return status;
}

/* Copies the attributes of `from` to `to`, a descriptor that the caller created. */
static int copy_into(struct backend *to, const struct backend *from)
{
    int status = CUDNN_SUCCESS;

    for (const struct attribute *a = from->attributes; a && status == CUDNN_SUCCESS; a = a->next) {
        status = set(to, a->name, a->type, a->count, a->bytes);
    }
    return status;
}

/* Returns whether the attribute is a number that the stand-in knows without a stored value:
 * workspace and shared memory size (0), number of engines (1), index of the engine (0). */
static bool is_number(int name)
{
    return name == PLAN_WORKSPACE_SIZE || name == GRAPH_ENGINE_COUNT ||
           name == ENGINECFG_SHARED_MEMORY || name == ENGINE_GLOBAL_INDEX;
}

LIBRARY(int, cudnnBackendGetAttribute,
        (const struct backend *d, int name, int type, int64_t wanted, int64_t *count, void *out))
{
    const struct attribute *a = find(d, name);
    int64_t none;

    count = count ? count : &none;
    if (name == ENGINEHEUR_RESULTS) {
        return suggest(d, wanted, count, out);
    }
    if (is_number(name)) {
        const int64_t value = name == GRAPH_ENGINE_COUNT;

        *count = 1;
        if (out) {
            memcpy(out, &value, element_size(type));
        }
        return CUDNN_SUCCESS;
    }
    /* An engine has no notes and no knobs. */
    *count = a ? a->count : 0;
    if (!a || !out || wanted < 1) {
        return CUDNN_SUCCESS;
    }
    if (type == TYPE_DESCRIPTOR) {
        return copy_into(*(struct backend **)out, part(d, name));
    }
    memcpy(out, a->bytes, (size_t)(wanted < a->count ? wanted : a->count) * element_size(type));
    return CUDNN_SUCCESS;
}

/* ---- execution ---- */

struct convolution {
    const char *verb;
    /* `result` is the tensor with one element per dot product. */
    const struct backend *image, *filter, *result;
};

static bool describe(const struct backend *op, struct convolution *c)
{
    switch (op->kind) {
    case FORWARD:
        *c = (struct convolution){"fprop", part(op, FORWARD_X), part(op, FORWARD_W),
                                  part(op, FORWARD_Y)};
        break;
    case BACKWARD_DATA:
        *c = (struct convolution){"dgrad", part(op, DATA_DX), part(op, DATA_W), part(op, DATA_DY)};
        break;
    case BACKWARD_FILTER:
        *c = (struct convolution){"wgrad", part(op, FILTER_X), part(op, FILTER_DW),
                                  part(op, FILTER_DY)};
        break;
    default:
        return false;
    }
    return c->image && c->filter && c->result;
}

static double elements(const struct backend *tensor, int64_t from)
{
    const struct attribute *a = find(tensor, TENSOR_DIMENSIONS);
    double product = 1;

    for (int64_t i = from; a && i < a->count; i++) {
        product *= (double)((const int64_t *)a->bytes)[i];
    }
    return product;
}

/* Says whether the channels are the innermost dimension, so that no kernel has to transpose the
 * tensor. */
static bool channels_last(const struct backend *tensor)
{
    const struct attribute *a = find(tensor, TENSOR_STRIDES);

    return a && a->count > 1 && ((const int64_t *)a->bytes)[1] == 1;
}

static int transpose(void *stream, const struct backend *tensor, bool back)
{
    double count = elements(tensor, 0);
    uint32_t blocks = (uint32_t)(count / 1024) + 1;
    const struct sim_library_kernel kernel = {
        .name = back ? "_ZN5cudnn3ops16nhwcToNchwKernelIfffLb1ELb0EL21cudnnKernelDataType_t0EEEvNS0"
                       "_18nhwc2nchw_params_tIT1_EEPKT_PT0_"
                     : "_ZN5cudnn3ops16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernelDataType_t2EEEvNS0"
                       "_18nchw2nhwc_params_tIT1_EEPKT_PT0_",
        .grid = {blocks, 1, 1},
        .block = {256, 1, 1},
        .cost_ns = sim_library_cost(8 * count, 0, 1),
    };

    return sim_library_launch(stream, &kernel);
}

static int convolve(void *stream, const struct convolution *c)
{
    const struct attribute *type = find(c->image, TENSOR_TYPE);
    enum sim_precision precision = sim_cudnn_precision(type ? *(const int *)type->bytes : 0, true);
    const struct sim_precision_facts *facts = &sim_precision[precision];
    bool half = precision == SIM_FP16 || precision == SIM_BF16, straight = channels_last(c->image);
    double products = elements(c->result, 0);
    uint32_t blocks = (uint32_t)(products / (TILE * TILE)) + 1;
    char name[256];

    snprintf(name, sizeof name,
             half ? "sm90_xmma_%s_implicit_gemm_%s_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1"
                    "x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"
                  : "sm80_xmma_%s_implicit_gemm_%s_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize"
                    "2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
             c->verb, facts->cutlass);
    const struct sim_library_kernel kernel = {
        .name = name,
        .grid = {blocks, 1, 1},
        .block = {half ? 384 : 128, 1, 1},
        .shared = half ? 200 * 1024 : 64 * 1024,
        .cost_ns = sim_library_cost((elements(c->image, 0) + elements(c->filter, 0) + products) *
                                        facts->bytes,
                                    2 * products * elements(c->filter, 1), facts->gflops),
        .driver = half,
    };
    int error = straight ? SIM_OK : transpose(stream, c->image, false);

    if (!error) {
        error = sim_library_launch(stream, &kernel);
    }
    return error || straight ? error : transpose(stream, c->result, true);
}

struct attention {
    int products; /* number of matrix products: two forward, more backward */
    double bytes, flops, rows;
};

static double last_dimension(const struct backend *tensor)
{
    const struct attribute *a = find(tensor, TENSOR_DIMENSIONS);

    return a && a->count ? (double)((const int64_t *)a->bytes)[a->count - 1] : 1;
}

/* For a graph where one operation is the whole attention. The shapes of Q and K determine the size
 * of the operation. */
static void add_whole(struct attention *sum, const struct backend *q, const struct backend *k,
                      int products)
{
    const struct attribute *a = find(k, TENSOR_DIMENSIONS);
    double keys = a && a->count > 1 ? (double)((const int64_t *)a->bytes)[a->count - 2] : 1;

    sum->products += products;
    sum->bytes += 2 * products * (elements(q, 0) + elements(k, 0));
    sum->flops += 2 * products * elements(q, 0) * keys;
    sum->rows = elements(q, 0) / last_dimension(q);
}

/* For a graph of matrix products with a softmax between them, which is attention too. Intermediate
 * results are not counted as memory traffic, because they stay on the chip. */
static void add_operation(struct attention *sum, const struct backend *op)
{
    const struct backend *a = part(op, PRODUCT_A), *c = part(op, PRODUCT_C);

    if (op->kind == ATTENTION) {
        add_whole(sum, part(op, ATTENTION_Q), part(op, ATTENTION_K), 2);
    } else if (op->kind == ATTENTION_BACKWARD) {
        add_whole(sum, part(op, ATTENTION_BACKWARD_Q), part(op, ATTENTION_BACKWARD_K), 5);
    } else if (op->kind == PRODUCT && a && c) {
        sum->products++;
        sum->bytes += 2 * elements(a, 0);
        sum->flops += 2 * elements(c, 0) * last_dimension(a);
        sum->rows = elements(a, 0) / last_dimension(a);
    }
}

static int attend(void *stream, const struct attention *sum)
{
    const struct sim_library_kernel kernel = {
        .name = sum->products > 2
                    ? "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x128x64"
                      "_1x1x1_cga1x1x1_kernel0_0"
                    : "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64"
                      "_4x1x1_kernel0_0",
        .grid = {(uint32_t)(sum->rows / TILE) + 1, 1, 1},
        .block = {384, 1, 1},
        .shared = 160 * 1024,
        .cost_ns = sim_library_cost(sum->bytes, sum->flops, sim_precision[SIM_FP16].gflops),
        .driver = true,
    };

    return sim_library_launch(stream, &kernel);
}

LIBRARY(int, cudnnBackendExecute,
        (struct sim_cudnn * h, const struct backend *plan, const struct backend *variables))
{
    const struct backend *graph =
        part(part(part(plan, PLAN_ENGINE_CONFIG), ENGINECFG_ENGINE), ENGINE_GRAPH);
    const struct attribute *ops = find(graph, GRAPH_OPS);
    struct convolution convolution;
    struct attention attention = {0};
    int error = SIM_E_NOT_SUPPORTED;

    for (int64_t i = 0; ops && i < ops->count; i++) {
        const struct backend *op = ((struct backend *const *)ops->bytes)[i];

        if (describe(op, &convolution)) {
            error = convolve(h->stream, &convolution);
            return error ? CUDNN_EXECUTION_FAILED : CUDNN_SUCCESS;
        }
        add_operation(&attention, op);
    }
    if (attention.products) {
        error = attend(h->stream, &attention);
    }
    return error == SIM_E_NOT_SUPPORTED ? CUDNN_NOT_SUPPORTED
           : error                      ? CUDNN_EXECUTION_FAILED
                                        : CUDNN_SUCCESS;
}
