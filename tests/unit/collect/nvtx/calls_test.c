/* calls_test.c - syncline's implementations of the NVTX functions. Tests call them as a program
 * does, through the function pointers (slots) of NVTX. Texts have any kind and length, structs have
 * other versions, handles are invalid. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtSync.h>

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <wchar.h>

#include "event/event.h"
#include "unit/collect/nvtx/records.h"
#include "unit/collect/nvtx/slot.h"

static int init(void **state)
{
    return sl_nvtx_init(8 << 20);
}

/* ---- texts ---- */

static void a_text_may_be_anything(void **state)
{
    static wchar_t wide[2 * SL_LANE_TEXT_MAX + 1];
    static char text[2 * SL_LANE_TEXT_MAX + 1];
    const wchar_t odd[] = {L'a', (wchar_t)0xd800, (wchar_t)-1, 0x20ac, 0};
    /* Memory of the exact length, so that the address sanitizer notices a read past the end. */
    wchar_t *ends = malloc(3 * sizeof(*ends));

    CALL(CORE, MarkA, void, const char *)(NULL);
    assert_int_equal(only(SL_LANE_MARK)->record.parts, 0);
    CALL(CORE, MarkW, void, const wchar_t *)(NULL);
    assert_int_equal(only(SL_LANE_MARK)->record.parts, 0);
    CALL(CORE, MarkA, void, const char *)("");
    assert_string_equal(only(SL_LANE_MARK)->text, "");
    CALL(CORE, MarkW, void, const wchar_t *)(odd);
    assert_string_equal(only(SL_LANE_MARK)->text, "a\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac");
    memcpy(ends, L"ab", 3 * sizeof(*ends));
    CALL(CORE, MarkW, void, const wchar_t *)(ends);
    assert_string_equal(only(SL_LANE_MARK)->text, "ab");
    free(ends);
    memset(text, 'x', sizeof(text) - 1);
    CALL(CORE, MarkA, void, const char *)(text);
    assert_int_equal(strlen(only(SL_LANE_MARK)->text), SL_LANE_TEXT_MAX);
    /* Each character has three bytes. The text ends with the last complete character that fits. */
    wmemset(wide, 0x20ac, 2 * SL_LANE_TEXT_MAX);
    CALL(CORE, MarkW, void, const wchar_t *)(wide);
    assert_int_equal(strlen(only(SL_LANE_MARK)->text), SL_LANE_TEXT_MAX / 3 * 3);
}

/* ---- events ---- */

static void mark(const nvtxEventAttributes_t *a)
{
    CALL(CORE2, DomainMarkEx, void, nvtxDomainHandle_t, const nvtxEventAttributes_t *)(NULL, a);
}

static nvtxEventAttributes_t full(void)
{
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = sizeof(a),
                               .category = 7,
                               .colorType = NVTX_COLOR_ARGB,
                               .color = 0xff00aa11,
                               .payloadType = NVTX_PAYLOAD_TYPE_INT32,
                               .messageType = NVTX_MESSAGE_TYPE_ASCII};

    a.payload.iValue = -1;
    a.message.ascii = "message";
    return a;
}

/* The struct of an older NVTX version is shorter, and its memory ends there. The missing members
 * are not read. */
static void an_event_of_an_older_version(void **state)
{
    nvtxEventAttributes_t whole = full(), *cut;
    const struct said *s;

    for (uint16_t size = 8; size <= sizeof(whole); size += 8) {
        cut = malloc(size);
        whole.size = size;
        memcpy(cut, &whole, size);
        mark(cut);
        s = only(SL_LANE_MARK);
        assert_int_equal(s->category, size >= offsetof(nvtxEventAttributes_t, colorType) ? 7 : 0);
        assert_int_equal(s->color,
                         size >= offsetof(nvtxEventAttributes_t, payloadType) ? 0xff00aa11 : 0);
        assert_int_equal(s->value,
                         size >= offsetof(nvtxEventAttributes_t, messageType) ? UINT64_MAX : 0);
        assert_string_equal(s->text, size == sizeof(whole) ? "message" : "");
        free(cut);
    }
    whole.size = 0xffff; /* a longer version */
    mark(&whole);
    assert_string_equal(only(SL_LANE_MARK)->text, "message");
}

