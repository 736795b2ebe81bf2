/* nvtx_test.c - each copy of NVTX has slots, that is function pointers, for the functions of a
 * tool. syncline sets the slots. When it detaches, it clears the slots that still hold its
 * functions. It does not access a copy that was unloaded. Attaching is possible once per process,
 * so every case runs in a child. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/nvtx.h"

/* ---- a copy of NVTX ---- */

enum {
    SLOTS = 32
};

struct copy {
    NvtxFunctionPointer slot[SLOTS], *table[SLOTS + 1];
    unsigned size; /* number of slots of the core module, the only module of this copy */
};

static struct copy *asking;
static uint32_t told_version;

static int NVTX_API get_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    if (module != NVTX_CB_MODULE_CORE)
        return 0;
    *table = asking->table;
    *size = asking->size;
    return 1;
}

static void NVTX_API set_version(uint32_t version)
{
    told_version = version;
}

static NvtxExportTableCallbacks callbacks;
static NvtxExportTableVersionInfo version;

static const void *export_table(uint32_t id)
{
    return id == NVTX_ETID_CALLBACKS     ? (const void *)&callbacks
           : id == NVTX_ETID_VERSIONINFO ? (const void *)&version
                                         : NULL;
}

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

static void nobody(void)
{
}

static void make_copy(struct copy *c, unsigned size)
{
    callbacks = (NvtxExportTableCallbacks){sizeof(callbacks), get_table};
    version = (NvtxExportTableVersionInfo){sizeof(version), NVTX_VERSION, 0, set_version};
    memset(c, 0, sizeof(*c));
    for (unsigned i = 0; i < SLOTS; i++)
        c->table[i] = &c->slot[i];
    c->size = size;
    asking = c;
}

/* Returns the number of slots that are not NULL. */
static unsigned set_slots(const struct copy *c)
{
    unsigned count = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        count += c->slot[i] != NULL;
    return count;
}

/* ---- attaching ---- */

static void a_copy_s_slots_are_set_as_far_as_it_has_them(void)
{
    static struct copy whole, shorter, gaps;

    make_copy(&whole, NVTX_CBID_CORE_SIZE);
    CHECK(sl_nvtx_attach(export_table) == 1);
    CHECK(told_version == NVTX_VERSION);
    CHECK(set_slots(&whole) == NVTX_CBID_CORE_SIZE - 1); /* slot 0 is unused */
    make_copy(&shorter, NVTX_CBID_CORE_RangePop);        /* an older NVTX has no slots for pops */
    CHECK(sl_nvtx_attach(export_table) == 1);
    CHECK(shorter.slot[NVTX_CBID_CORE_RangePushA] && !shorter.slot[NVTX_CBID_CORE_RangePop]);
    make_copy(&gaps, NVTX_CBID_CORE_SIZE);
    gaps.table[NVTX_CBID_CORE_MarkA] = NULL;
    CHECK(sl_nvtx_attach(export_table) == 1);
    CHECK(!gaps.slot[NVTX_CBID_CORE_MarkA] && gaps.slot[NVTX_CBID_CORE_MarkW]);
    CHECK(sl_nvtx_copies() == 3);
    ((int (*)(const char *))(void *)whole.slot[NVTX_CBID_CORE_RangePushA])("works");
    CHECK(sl_lanes_used() == 1);
}

static void a_copy_that_cannot_be_used_is_refused(void)
{
    static struct copy copy;

    make_copy(&copy, NVTX_CBID_CORE_SIZE);
    CHECK(sl_nvtx_attach(NULL) == 0);
    CHECK(sl_nvtx_attach(no_table) == 0);
    callbacks.struct_size--;
    CHECK(sl_nvtx_attach(export_table) == 0);
    callbacks.struct_size++;
    copy.size = 1; /* this copy of NVTX has no slot for any call */
    CHECK(sl_nvtx_attach(export_table) == 0);
    CHECK(sl_nvtx_copies() == 0);
    copy.size = NVTX_CBID_CORE_SIZE;
    version.struct_size = 0; /* this copy accepts no version */
    told_version = 0;
    CHECK(sl_nvtx_attach(export_table) == 1);
    CHECK(told_version == 0);
}

/* ---- detaching ---- */

