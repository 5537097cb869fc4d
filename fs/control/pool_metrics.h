// SPDX-License-Identifier: Apache-2.0
// The counters of the views' pools, in Prometheus text format.
#ifndef SHUFFLEFS_FS_CONTROL_POOL_METRICS_H_
#define SHUFFLEFS_FS_CONTROL_POOL_METRICS_H_

#include <string>
#include <vector>

#include "core/view/view.h"

namespace shufflefs {

// One series per view that has a pool, with the label `view`. "" if none has.
std::string PoolMetrics(const std::vector<View*>& views);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_POOL_METRICS_H_
