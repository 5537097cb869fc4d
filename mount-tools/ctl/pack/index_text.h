// SPDX-License-Identifier: Apache-2.0
// The texts of shufflectl index: result. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/records/containers/container_set.h"

namespace shufflefs {

struct IndexReport {
  struct View {
    std::string path;  // relative to the source
    std::string policy;
    std::string why;  // why this policy
    bool shuffles_records = false;
    ContainerReport containers;
  };
  std::string source;  // absolute, like the next
  std::string saved;   // where the indexes are
  std::vector<View> views;
  uint64_t bytes = 0;  // of all containers
  double seconds = 0;  // from the start of the command
  bool interrupted = false;

  // Sum over all views.
  ContainerReport Sum() const;
};

std::string IndexText(const IndexReport& report);
std::string IndexJson(const IndexReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_TEXT_H_
