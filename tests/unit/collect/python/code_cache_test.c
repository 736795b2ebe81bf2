/* code_cache_test.c - the cache of source lines by code object and instruction. A cached place is
 * found again. Other code never gets the line of a cached place, neither later code at the same
 * address nor code that did not fit into the cache. */
#include <pthread.h>

#include "collect/python/code_cache.h"
#include "collect/python/memory.h"
#include "unit/collect/python/objects.h"

#define LIBRARY "/usr/lib/python3/site-packages/torch/nn/modules/module.py"

static struct sl_python_code_cache seen;

static int anew(void **state)
{
    static int is_loaded;

    if (!is_loaded)
        load_python();
    is_loaded = 1;
    are_hashed = 1;
    objects_of_python(11);
    memset(&seen, 0, sizeof(seen));
    return 0;
}

static struct sl_python_place place_in(const void *code, unsigned instruction)
{
    const void *table = part(code, layout.code_table);

    return (struct sl_python_place){.code = code,
                                    .file = part(code, layout.code_file),
                                    .name = part(code, layout.code_name),
                                    .table = table,
                                    .table_bytes = sl_python_word_at(table, SL_PYTHON_BYTES_LENGTH),
                                    .offset = 2 * (uint64_t)instruction,
                                    .first_line = sl_python_int_at(code, layout.code_line)};
}

static void put(const void *code, unsigned instruction, uint32_t line)
{
    struct sl_python_place place = place_in(code, instruction);

    sl_python_code_cache_put(&seen, &layout, &place, line);
}

static void put_library(const void *code)
{
    struct sl_python_place place = place_in(code, 0);

    sl_python_code_cache_put_library(&seen, &layout, &place);
}

static uint32_t line_of(const void *frame)
{
    return sl_python_code_cache_find(&seen, &layout, frame);
}

/* Returns the line id of a new frame that has no caller. */
static uint32_t line_at(const void *code, unsigned instruction)
{
    void *frame = new_frame(code, NULL, instruction);
    uint32_t line = line_of(frame);

    free(frame);
    return line;
}

/* ---- places that the cache contains ---- */

static void a_place_is_known_again(void **state)
{
    for (unsigned minor = 9; minor <= 15; minor++) {
        void *code, *other;

        anew(NULL);
        objects_of_python(minor);
        code = new_code("/home/me/train.py", "train", 10);
        other = new_code("/home/me/train.py", "train", 10);
        assert_int_equal(line_of(NULL), 0);
        assert_int_equal(line_at(code, 1), 0);
        put(code, 1, 71);
        put(code, 2, 72);
        assert_int_equal(line_at(code, 1), 71);
        assert_int_equal(line_at(code, 2), 72);
        assert_int_equal(line_at(code, 0), 0);
        assert_int_equal(line_at(code, 3), 0);
        assert_int_equal(line_at(other, 1), 0); /* an equal code object at another address */
        put(code, 1, 73);
        assert_int_equal(line_at(code, 1), 73);
        free_code(code);
        free_code(other);
    }
}

static void frames_of_libraries_and_of_no_code_lie_on_the_way(void **state)
{
    void *mine, *torch, *other, *frame[5];

    objects_of_python(12);
    mine = new_code("/home/me/model.py", "forward", 10);
    torch = new_code(LIBRARY, "_call_impl", 5);
    other = new_code(LIBRARY, "_wrapped", 50);
    frame[0] = new_frame(mine, NULL, 1);
    frame[1] = new_frame(torch, frame[0], 1);
    frame[2] = new_frame(NULL, frame[1], 0);
    frame[3] = new_frame(torch, frame[2], 2);
    frame[4] = new_frame(other, frame[0], 1);
    put(mine, 1, 7);
    assert_int_equal(line_of(frame[0]), 7);
    /* it is not known yet whether the code belongs to a library */
    assert_int_equal(line_of(frame[1]), 0);
    put_library(torch);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(line_of(frame[i]), 7);
    assert_int_equal(line_of(frame[4]), 0);
    put_library(other); /* `other` may replace the cache entry of `torch` */
    assert_int_equal(line_of(frame[4]), 7);
    put_pointer(frame[4], layout.frame_back, NULL); /* this stack has only library code */
    assert_int_equal(line_of(frame[4]), 0);
    for (unsigned i = 0; i < 5; i++)
        free(frame[i]);
    free_code(mine);
    free_code(torch);
    free_code(other);
}

/* ---- memory that is reused ---- */

/* A part of the code object is replaced by the same part of another code object. The cache does not
 * recognize the code until the original part is restored. */
