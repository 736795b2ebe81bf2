/*
 * finding_text.c - the sentences and remedies of losses.
 *
 * Threads, memory: see finding_text.h.
 */
#include "report/finding_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "print/format.h"
#include "print/short_name.h"

#define SHORT_KERNEL_NS                                                                            \
    20000u /* below this, a launch takes longer than the kernel, if the CPU is busy */
#define LONG_GAP_NS    200000u /* mostly more than one operator of Python */
#define LONG_LAUNCH_NS 1000000u
#define NAME_WIDTH     48
#define MAIN_CAUSE     0.5  /* a cause with this part of a loss stands for it */
#define ALL_CAUSE      0.95 /* a cause with this part of a loss is all of it */

__attribute__((format(printf, 2, 3))) static void put(char *to, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(to, SL_FINDING_TEXT, format, args);
    va_end(args);
}

static const char *shortened(char *to, const struct sl_report *report, uint32_t id,
                             const char *unknown)
{
    const char *name = sl_report_name(report, id);

    return *name ? sl_short_name(to, NAME_WIDTH, name, strlen(name)) : unknown;
}

void sl_finding_place(char to[SL_FINDING_TEXT], const struct sl_report *report,
                      const struct sl_report_finding *f)
{
    const char *line = sl_report_name(report, f->line), *base = strrchr(line, '/');
    char room[NAME_WIDTH + 1], code[NAME_WIDTH + 1];
    const char *place = shortened(room, report, f->place ? f->place : f->call, "");

    base = base ? base + 1 : line;
    if (*line)
        sl_short_name(code, NAME_WIDTH, base, strlen(base));
    if (!*line)
        put(to, "%s", *place ? place : "(place not known)");
    else if (f->near != SL_NEAR_AT)
        put(to, "%s (near %s)", place, code);
    else if (f->place && strcmp(place, "record_param_comms") != 0)
        put(to, "%s (%s)", code, place);
    else
        put(to, "%s", code);
}

/* Returns a short name of communication, such as "NCCL AllReduce". */
static const char *communication(char *to, const char *name)
{
    const char *word = strncmp(name, "nccl", 4) == 0 ? strstr(name, "Kernel_") : NULL;

    if (!word)
        return *name ? sl_short_name(to, NAME_WIDTH, name, strlen(name)) : "communication";
    word += strlen("Kernel_");
    snprintf(to, NAME_WIDTH, "NCCL %.*s", (int)strcspn(word, "_("), word);
    return to;
}

/* Returns the remedy for many small launches. */
static const char *few_launches(const struct sl_loss *loss)
{
    if (loss->cause &&
        strstr(sl_report_name(loss->report, loss->cause->key[SL_CAUSE_CALL]), "GraphLaunch"))
        return "launch the graph earlier, or capture more of the step in it";
    return "torch.compile(mode=\"reduce-overhead\") or CUDA graphs: fewer, larger launches";
}

static const char *per(const struct sl_loss *loss)
{
    return sl_report_has_steps(loss->report) ? "a step" : "in all";
}

/* Returns how often something occurs in a step. */
static double times(const struct sl_loss *loss, uint64_t count)
{
    return loss->time->steps ? (double)count / (double)loss->time->steps : 0;
}

/* Writes how often something occurs, such as "3.0 times a step" or "once in 10 steps". */
static const char *often(char to[32], const struct sl_loss *loss, uint64_t count)
{
    double number = times(loss, count);

    if (number > 0 && number < 0.5)
        snprintf(to, 32, "once in %.0f steps", 1 / number);
    else if (sl_report_has_steps(loss->report))
        snprintf(to, 32, "%.1f times a step", number);
    else
        snprintf(to, 32, "%" PRIu64 " time%s in all", count, count == 1 ? "" : "s");
    return to;
}

/* Writes the number of times in a step: whole, or with one decimal below 1. */
static const char *rounded(char to[16], const struct sl_loss *loss, uint64_t count)
{
    double number = times(loss, count);

    if (number > 0 && number < 0.05)
        return "under 0.1";
    snprintf(to, 16, "%.*f", number < 0.95, number);
    return to;
}

