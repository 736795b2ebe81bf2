/*
 * fuzz.h - the functions that a fuzzer defines. libFuzzer calls them; without libFuzzer, replay.c
 * does.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input. A crash, a sanitizer report or abort() is a finding. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes a well-formed input for `seed`, which replay.c damages. Returns its size, at most
 * `cap`. */
size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap);

#endif