static void assert_part_counts(void *code, size_t at, void *others)
{
    void *own = part(code, at);

    put_pointer(code, at, others);
    assert_int_equal(line_at(code, 1), 0);
    put_pointer(code, at, own);
    assert_int_equal(line_at(code, 1), 7);
    free(others);
}

/* Removes the type of the object, so that the object is neither bytes nor a str. Returns the
 * object. */
static void *of_no_type(void *object)
{
    put_pointer(object, SL_PYTHON_TYPE, NULL);
    return object;
}

/* Returns a line table that begins like the table of new_code(), but is longer. */
static void *longer_table(void)
{
    char data[16] = "";
    void *table = new_table(3), *longer;
    size_t length = sl_python_word_at(table, SL_PYTHON_BYTES_LENGTH);

    memcpy(data, (char *)table + SL_PYTHON_BYTES_DATA, length);
    longer = new_bytes(data, length + 2);
    free(table);
    return longer;
}

static void another_code_object_at_the_same_address(void **state)
{
    static const unsigned minors[] = {9, 10, 11, 12, 14};
    static const uint8_t zeros[16];

    for (unsigned i = 0; i < sizeof(minors) / sizeof(*minors); i++) {
        size_t length;
        void *code;

        anew(NULL);
        objects_of_python(minors[i]);
        code = new_code("/home/me/cell.py", "one", 10);
        length = sl_python_word_at(part(code, layout.code_table), SL_PYTHON_BYTES_LENGTH);
        put(code, 1, 7);
        assert_part_counts(code, layout.code_name, new_str("two"));
        assert_part_counts(code, layout.code_file, new_str("/home/me/other.py"));
        assert_part_counts(code, layout.code_table, new_table(4));
        assert_part_counts(code, layout.code_table, new_bytes(zeros, length));
        assert_part_counts(code, layout.code_table, longer_table());
        assert_part_counts(code, layout.code_table, of_no_type(new_table(3)));
        assert_part_counts(code, layout.code_name, of_no_type(new_str("one")));
        assert_part_counts(code, layout.code_name, NULL);
        put_int(code, layout.code_line, 11);
        assert_int_equal(line_at(code, 1), 0);
        free_code(code);
    }
}

/* New code is at the address of freed code. The places of the freed code are forgotten. */
static void the_later_one_takes_the_place_of_the_former(void **state)
{
    void *code = new_code("/home/me/cell.py", "one", 10), *name = part(code, layout.code_name);

    put(code, 1, 7);
    put(code, 2, 8);
    put_pointer(code, layout.code_name, new_str("two"));
    put(code, 2, 9);
    assert_int_equal(line_at(code, 2), 9);
    assert_int_equal(line_at(code, 1), 0);
    free(name);
    free_code(code);
}

/* User code is at the address of a library's freed code. Library code is skipped, but this user
 * code is not. */
static void code_at_the_address_of_a_library_s(void **state)
{
    void *mine = new_code("/home/me/model.py", "forward", 10), *torch = new_code(LIBRARY, "f", 5);
    void *outer = new_frame(mine, NULL, 1), *inner = new_frame(torch, outer, 1);
    void *file = part(torch, layout.code_file);

    put(mine, 1, 7);
    put_library(torch);
    assert_int_equal(line_of(inner), 7);
    put_pointer(torch, layout.code_file, new_str("/home/me/train.py"));
    assert_int_equal(line_of(inner), 0);
    put(torch, 1, 8);
    assert_int_equal(line_of(inner), 8);
    free(file);
    free(outer);
    free(inner);
    free_code(mine);
    free_code(torch);
}

/* From Python 3.12 on, a code object may have a unique number. In this case the cache compares the
 * number instead of the line table. */
static void a_number_of_its_own_stands_for_the_table(void **state)
{
    static const uint8_t longer[SL_PYTHON_CODE_CACHE_TABLE + 2];
    void *code;

    objects_of_python(12);
    code = new_code("/home/me/number.py", "f", 10);
    free(part(code, layout.code_table));
    put_pointer(code, layout.code_table, new_bytes(longer, sizeof(longer)));
    put_int(code, layout.code_version, 1);
    put(code, 1, 7);
    assert_int_equal(line_at(code, 1), 7);
    put_int(code, layout.code_version, 2);
    assert_int_equal(line_at(code, 1), 0);
    put_int(code, layout.code_version, 0);
    assert_int_equal(line_at(code, 1), 0);
    free_code(code);
}

/* ---- code that is not cached ---- */

/* Names that were never keys of a dict have no hash. Such names cannot be compared cheaply, so code
 * that contains them is not cached. */