static uint64_t mean(const struct sl_loss *loss)
{
    return loss->cause ? loss->cause->total_ns / loss->cause->count : 0;
}

/* Returns the part of the loss that its largest cause has. */
static double share(const struct sl_loss *loss)
{
    return loss->cause && loss->total_ns ? (double)loss->cause->total_ns / (double)loss->total_ns
                                         : 0;
}

/* Returns 1 if one of the largest cause's times is most of them. */
static int is_once(const struct sl_loss *loss)
{
    return loss->cause && 3 * loss->cause->longest_ns >= 2 * loss->cause->total_ns;
}

/* Returns the remedy for launches that last long. Only first launches load modules, so such a
 * launch is rare. */
static const char *long_launch(const struct sl_loss *loss)
{
    double often = is_once(loss) ? 1 : (double)loss->cause->count;

    if (sl_report_has_steps(loss->report) && 2 * often < (double)loss->time->steps)
        return "first launches load modules: leave the first steps out (--steps)";
    if (!sl_report_has_steps(loss->report) && 2 * often <= (double)loss->launches)
        return "first launches load modules: record after the first iterations";
    return "the driver holds the launch up: look for a full queue, allocations or another thread's "
           "calls at that time";
}

/* Returns the remedy for a call that lasts long while the GPU is idle. */
static const char *long_call(const struct sl_loss *loss, const char *call)
{
    if (strstr(call, "Memcpy"))
        return "a copy of pageable memory holds the thread: pin_memory=True and non_blocking=True";
    if (strstr(call, "lloc") || strstr(call, "Free"))
        return "allocate before the steps, and keep the memory";
    if (strstr(call, "Launch"))
        return long_launch(loss);
    return "call it less often, or in another thread";
}

/* Returns the remedy for a call that waits for the GPU. */
static const char *fewer_waits(const char *call)
{
    if (strstr(call, "Event"))
        return "wait for events less often, and after the next launches; a library's wait ends "
               "sooner if the launches before it come sooner";
    if (strstr(call, "DeviceSync"))
        return "torch.cuda.synchronize() is for measuring times: leave it out";
    return ".item(), .cpu() or print() of a tensor waits: do it in fewer steps, or copy with "
           "non_blocking=True";
}

/* Adds that the CPU is late only because a wait before left the queue empty. */
static void add_after_sync(struct sl_report_finding *f, const struct sl_loss *loss)
{
    const uint32_t *key = loss->after_sync->key;
    const struct sl_report_finding wait = {
        .line = key[SL_CAUSE_LINE], .place = key[SL_CAUSE_PLACE], .call = key[SL_CAUSE_CALL]};
    char place[SL_FINDING_TEXT];
    size_t used = strlen(f->text);

    sl_finding_place(place, loss->report, &wait);
    snprintf(f->text + used, sizeof(f->text) - used,
             "; the queue is empty because of the wait before it at %s", place);
    put(f->advice, "%s", fewer_waits(sl_report_name(loss->report, wait.call)));
}

static void describe_late_cpu(struct sl_report_finding *f, const struct sl_loss *loss,
                              const char *where, const char *call)
{
    char span[SL_FORMAT_SIZE], kernel[SL_FORMAT_SIZE], before[2 * SL_FINDING_TEXT];
    char number[32], late[16];
    int is_inside = loss->cause && loss->cause->key[SL_CAUSE_OTHER];

    if (is_inside && f->place)
        snprintf(before, sizeof(before), "inside %s, %s", call, where);
    else
        snprintf(before, sizeof(before), "%s %s", is_inside ? "inside" : "before", where);
    if (share(loss) >= MAIN_CAUSE && mean(loss) >= LONG_GAP_NS) {
        put(f->text, "%s the CPU %s for %s, %s", before,
            is_inside ? "makes no launch" : "does other work", sl_format_about(span, mean(loss)),
            often(number, loss, loss->cause->count));
        put(f->advice, "%s",
            is_inside ? long_call(loss, call)
                      : "look at the code before it (data, Python, I/O): make it shorter, or do it "
                        "in another thread");
        return;
    }
    put(f->text,
        "spread out, the largest part (%.0f %%) %s; %s of %s launches %s find the GPU idle, for "
        "%s on the mean; half the kernels are under %s",
        100 * share(loss), before, rounded(late, loss, loss->held),
        rounded(number, loss, loss->launches), per(loss),
        sl_format_about(span, loss->held ? loss->total_ns / loss->held : 0),
        sl_format_about(kernel, loss->median_ns));
    put(f->advice, "%s",
        loss->median_ns < SHORT_KERNEL_NS
            ? few_launches(loss)
            : "make the CPU work between the launches shorter, or do it in another thread");
}

