/*
 * fuzz.h - what a fuzzer defines. libFuzzer calls it, or replay.c where there is no libFuzzer.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* One input. A crash, a sanitizer's report or abort() is a finding. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A well-formed input for `seed`, to be damaged by replay.c; returns its size, at most `cap`. */
size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap);

#endif
