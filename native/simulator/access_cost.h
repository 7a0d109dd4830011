/* access_cost.h - what accesses to a medium cost: time of the core that does them and of the medium that they hold.
 * The one place of the simulator that asks the media model; engine and step_cost both count with it. Internal to
 * simulator/. */
#ifndef TS_SIMULATOR_ACCESS_COST_H
#define TS_SIMULATOR_ACCESS_COST_H

#include "simulator/engine.h"

/* What the media model said of accesses of one kind: kept, since steps ask the same again and again. */
typedef struct ts_access_costs {
  uint32_t count;
  struct ts_access_known {
    ts_access_kind kind;
    double one_ns, latency_ns, all_ns;
  } known[TS_ACCESS_COSTS];
} ts_access_costs;

typedef struct ts_access_cost {
  uint64_t core_ps, medium_ps;
} ts_access_cost;

/* `rows` random accesses of a kind. */
ts_access_cost ts_access_cost_of(const ts_sim *sim, ts_access_costs *costs, ts_access_kind kind, double rows);

#endif
