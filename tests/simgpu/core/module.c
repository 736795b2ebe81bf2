/*
 * module.c - modules from PTX text: the kernels (.entry) with their parameters, static shared
 * memory, and the global variables. Other images (cubin, fatbin) are not read. When a program looks
 * up a kernel's name in a module of this kind, the simulator creates the kernel.
 *
 * Any thread. After unloading, a module and its kernels stay in memory, but lose their magic
 * numbers.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/sim.h"

enum {
    MAGIC = 0x30d01e01,
    LOAD_NS = 60000 /* a launch on a real GPU took 46 to 132 us to load its module */
};

struct scan {
    const char *at;
};

static void skip_space(struct scan *s)
{
    for (;;) {
        while (isspace((unsigned char)*s->at)) {
            s->at++;
        }
        if (s->at[0] == '/' && s->at[1] == '/') {
            s->at += strcspn(s->at, "\n");
        } else if (s->at[0] == '/' && s->at[1] == '*') {
            const char *end = strstr(s->at + 2, "*/");

            s->at = end ? end + 2 : s->at + strlen(s->at);
        } else {
            return;
        }
    }
}

/* Returns the next word (letters, digits, . _ $ %) or single character; empty at the end. */
static size_t next_token(struct scan *s, const char **text)
{
    skip_space(s);
    const char *start = s->at;

    while (isalnum((unsigned char)*s->at) || (*s->at && strchr("._$%", *s->at))) {
        s->at++;
    }
    if (s->at == start && *s->at) {
        s->at++;
    }
    *text = start;
    return (size_t)(s->at - start);
}

static bool is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Returns the bytes of a scalar type (.u64, .b8, .f32, ...), or 0 if the word is not a scalar
 * type. */
static uint32_t type_size(const char *text, size_t length)
{
    if (length < 3 || text[0] != '.' || !strchr("usbf", text[1])) {
        return 0;
    }
    switch (atoi(text + 2)) {
    case 8:
        return 1;
    case 16:
        return 2;
    case 32:
        return 4;
    case 64:
        return 8;
    default:
        return 0;
    }
}

/* The declaration that follows `.param`, `.shared` or `.global`: [.align N] TYPE NAME [ '[' COUNT
 * ']' ]. */
struct variable {
    uint32_t align, size;
    const char *name;
    size_t name_length, bytes;
};

static void read_variable(struct scan *s, struct variable *v)
{
    const char *text;
    size_t length;

    *v = (struct variable){.align = 1};
    while ((length = next_token(s, &text)) && *text == '.') {
        uint32_t size = type_size(text, length);

        if (is(text, length, ".align") && next_token(s, &text)) {
            v->align = (uint32_t)atoi(text);
        } else if (size) {
            v->size = size;
        }
    }
    v->name = text;
    v->name_length = length;
    v->bytes = v->size;
    skip_space(s);
    if (*s->at == '[') {
        s->at++;
        v->bytes *= strtoul(s->at, NULL, 0);
    }
    if (v->align < v->size) {
        v->align = v->size;
    }
}

static bool add_parameter(struct sim_kernel *kernel, const struct variable *v)
{
    uint32_t n = kernel->parameters;
    uint32_t *offsets = realloc(kernel->offsets, (n + 1) * sizeof *offsets);

    if (!offsets) {
        return false;
    }
    kernel->offsets = offsets;
    uint32_t *sizes = realloc(kernel->sizes, (n + 1) * sizeof *sizes);

    if (!sizes) {
        return false;
    }
    kernel->sizes = sizes;
    uint32_t end = n ? offsets[n - 1] + sizes[n - 1] : 0;

    offsets[n] = (end + v->align - 1) / v->align * v->align;
    sizes[n] = (uint32_t)v->bytes;
    kernel->parameters = n + 1;
    return true;
}

static void read_entry(struct scan *s, struct sim_module *module)
{
    const char *text;
    size_t length = next_token(s, &text);
    struct sim_kernel *kernel = sim_kernel_new(text, length);
    struct variable v;

    if (!kernel) {
        return;
    }
    while ((length = next_token(s, &text)) && *text != '{' && *text != ';') {
        if (!is(text, length, ".param")) {
            continue;
        }
        read_variable(s, &v);
        if (!add_parameter(kernel, &v)) {
            break;
        }
        if (kernel->parameters == 1 && (v.size == 4 || v.size == 8) &&
            (kernel->spin_index == 0 || memmem(v.name, v.name_length, "spin_ns", 7))) {
            kernel->spin_index = 0;
            kernel->spin_size = v.size;
        }
    }
    /* For a kernel that is known only by its name, the parameters are unknown and cannot be
     * read. */
    if (!kernel->parameters) {
        kernel->spin_index = -1;
    }
    kernel->module = module;
    kernel->next = module->kernels;
    module->kernels = kernel;
    module->kernel_count++;
}

