/*
 * request_fuzz.c - reads any bytes as a request to `syncline open`.
 *
 * A request that is answered with the file must begin with its method and name, and must not name
 * another Host. The input is copied to a block of its exact size, so that a sanitizer sees a read
 * past its end. With libFuzzer: build/fuzz/tests/fuzz/request_fuzz /tmp/found
 *
 * Threads: one. Memory: the input.
 */
#undef NDEBUG /* assertions are needed in release builds, too, because they are the test */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "open/request.h"

#define NAME "1.pt.trace.json.gz"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const lines[] = {[SL_OPEN_GET] = "GET /" NAME " HTTP/1.",
                                        [SL_OPEN_HEAD] = "HEAD /" NAME " HTTP/1.",
                                        [SL_OPEN_OPTIONS] = "OPTIONS /" NAME " HTTP/1."};
    char *text = malloc(size + 1), *exact = malloc(size ? size : 1);
    struct sl_open_request request;

    assert(text && exact);
    memcpy(text, data, size);
    text[size] = '\0';
    memcpy(exact, data, size);
    request = sl_open_request_parse(exact, size, NAME);
    if (request.method >= SL_OPEN_GET && request.method <= SL_OPEN_OPTIONS) {
        assert(strncmp(text, lines[request.method], strlen(lines[request.method])) == 0);
        assert(!strstr(text, "\r\nHost: example.org\r\n"));
    } else if (request.method == SL_OPEN_UNFINISHED) {
        assert(!strstr(text, "\r\n\r\n"));
    }
    free(exact);
    free(text);
    return 0;
}

size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST"};
    static const char *const hosts[] = {"127.0.0.1:9001", "localhost", "example.org", "[::1]:1"};
    int size =
        snprintf((char *)data, cap, "%s /%s HTTP/1.%u\r\nHost: %s\r\nAccept: text\r\n\r\n",
                 methods[seed % 4], seed % 5 ? NAME : "other", seed % 2, hosts[seed / 4 % 4]);

    return size < 0 ? 0 : (size_t)size < cap ? (size_t)size : cap;
}
