/* fixture_cupti.c - a library with libcupti's soname, which find_test.c must find. */
__attribute__((visibility("default"))) int cuptiFixture(void);

int cuptiFixture(void)
{
    return 42;
}
