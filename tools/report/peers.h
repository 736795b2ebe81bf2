/*
 * peers.h - matches the collectives of several ranks, and finds when the last rank began each.
 *
 * Kernels of NCCL are matched by the group of ranks, the number of the step, and their order in the
 * step. In recordings without steps they are matched by their order alone, if all ranks have the
 * same number of them. A collective is matched only if the recordings of all ranks of its group are
 * there, have the same call at this place, and their clocks are known relative to each other
 * (align/clocks.h). A wait that is shorter than the error of the clocks is none.
 *
 * A group is not matched at all if one of its all-reduces, all-gathers, reduce-scatters or
 * all-to-alls ended on a rank before the last rank began it, by more than the clocks explain: then
 * the members are of several calls.
 *
 * Files of torch.profiler do not name their host. The ranks of a synchronous collective end nearly
 * together, so the least difference of the ends in a call bounds how far the clocks agree. If it is
 * too large, the group is not matched. Else starts that are at most twice as far apart count as one
 * moment.
 *
 * Threads: one owner. Memory: 56 bytes for each collective, and what align/clocks.h needs, while
 * they are matched.
 */
#ifndef SL_REPORT_PEERS_H
#define SL_REPORT_PEERS_H

#include "report/parts.h"

/* Fills `out`, one for each recording. The caller frees each, also after an error. Returns the
 * number of collectives that were matched, or -ENOMEM. */
int64_t sl_peers_match(const struct sl_recordings *all, struct sl_peers *out);

struct sl_clocks;

/* Makes the clocks of the recordings; of several recordings of a rank, the first is the rank.
 * Returns 0 or -ENOMEM. */
int sl_peers_clocks(const struct sl_recordings *all, struct sl_clocks **out);

/* Adds what the collectives say about the clocks. Returns 0 or -ENOMEM. */
int sl_peers_bound(const struct sl_recordings *all, struct sl_clocks *clocks);

#endif