static void describe_launch(struct sl_report_finding *f, const struct sl_loss *loss,
                            const char *where)
{
    char span[SL_FORMAT_SIZE], number[32], late[16];

    if (is_once(loss) && loss->cause->longest_ns >= LONG_LAUNCH_NS) {
        put(f->text, "%s: one launch takes %s", where,
            sl_format_about(span, loss->cause->longest_ns));
        put(f->advice, "%s", long_launch(loss));
        return;
    }
    if (mean(loss) >= LONG_LAUNCH_NS) {
        put(f->text, "%s: a launch takes %s, %s", where, sl_format_about(span, mean(loss)),
            often(number, loss, loss->cause->count));
        put(f->advice, "%s", long_launch(loss));
        return;
    }
    put(f->text,
        "the GPU waits while %s of %s launches %s are made, the largest part (%.0f %%) in %s",
        rounded(late, loss, loss->held), rounded(number, loss, loss->launches), per(loss),
        100 * share(loss), where);
    put(f->advice, "%s", few_launches(loss));
}

/* The gaps between operations that were queued in time. */
static void describe_between(struct sl_report_finding *f, const struct sl_loss *loss)
{
    char span[SL_FORMAT_SIZE], kernel[SL_FORMAT_SIZE], number[16];
    int is_graph = loss->held < loss->gaps; /* a launch with several gaps has several operations */

    put(f->text,
        "%s gaps %s between queued kernels, of %s on the mean: the launches came in time; half "
        "the kernels are under %s",
        rounded(number, loss, loss->gaps), per(loss),
        sl_format_about(span, loss->gaps ? loss->total_ns / loss->gaps : 0),
        sl_format_about(kernel, loss->median_ns));
    put(f->advice, "larger or fused kernels (torch.compile)%s",
        is_graph ? "" : " or CUDA graphs; a faster CPU does not help");
}

static void describe_sync(struct sl_report_finding *f, const struct sl_loss *loss,
                          const char *where, const char *call)
{
    const struct sl_sum *cause = loss->cause;
    char span[SL_FORMAT_SIZE], number[32], part[32] = "";

    if (share(loss) < ALL_CAUSE)
        snprintf(part, sizeof(part), ", %.0f %% of it", 100 * share(loss));
    put(f->text, "%s%s: %s returns %s after the GPU has nothing left to do, %s", where, part, call,
        sl_format_about(span, mean(loss)), often(number, loss, cause ? cause->count : 0));
    if (loss->after_sync_ns >= loss->total_ns / 10 && loss->time->steps)
        put(f->advice, "%s: up to %s %s back, with the late launches after it", fewer_waits(call),
            sl_format_about(span, (loss->total_ns + loss->after_sync_ns) / loss->time->steps),
            per(loss));
    else
        put(f->advice, "%s", fewer_waits(call));
}