static void events_that_say_what_is_not_known(void **state)
{
    nvtxEventAttributes_t a = full();
    const struct said *s;

    a.messageType = 77;
    a.colorType = 77;
    a.payloadType = 77;
    mark(&a);
    s = only(SL_LANE_MARK);
    assert_int_equal(s->record.parts, SL_LANE_HAS_CATEGORY);
    a = full();
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = NULL;
    mark(&a);
    assert_false(only(SL_LANE_MARK)->record.parts & SL_LANE_HAS_TEXT);
    mark(NULL);
    assert_int_equal(only(SL_LANE_MARK)->record.parts, 0);
    /* Payloads of NVTX's extension, with invalid counts and sizes. */
    a = full();
    a.payloadType = (int32_t)0xDFBD0009;
    a.reserved0 = -1;
    a.payload.ullValue = (uint64_t)(uintptr_t)&a;
    mark(&a);
    assert_string_equal(only(SL_LANE_MARK)->json, "");
    a.reserved0 = 5;
    a.payload.ullValue = 0;
    mark(&a);
    assert_string_equal(only(SL_LANE_MARK)->json, "");
}

static void plain_ranges_and_others_have_one_nesting(void **state)
{
    nvtxEventAttributes_t plain = {.version = NVTX_VERSION,
                                   .size = sizeof(plain),
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED},
                          other = full();
    int (*push)(const nvtxEventAttributes_t *) =
        CALL(CORE, RangePushEx, int, const nvtxEventAttributes_t *);
    int (*pop)(void) = CALL(CORE, RangePop, int, void);

    assert_int_equal(pop(), -2);
    assert_int_equal(push(&plain), 0); /* the string handle of this event is invalid */
    assert_int_equal(push(&other), 1);
    assert_int_equal(push(NULL), 2);
    assert_int_equal(CALL(CORE, RangePushW, int, const wchar_t *)(L"wide"), 3);
    for (int level = 3; level >= 0; level--)
        assert_int_equal(pop(), level);
    assert_int_equal(pop(), -2);
    assert_int_equal(read_said(), 8);
    assert_int_equal(said[0].record.aux, 0);
    assert_string_equal(said[3].text, "wide");
}

/* The program uses pointers of another tool, and numbers that were never assigned, as handles.
 * syncline treats these handles as unknown. */
static void handles_that_are_none(void **state)
{
    static const uintptr_t none[] = {200, SL_LANE_DOMAINS, 0x7fff00000001u, UINTPTR_MAX};

    for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
        nvtxDomainHandle_t domain = (nvtxDomainHandle_t)none[i];

        CALL(CORE2, DomainMarkEx, void, nvtxDomainHandle_t, const nvtxEventAttributes_t *)
        (domain, NULL);
        assert_int_equal(only(SL_LANE_MARK)->record.domain,
                         none[i] < SL_LANE_DOMAINS ? none[i] : 0);
        assert_int_equal(CALL(CORE2, DomainRangePop, int, nvtxDomainHandle_t)(domain), -2);
    }
    CALL(SYNC, DomainSyncUserAcquireStart, void, nvtxSyncUser_t)(NULL);
    assert_int_equal(read_said(), 0);
}

static void errno_is_the_program_s(void **state)
{
    errno = EXDEV;
    CALL(CORE, MarkA, void, const char *)("text");
    CALL(CORE, RangeEnd, void, nvtxRangeId_t)(12345);
    CALL(CORE2, DomainCreateA, nvtxDomainHandle_t, const char *)("errno");
    CALL(CORE, NameCategoryA, void, uint32_t, const char *)(1, "errno");
    assert_int_equal(errno, EXDEV);
    read_said();
}

/* ---- locks ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_may_be_anything),
        cmocka_unit_test(an_event_of_an_older_version),
        cmocka_unit_test(events_that_say_what_is_not_known),
        cmocka_unit_test(plain_ranges_and_others_have_one_nesting),
        cmocka_unit_test(handles_that_are_none),
        cmocka_unit_test(errno_is_the_program_s),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