static void without_hashes_nothing_is_kept(void **state)
{
    static const char *const text[] = {"/home/me/model.py", "forward"};
    void *mine, *torch, *plain, *outer, *inner;
    size_t at[2];

    at[0] = layout.code_file;
    at[1] = layout.code_name;
    for (unsigned i = 0; i < 2; i++) {
        mine = new_code(text[0], text[1], 10);
        free(part(mine, at[i]));
        are_hashed = 0;
        plain = new_str(text[i]);
        are_hashed = 1;
        put_pointer(mine, at[i], plain);
        put(mine, 1, 7);
        assert_int_equal(line_at(mine, 1), 0);
        free_code(mine);
    }
    mine = new_code(text[0], text[1], 10);
    are_hashed = 0;
    torch = new_code(LIBRARY, "f", 5);
    outer = new_frame(mine, NULL, 1);
    inner = new_frame(torch, outer, 1);
    put(mine, 1, 7);
    put_library(torch);
    assert_int_equal(line_of(outer), 7);
    assert_int_equal(line_of(inner), 0);
    free(outer);
    free(inner);
    free_code(mine);
    free_code(torch);
}

static void a_table_is_kept_up_to_its_bound(void **state)
{
    static uint8_t data[SL_PYTHON_CODE_CACHE_TABLE + 1];

    for (size_t length = SL_PYTHON_CODE_CACHE_TABLE - 1; length <= SL_PYTHON_CODE_CACHE_TABLE + 1;
         length++) {
        void *code = new_code("/home/me/long.py", "f", 10);

        free(part(code, layout.code_table));
        put_pointer(code, layout.code_table, new_bytes(data, length));
        put(code, 1, 7);
        if (length <= SL_PYTHON_CODE_CACHE_TABLE) {
            assert_int_equal(line_at(code, 1), 7);
            data[length - 1] = 1; /* the last byte is compared, too */
            assert_part_counts(code, layout.code_table, new_bytes(data, length));
            data[length - 1] = 0;
        } else {
            assert_int_equal(line_at(code, 1), 0);
        }
        free_code(code);
    }
}

/* The cache stores instruction offsets with 32 bits. A larger offset is not cached, and is not
 * mistaken for an offset with the same lower 32 bits. */
static void an_offset_past_32_bits_is_not_kept(void **state)
{
    void *code = new_code("/home/me/model.py", "f", 10), *frame = new_frame(code, NULL, 0);
    struct sl_python_place place = place_in(code, 1);

    put(code, 1, 7);
    place.offset += 1ull << 32;
    sl_python_code_cache_put(&seen, &layout, &place, 8);
    assert_int_equal(line_at(code, 1), 7);
    put_word(frame, layout.frame_at, (uintptr_t)code + layout.code_start + place.offset);
    assert_int_equal(line_of(frame), 0);
    free(frame);
    free_code(code);
}

/* ---- limits of size ---- */

/* The cache holds as many places of a code object as possible. One more place replaces a cached
 * place. */
static void places_of_one_code_object(void **state)
{
    void *code = new_code("/home/me/model.py", "f", 10);

    for (unsigned i = 0; i < SL_PYTHON_CODE_CACHE_LINES; i++)
        put(code, i, 100 + i);
    for (unsigned i = 0; i < SL_PYTHON_CODE_CACHE_LINES; i++)
        assert_int_equal(line_at(code, i), 100 + i);
    put(code, SL_PYTHON_CODE_CACHE_LINES, 200);
    assert_int_equal(line_at(code, SL_PYTHON_CODE_CACHE_LINES), 200);
    assert_int_equal(line_at(code, 0), 0);
    for (unsigned i = 1; i < SL_PYTHON_CODE_CACHE_LINES; i++)
        assert_int_equal(line_at(code, i), 100 + i);
    free_code(code);
}

/* More code objects are used than fit into the cache. The last code object is found in the cache.
 * No code object gets the line of another one. */
static void more_code_objects_than_there_is_room_for(void **state)
{
    enum {
        CODES = 8 * SL_PYTHON_CODE_CACHE_CODES
    };
    void *code[CODES];
    unsigned known = 0;

    for (unsigned i = 0; i < CODES; i++) {
        code[i] = new_code("/home/me/model.py", "f", 10);
        put(code[i], 1, 100 + i);
        assert_int_equal(line_at(code[i], 1), 100 + i);
    }
    for (unsigned i = 0; i < CODES; i++) {
        uint32_t line = line_at(code[i], 1);

        if (line)
            assert_int_equal(line, 100 + i);
        known += line != 0;
        free_code(code[i]);
    }
    assert_in_range(known, SL_PYTHON_CODE_CACHE_CODES / 2, SL_PYTHON_CODE_CACHE_CODES);
}

