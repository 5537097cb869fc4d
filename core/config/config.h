// SPDX-License-Identifier: Apache-2.0
// The configuration of a mount, parsed once into typed fields. Keys, defaults
// and help of what a user can set stand in mount-tools/option_table, one row
// each; this header only holds the values.
#ifndef SHUFFLEFS_CORE_CONFIG_CONFIG_H_
#define SHUFFLEFS_CORE_CONFIG_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/config/policy_options.h"
#include "core/config/record_options.h"

namespace shufflefs {

enum class Substitute { kAuto, kNever, kDirectory, kTree };
enum class PairMode { kStem, kOff };
enum class Layout { kTree, kRanked };
enum class Advance { kManual, kAuto };
enum class OpenMode { kAuto, kSeen, kUnseen };

// This node is the `number`-th of `count` that serve one job.
struct NodeShare {
  uint32_t number = 1;  // 1 to count
  uint32_t count = 1;
  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};

// What one view is asked to do. A plain value; the control file edits a copy
// and installs it whole.
struct ViewConfig {
  std::string path;  // relative to the source, "" = all of it, no slashes at ends
  std::string policy = "auto";
  PolicyOptions policy_options;
  Seed seed{0};
  Substitute substitute = Substitute::kAuto;
  PairMode pair = PairMode::kStem;
  std::string groups;  // file of `path TAB group` lines; "" = none
  Layout layout = Layout::kTree;
  Epoch epoch_start{0};
  Advance epoch_advance = Advance::kAuto;
  uint64_t epoch_length = 0;  // names a pass on this node; 0 = all
  uint32_t epoch_pad = 8;
  std::chrono::milliseconds epoch_double_open{10000};
  RecordOptions record;
  absl::optional<NodeShare> nodes;  // nothing: one, as far as is known
};

struct MountConfig {
  std::string source;      // absolute
  std::string mountpoint;  // absolute
  std::string state;       // directory of the catalogue and ledger; "" = default
  OpenMode open = OpenMode::kAuto;
  std::chrono::milliseconds wait{5000};
  absl::optional<uint32_t> control_gid;
  uint64_t memory = 0;       // bytes, of all pools; 0 = chosen at mount
  std::string tier_path;     // absolute, of the performance tier; "" = none
  uint64_t tier_capacity = 0;  // bytes of it to use; 0 = nine tenths of what
                               // is free when it is mounted
  uint64_t tier_bandwidth =
      0;                     // bytes a second, at most, copied there; 0 = all
  PolicyOptions policy_options;  // of keys that are one for all views
  bool read_only = false;    // -o ro
  bool allow_other = false;  // -o allow_other
  std::vector<ViewConfig> views;  // at least one
};

// What one write to a control file asks for: the whole edited configuration
// of the view, and at most one move of the epoch.
struct ControlRequest {
  ViewConfig config;
  bool next_epoch = false;              // epoch = "next"
  absl::optional<Epoch> set_epoch;      // epoch = 7
  absl::optional<double> feedback;      // feedback = 0.531
  bool config_changed = false;          // any key besides epoch
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_CONFIG_H_
