/*
 * memory.c - follows the host's memory limits while the process runs.
 *
 * The host may lower a limit, or need more memory itself. Then the pool of CUPTI buffers, which is
 * the largest part, shrinks first. The other parts keep the caps that they got at the start. If the
 * limits leave less than the options' minima, recording pauses.
 *
 * Threads: the recorder thread. Memory: see recorder_impl.h.
 */
#include "recorder/recorder_impl.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/cupti/buffer.h"
#include "control/memory_limit.h"

#define LOOK_NS (1000 * SL_NS_PER_MS)
/* A host whose memory use goes up and down must not fill its log. */
#define LINES_MOST 8
/* Recording pauses if a quarter of the minima is missing, and goes on when nothing is missing. The
 * host's memory use always varies a little, and syncline has some memory that no option counts. */
#define MISSING_PART 4

static void say(struct sl_recorder *r, const struct sl_memory_limit *limit, uint64_t need)
{
    const char *last = "";
    char figures[256] = "the host's memory limit is gone";

    if (r->memory_lines == LINES_MOST)
        return;
    if (++r->memory_lines == LINES_MOST)
        last = "; further changes are not logged";
    if (limit->source)
        snprintf(figures, sizeof(figures),
                 "%s is %.1f MB, and %.1f MB are in use without syncline, which may take %.1f MB",
                 limit->source, (double)limit->limit_bytes / 1e6, (double)limit->used_bytes / 1e6,
                 (double)limit->share_bytes / 1e6);
    if (r->window.is_barred)
        sl_log(SL_LOG_WARN,
               "%s and needs %.1f: recording pauses until it may take that much; the job is not "
               "affected%s",
               figures, (double)need / 1e6, last);
    else
        sl_log(SL_LOG_WARN, "%s: recording goes on%s", figures, last);
}

void sl_recorder_follow_memory(struct sl_recorder *r)
{
    const struct sl_config *config = r->opt.config;
    uint64_t now = sl_clock_monotonic(), need, others, buffers;
    struct sl_config least = *config;
    struct sl_memory_limit limit;
    struct sl_memory_own own;
    int is_barred;

    if (now < r->memory_due_ns)
        return;
    r->memory_due_ns = now + LOOK_NS;
    own.mapped_bytes = sl_memory_limit_total(config);
    own.touched_bytes = sl_cupti_pool_mapped_bytes() + sl_pipeline_bytes(r->pipeline);
    sl_memory_limit_read(&limit, "", r->opt.identity->local_ranks, &own);

    sl_memory_limit_apply(&least, 0, &need);
    sl_memory_limit_apply(&least, need, &need);
    others = own.mapped_bytes - config->cupti_memory_bytes;
    buffers = limit.share_bytes > others ? limit.share_bytes - others : 0;
    if (buffers < least.cupti_memory_bytes)
        buffers = least.cupti_memory_bytes;
    sl_cupti_pool_limit((size_t)buffers);

    is_barred = limit.share_bytes < (r->window.is_barred ? need : need - need / MISSING_PART);
    if (is_barred == r->window.is_barred)
        return;
    r->window.is_barred = is_barred;
    say(r, &limit, need);
}
