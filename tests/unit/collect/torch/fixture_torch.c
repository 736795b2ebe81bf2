/* Replaces libtorch_cpu.so. syncline finds this library by its name and by the folder of its
 * package. */
#ifdef OLD_ABI
/* c10::Error::Error(c10::SourceLocation, std::string) with the ABI from before C++11. */
void _ZN3c105ErrorC1ENS_14SourceLocationESs(void);

void _ZN3c105ErrorC1ENS_14SourceLocationESs(void)
{
}
#endif

void sl_fixture_torch(void);

void sl_fixture_torch(void)
{
}
