/* fixture_cupti.c - a library with libcupti's soname, for cupti_find_test.c to find. */
__attribute__((visibility("default"))) int cuptiFixture(void);

int cuptiFixture(void)
{
    return 42;
}
