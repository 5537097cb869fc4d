// SPDX-License-Identifier: Apache-2.0
// SilentNodes remembers which nodes do not answer questions about names, and
// which of them show another epoch than this one. For SharedNames.
#ifndef SHUFFLEFS_CORE_BINDING_NODES_SILENT_NODES_H_
#define SHUFFLEFS_CORE_BINDING_NODES_SILENT_NODES_H_

#include <chrono>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace shufflefs {

// Not thread-safe. Nothing blocks.
class SilentNodes {
 public:
  using Clock = std::chrono::steady_clock;

  // `answer`: to a question that was sent at `sent`. FailedPrecondition: the
  // node is there, and shows another epoch. Other errors: it did not answer.
  // `is_current`: the question was about the epoch that began last.
  void Heard(const std::string& node, const absl::Status& answer,
             Clock::time_point sent, bool is_current);
  // This node shows another epoch from now on.
  void BeginEpoch() { apart_.clear(); }

  // Returns whether the node did not answer the last time.
  bool IsAway(const std::string& node) const {
    return away_since_.contains(node);
  }
  // How long it has not answered. 0: it answers.
  Clock::duration AwayFor(const std::string& node) const;
  // Returns whether its last answer was that it shows another epoch.
  bool IsApart(const std::string& node) const { return apart_.contains(node); }
  // Returns whether it has done so for `within`, and need not be asked again
  // now. If it must be, that is noted.
  bool IsApartFor(const std::string& node, Clock::duration within);

 private:
  struct Apart {
    Clock::time_point since;
    Clock::time_point asked_again;  // the last time
  };
  absl::flat_hash_map<std::string, Clock::time_point> away_since_;
  absl::flat_hash_map<std::string, Apart> apart_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_SILENT_NODES_H_
