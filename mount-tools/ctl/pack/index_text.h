// SPDX-License-Identifier: Apache-2.0
// What shufflectl index tells: how far it is, and what it did. Pure functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/records/containers/container_set.h"

namespace shufflefs {

struct IndexProgress {
  uint64_t bytes = 0;  // of the containers, that are done
  uint64_t total_bytes = 0;
  double seconds = 0;  // since the first of them
};

struct IndexReport {
  struct View {
    std::string path;  // below the source
    std::string policy;
    std::string why;  // that policy
    bool shuffles_records = false;
    ContainerReport containers;
  };
  std::string source;  // absolute, as is the next
  std::string saved;   // where the indexes are
  std::vector<View> views;
  uint64_t bytes = 0;  // of all containers
  double seconds = 0;  // from the start of the command
  bool interrupted = false;

  // Of all views.
  ContainerReport Sum() const;
};

// One line without its end.
std::string IndexProgressText(const IndexProgress& progress);
std::string IndexText(const IndexReport& report);
std::string IndexJson(const IndexReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PACK_INDEX_TEXT_H_
