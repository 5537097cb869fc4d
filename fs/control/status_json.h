// SPDX-License-Identifier: Apache-2.0
// The JSON of the control file `status`.
#ifndef SHUFFLEFS_FS_CONTROL_STATUS_JSON_H_
#define SHUFFLEFS_FS_CONTROL_STATUS_JSON_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/metrics.h"
#include "core/config/config.h"
#include "core/engine/served_dataset.h"
#include "core/peers/peers.h"

namespace shufflefs {

struct StatusParts {
  std::string version;
  std::string source;
  const MountConfig* config = nullptr;
  const Metrics* metrics = nullptr;
  // Null while the catalogue is being made.
  const ServedDataset* served = nullptr;
  std::string indexing;  // its progress or failure, one clause
  std::vector<std::string> warnings;
  absl::optional<OpensSeen> opens;
  absl::optional<PeersStatus> peers;  // empty without the key `peers`
};

// All views, or the one with id `view` if that is >= 0. A figure that cannot be
// known is null.
std::string StatusJson(const StatusParts& parts, int view);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_STATUS_JSON_H_