static void more_libraries_than_there_is_room_for(void **state)
{
    enum {
        CODES = 4 * SL_PYTHON_CODE_CACHE_LIBRARY
    };
    void *mine = new_code("/home/me/model.py", "f", 10), *outer = new_frame(mine, NULL, 1);
    void *code[CODES];
    unsigned known = 0;

    put(mine, 1, 7);
    for (unsigned i = 0; i < CODES; i++) {
        code[i] = new_code(LIBRARY, "f", 10);
        put_library(code[i]);
    }
    for (unsigned i = 0; i < CODES; i++) {
        void *inner = new_frame(code[i], outer, 1);

        known += line_of(inner) == 7;
        free(inner);
        free_code(code[i]);
    }
    assert_in_range(known, SL_PYTHON_CODE_CACHE_LIBRARY / 2, SL_PYTHON_CODE_CACHE_LIBRARY);
    free(outer);
    free_code(mine);
}

/* The search stops after the same number of frames with and without the cache. */
static void a_stack_is_looked_at_to_its_bound(void **state)
{
    void *mine = new_code("/home/me/model.py", "f", 10), *torch = new_code(LIBRARY, "f", 5);
    void *frame[SL_PYTHON_WALK_MAX + 1];

    put(mine, 1, 7);
    put_library(torch);
    frame[0] = new_frame(mine, NULL, 1);
    for (unsigned i = 1; i <= SL_PYTHON_WALK_MAX; i++)
        frame[i] = new_frame(torch, frame[i - 1], 1);
    assert_int_equal(line_of(frame[SL_PYTHON_WALK_MAX - 1]), 7);
    assert_int_equal(line_of(frame[SL_PYTHON_WALK_MAX]), 0);
    put_pointer(frame[1], layout.frame_back, frame[2]); /* a cycle of frames has no end */
    assert_int_equal(line_of(frame[2]), 0);
    for (unsigned i = 0; i <= SL_PYTHON_WALK_MAX; i++)
        free(frame[i]);
    free_code(mine);
    free_code(torch);
}

/* ---- threads ---- */

enum {
    THREADS = 4,
    ROUNDS = 20000
};

struct thread {
    pthread_t id;
    struct sl_python_code_cache seen;
    const void *code, *frame;
    uint32_t line;
    unsigned wrong;
};

static void *run_code(void *self)
{
    struct thread *t = self;
    struct sl_python_place place = place_in(t->code, 1);

    t->wrong += sl_python_code_cache_find(&t->seen, &layout, t->frame) != 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        sl_python_code_cache_put(&t->seen, &layout, &place, t->line + i);
        t->wrong += sl_python_code_cache_find(&t->seen, &layout, t->frame) != t->line + i;
    }
    return NULL;
}

/* Several threads run the same code at the same time. Each thread has its own cache. */
static void what_one_thread_has_seen_another_has_not(void **state)
{
    static struct thread thread[THREADS];
    void *code = new_code("/home/me/model.py", "f", 10), *frame = new_frame(code, NULL, 1);

    for (unsigned i = 0; i < THREADS; i++) {
        thread[i].code = code;
        thread[i].frame = frame;
        thread[i].line = 1 + i * ROUNDS;
        assert_int_equal(pthread_create(&thread[i].id, NULL, run_code, &thread[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i].id, NULL), 0);
        assert_int_equal(thread[i].wrong, 0);
    }
    free(frame);
    free_code(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_place_is_known_again, anew),
        cmocka_unit_test_setup(frames_of_libraries_and_of_no_code_lie_on_the_way, anew),
        cmocka_unit_test_setup(another_code_object_at_the_same_address, anew),
        cmocka_unit_test_setup(the_later_one_takes_the_place_of_the_former, anew),
        cmocka_unit_test_setup(code_at_the_address_of_a_library_s, anew),
        cmocka_unit_test_setup(a_number_of_its_own_stands_for_the_table, anew),
        cmocka_unit_test_setup(without_hashes_nothing_is_kept, anew),
        cmocka_unit_test_setup(a_table_is_kept_up_to_its_bound, anew),
        cmocka_unit_test_setup(an_offset_past_32_bits_is_not_kept, anew),
        cmocka_unit_test_setup(places_of_one_code_object, anew),
        cmocka_unit_test_setup(more_code_objects_than_there_is_room_for, anew),
        cmocka_unit_test_setup(more_libraries_than_there_is_room_for, anew),
        cmocka_unit_test_setup(a_stack_is_looked_at_to_its_bound, anew),
        cmocka_unit_test_setup(what_one_thread_has_seen_another_has_not, anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
