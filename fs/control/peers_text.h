// SPDX-License-Identifier: Apache-2.0
// What `status` and `metrics` say about peers.
#ifndef SHUFFLEFS_FS_CONTROL_PEERS_TEXT_H_
#define SHUFFLEFS_FS_CONTROL_PEERS_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "core/peers/peers.h"

namespace shufflefs {

// The object `peers` of the status.
nlohmann::ordered_json PeersJson(const PeersStatus& peers);

// In Prometheus text format. Those of a member have the label `peer`.
std::string PeersMetrics(const PeersStatus& peers);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_PEERS_TEXT_H_