static void what_is_still_ours_is_cleared(void)
{
    static struct copy ours, taken;
    struct copy *gone =
        mmap(NULL, 2 * sizeof(*gone), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(gone != MAP_FAILED);
    make_copy(&ours, NVTX_CBID_CORE_SIZE);
    CHECK(sl_nvtx_attach(export_table) == 1);
    make_copy(&taken, NVTX_CBID_CORE_SIZE);
    CHECK(sl_nvtx_attach(export_table) == 1);
    make_copy(gone, NVTX_CBID_CORE_SIZE);
    CHECK(sl_nvtx_attach(export_table) == 1);
    taken.slot[NVTX_CBID_CORE_MarkA] = nobody; /* set by another tool */
    munmap(gone, 2 * sizeof(*gone));           /* the library with this copy was unloaded */
    errno = EXDEV;
    sl_nvtx_detach();
    CHECK(errno == EXDEV);
    CHECK(set_slots(&ours) == 0);
    CHECK(set_slots(&taken) == 1 && taken.slot[NVTX_CBID_CORE_MarkA] == nobody);
    sl_nvtx_detach(); /* nothing changes */
    make_copy(&ours, NVTX_CBID_CORE_SIZE);
    CHECK(sl_nvtx_attach(export_table) == 0); /* detached permanently */
    CHECK(set_slots(&ours) == 0);
}

/* PyTorch 2.11 and CUDA's libraries have 317 copies of NVTX, and all of them have slots. There may
 * be more copies than syncline can remember. The slots of the other copies are not set, because
 * syncline could not clear these slots later. */
static void more_copies_than_are_kept_are_refused(void)
{
    enum {
        SURE = 1000,
        COPIES = 20000
    };
    struct copy *copy = calloc(COPIES, sizeof(*copy));
    unsigned refused = 0;

    CHECK(copy);
    for (unsigned i = 0; i < COPIES; i++) {
        make_copy(&copy[i], NVTX_CBID_CORE_SIZE);
        refused += !sl_nvtx_attach(export_table);
    }
    CHECK(refused > 0 && refused < COPIES - SURE);
    CHECK(set_slots(&copy[0]) && set_slots(&copy[SURE - 1]) && !set_slots(&copy[COPIES - 1]));
    CHECK(sl_nvtx_copies() == COPIES - refused);
    sl_nvtx_detach();
    for (unsigned i = 0; i < COPIES; i++)
        CHECK(set_slots(&copy[i]) == 0);
    free(copy);
}

/* ---- the payload extension ---- */

static void the_payload_extension_has_slots_of_its_own(void)
{
    static intptr_t slots[NVTX3EXT_CBID_nvtxEventBatchSubmit + 1], few[3], other[8];
    nvtxExtModuleSegment_t segment = {.slotCount = sizeof(slots) / sizeof(*slots),
                                      .functionSlots = slots};
    nvtxExtModuleInfo_t module = {.nvtxVer = NVTX_VERSION,
                                  .structSize = sizeof(module),
                                  .moduleId = NVTX_EXT_PAYLOAD_MODULEID,
                                  .segmentsCount = 1,
                                  .segments = &segment};

    CHECK(sl_nvtx_attach_extension(NULL) == 0);
    module.structSize--;
    CHECK(sl_nvtx_attach_extension(&module) == 0);
    module.structSize++;
    module.segmentsCount = 0;
    CHECK(sl_nvtx_attach_extension(&module) == 0);
    module.segmentsCount = 1;
    CHECK(sl_nvtx_attach_extension(&module) == 1);
    CHECK(slots[NVTX3EXT_CBID_nvtxRangePushPayload] && slots[NVTX3EXT_CBID_nvtxEventBatchSubmit]);
    segment = (nvtxExtModuleSegment_t){.slotCount = 3, .functionSlots = few};
    CHECK(sl_nvtx_attach_extension(&module) == 1); /* an older version */
    CHECK(few[NVTX3EXT_CBID_nvtxMarkPayload]);
    module.moduleId = NVTX_EXT_PAYLOAD_MODULEID + 1; /* another extension */
    segment.functionSlots = other;
    CHECK(sl_nvtx_attach_extension(&module) == 0 && !other[0]);
    sl_nvtx_detach();
    CHECK(slots[NVTX3EXT_CBID_nvtxRangePushPayload] == 1); /* NVTX's value for "no tool" */
    CHECK(few[NVTX3EXT_CBID_nvtxMarkPayload] == 1);
    CHECK(sl_nvtx_attach_extension(&module) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD(a_copy_s_slots_are_set_as_far_as_it_has_them),
        CHILD(a_copy_that_cannot_be_used_is_refused),
        CHILD(what_is_still_ours_is_cleared),
        CHILD(more_copies_than_are_kept_are_refused),
        CHILD(the_payload_extension_has_slots_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
