// SPDX-License-Identifier: Apache-2.0
// OpenTail holds the last opens of all nodes, in the order in which the lead
// counted them.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_OPEN_TAIL_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_OPEN_TAIL_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/epoch/epoch_detector.h"

namespace shufflefs {

// Not thread-safe. Memory: half a MiB.
class OpenTail {
 public:
  using Time = std::chrono::milliseconds;  // monotonic

  struct Open {
    uint64_t name = 0;
    uint32_t node = 0;
    bool fresh = false;  // the first of the name in its epoch
    Time came{0};
  };

  void Add(const Open& open);
  void Clear() { opens_.clear(); }

  // The names of the opens that came at most `before` before the last fresh
  // one, up to that.
  std::vector<uint64_t> BeforeLastFresh(Time before) const;
  // When the last fresh one came. 0 if there is none.
  Time LastFresh() const;
  // The names that the detector has seen in this epoch, by the node that opened
  // them last.
  std::map<uint32_t, std::vector<uint64_t>> ByNode(
      const EpochDetector& detector) const;
  // Which of all `names` the node has opened in this epoch. Perhaps more: if
  // that goes too far back, all that anybody has opened.
  std::vector<bool> OpenedBy(uint32_t node, uint64_t names,
                             const EpochDetector& detector) const;

 private:
  std::deque<Open> opens_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_OPEN_TAIL_H_
