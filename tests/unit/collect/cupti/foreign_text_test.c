/* foreign_text_test.c - reads texts from addresses that CUPTI or the program gave: texts with and
 * without a NUL, and invalid addresses. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/cupti/foreign_text.h"

#define PAGE 4096

/* Maps two pages. The second one cannot be read. */
static char *map_border(void)
{
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(mprotect(page + PAGE, PAGE, PROT_NONE), 0);
    memset(page, 'a', PAGE);
    return page;
}

static void up_to_the_border_of_memory(void **state)
{
    char *page = map_border();
    size_t length = 99;

    assert_int_equal(sl_foreign_text_measure(page + PAGE - 5, sl_foreign_text_can_read, &length),
                     -EFAULT);
    assert_int_equal(length, 99);
    page[PAGE - 1] = '\0';
    assert_int_equal(sl_foreign_text_measure(page + PAGE - 5, sl_foreign_text_can_read, &length),
                     0);
    assert_int_equal(length, 4);
    assert_int_equal(sl_foreign_text_measure(page + PAGE - 1, sl_foreign_text_can_read, &length),
                     0);
    assert_int_equal(length, 0);
    assert_int_equal(sl_foreign_text_measure(page + PAGE, sl_foreign_text_can_read, &length),
                     -EFAULT);
    assert_int_equal(sl_foreign_text_measure((const char *)8, sl_foreign_text_can_read, &length),
                     -EFAULT);
    munmap(page, 2 * PAGE);
}

static void longer_than_any_name(void **state)
{
    size_t size = 1 << 17, length;
    char *text = malloc(size);

    memset(text, 'a', size);
    text[65535] = '\0';
    assert_int_equal(sl_foreign_text_measure(text, sl_foreign_text_can_read, &length), 0);
    assert_int_equal(length, 65535);
    text[65535] = 'a';
    assert_int_equal(sl_foreign_text_measure(text, sl_foreign_text_can_read, &length), -EMSGSIZE);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_the_border_of_memory),
        cmocka_unit_test(longer_than_any_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