static void add_symbol(struct sim_module *module, const struct variable *v)
{
    struct sim_symbol *symbol = calloc(1, sizeof *symbol);

    if (!symbol || !v->name_length || !(symbol->address = calloc(1, v->bytes + 1))) {
        free(symbol);
        return;
    }
    symbol->name = sim_intern(v->name, v->name_length);
    symbol->size = v->bytes;
    symbol->next = module->symbols;
    module->symbols = symbol;
}

static void read_ptx(struct sim_module *module, const char *ptx)
{
    struct scan s = {ptx};
    const char *text;
    size_t length;
    int depth = 0;

    while ((length = next_token(&s, &text))) {
        struct variable v;

        if (*text == '{' || *text == '}') {
            depth += *text == '{' ? 1 : -1;
        } else if (is(text, length, ".entry")) {
            read_entry(&s, module);
            depth = 1;
        } else if (is(text, length, ".shared") && depth > 0 && module->kernels) {
            read_variable(&s, &v);
            module->kernels->static_shared += (uint32_t)v.bytes;
        } else if (is(text, length, ".global") && depth == 0) {
            read_variable(&s, &v);
            add_symbol(module, &v);
        }
    }
}

static bool looks_like_ptx(const char *image)
{
    struct scan s = {image};

    skip_space(&s);
    return strncmp(s.at, ".version", 8) == 0;
}

int sim_module_load(const void *image, struct sim_module **out)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'}, fatbin[] = {0x50, 0xed, 0x55, 0xba},
                               wrapper[] = {0xb1, 0x43, 0x62, 0x46};

    if (!image) {
        return SIM_E_VALUE;
    }
    bool binary = memcmp(image, elf, 4) == 0 || memcmp(image, fatbin, 4) == 0 ||
                  memcmp(image, wrapper, 4) == 0;

    if (!binary && !looks_like_ptx(image)) {
        return SIM_E_IMAGE;
    }
    struct sim_module *module = sim_keep(sizeof *module);

    if (!module) {
        return SIM_E_MEMORY;
    }
    module->magic = MAGIC;
    module->binary = binary;
    if (!binary) {
        read_ptx(module, image);
    }
    *out = module;
    return SIM_OK;
}

/* --module-load: the first launch of a module's kernels in each context waits for the context's
 * work, and then loads the module. A kernel that belongs to no module is a module of its own. */
void sim_module_use(struct sim_stream *stream, struct sim_kernel *kernel)
{
    struct sim_context *context = stream->context;
    uint64_t *used = kernel->module ? &kernel->module->used : &kernel->used;
    uint64_t start, bit = 1ull << (context->id % 64);
    bool loads;

    if (!sim_option("MODULE_LOAD")) {
        return;
    }
    sim_lock();
    loads = !(*used & bit) && !stream->capture;
    *used |= loads ? bit : 0;
    sim_unlock();
    if (!loads) {
        return;
    }
    start = sim_now_ns();
    sim_context_wait_all(context, "module_load");
    sim_clock_sleep_until(sim_now_ns() + sim_clock_scaled(LOAD_NS));
    sim_tell_overhead(SIM_OVERHEAD_MODULE_LOAD, start);
}

bool sim_module_valid(const struct sim_module *module)
{
    return module && module->magic == MAGIC;
}

int sim_module_unload(struct sim_module *module)
{
    struct sim_context *context;

    if (!sim_module_valid(module)) {
        return SIM_E_HANDLE;
    }
    int error = sim_context_current(&context);

    if (error) {
        return error;
    }
    error = sim_context_wait_all(context, "implicit");
    module->magic = 0;
    for (struct sim_kernel *kernel = module->kernels; kernel; kernel = kernel->next) {
        kernel->magic = 0;
    }
    return error;
}

struct sim_kernel *sim_module_kernel(struct sim_module *module, const char *name)
{
    struct sim_kernel *kernel;

    sim_lock();
    for (kernel = module->kernels; kernel && strcmp(kernel->name, name) != 0;) {
        kernel = kernel->next;
    }
    if (!kernel && module->binary && (kernel = sim_kernel_new(name, strlen(name)))) {
        kernel->module = module;
        kernel->next = module->kernels;
        module->kernels = kernel;
        module->kernel_count++;
    }
    sim_unlock();
    return kernel;
}

struct sim_symbol *sim_module_symbol(struct sim_module *module, const char *name)
{
    for (struct sim_symbol *symbol = module->symbols; symbol; symbol = symbol->next) {
        if (strcmp(symbol->name, name) == 0) {
            return symbol;
        }
    }
    return NULL;
}
