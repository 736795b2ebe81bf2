/*
 * peers.h - matches the collectives of several ranks, and finds when the last rank began each.
 *
 * Kernels of NCCL are matched by the group of ranks, the number of the step, and their order in the
 * step. A collective is matched only if the recordings of all ranks of its group are there, are of
 * one host (whose ranks share a clock), and have the same number of collectives in the step.
 *
 * A group is not matched at all if one of its all-reduces, all-gathers, reduce-scatters or
 * all-to-alls ended on a rank before the last rank began it: then the clocks differ.
 *
 * Files of torch.profiler do not name their host. The ranks of a synchronous collective end nearly
 * together, so the least difference of the ends in a call bounds how far the clocks agree. If it is
 * too large, the ranks count as ones of several hosts. Else starts that are at most twice as far
 * apart count as one moment.
 *
 * Threads: one owner. Memory: 32 bytes for each collective while they are matched.
 */
#ifndef SL_REPORT_PEERS_H
#define SL_REPORT_PEERS_H

#include "report/parts.h"

/* Fills `out`, one for each recording. The caller frees each, also after an error. Returns the
 * number of collectives that were matched, or -ENOMEM. */
int64_t sl_peers_match(const struct sl_recordings *all, struct sl_peers *out);

#endif