/* Names the rank that the others waited longest for, and what holds it up. */
static void describe_late_rank(struct sl_report_finding *f, const struct sl_loss *loss,
                               const char *collective)
{
    int64_t rank = loss->report->late_rank;
    char span[SL_FORMAT_SIZE];

    if (*loss->late_place)
        put(f->text,
            "in %s, %.0f %% of it is waiting for rank %" PRId64 ", which loses %s more %s to `%s` "
            "than the mean of all, most %s %s",
            collective, 100 * loss->report->late_ratio, rank, sl_format_about(span, loss->late_ns),
            per(loss), sl_part_name(loss->late_part),
            loss->late_part == SL_PART_SYNC || loss->late_part == SL_PART_COPY ? "in" : "before",
            loss->late_place);
    else
        put(f->text, "in %s, %.0f %% of it is waiting for rank %" PRId64, collective,
            100 * loss->report->late_ratio, rank);
    put(f->advice, "see what holds rank %" PRId64 " up: --rank %" PRId64, rank, rank);
}

/* Returns the remedy for a copy with this name. */
static const char *better_copy(const char *name)
{
    if (strstr(name, "Device -> Pageable"))
        return "copy to pinned memory with non_blocking=True, and less often";
    if (strstr(name, "Pageable"))
        return "pin_memory=True and .to(device, non_blocking=True)";
    return "copy on another stream while kernels run";
}

void sl_finding_describe(struct sl_report_finding *f, const struct sl_loss *loss)
{
    char where[SL_FINDING_TEXT], call[NAME_WIDTH + 1], other[NAME_WIDTH + 1];
    const char *source =
        loss->cause ? sl_report_name(loss->report, loss->cause->key[SL_CAUSE_OTHER]) : "";
    const char *what = shortened(call, loss->report, f->call, "a call");

    sl_finding_place(where, loss->report, f);
    switch (f->part) {
    case SL_PART_SYNC:
        f->id = "sync";
        describe_sync(f, loss, where, what);
        break;
    case SL_PART_CPU:
        f->id = "cpu-late";
        f->sure = SL_SURE_INFERRED;
        describe_late_cpu(f, loss, where, what);
        if ((double)loss->after_sync_ns >= MAIN_CAUSE * (double)loss->total_ns)
            add_after_sync(f, loss);
        break;
    case SL_PART_LAUNCH:
        f->id = f->is_between ? "kernel-gaps" : "launch";
        f->sure = f->is_between ? SL_SURE_MEASURED : SL_SURE_INFERRED;
        if (f->is_between)
            describe_between(f, loss);
        else
            describe_launch(f, loss, where);
        break;
    case SL_PART_LOADER:
        f->id = "loader";
        put(f->text,
            "before %s the thread that launches waits for the next batch of the DataLoader", where);
        put(f->advice, "num_workers, prefetch_factor, pin_memory=True, persistent_workers=True");
        break;
    case SL_PART_QUEUED:
        f->id = "queued";
        f->sure = SL_SURE_INFERRED;
        put(f->text,
            *source ? "launched in time, but waits for %s on another stream"
                    : "launched in time, but begins late%s",
            *source ? sl_short_name(other, NAME_WIDTH, source, strlen(source)) : "");
        break;
    case SL_PART_COPY:
        f->id = "copy";
        put(f->text, "%s: %s, and nothing runs beside it", where,
            *source ? sl_short_name(other, NAME_WIDTH, source, strlen(source)) : "copies");
        put(f->advice, "%s", better_copy(source));
        break;
    case SL_PART_TRANSFER:
        f->id = "transfer";
        if (f->line)
            put(f->text, "%s: %s, and nothing runs beside it", where, communication(other, source));
        else
            put(f->text, "%s, and nothing runs beside it", communication(other, source));
        put(f->advice, "let it overlap with computing: DDP's bucket_cap_mb, FSDP's prefetching");
        break;
    case SL_PART_WAITING:
        f->id = "rank-late";
        f->sure = loss->report->is_host_known ? SL_SURE_MEASURED : SL_SURE_INFERRED;
        describe_late_rank(f, loss, communication(other, source));
        break;
    default:
        f->id = "unknown";
        f->sure = SL_SURE_UNKNOWN;
        put(f->text,
            "idle; the launch of the next operation is not in the file, or its times do not fit");
        put(f->advice, "record CPU activity too; `syncline check` says whether the clocks differ");
        break;
    }
}
