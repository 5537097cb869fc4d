// SPDX-License-Identifier: Apache-2.0
// The configuration of a mount, parsed once into typed fields. This header only
// holds the values. Keys, defaults and help of user settings are in
// mount-tools/config/option_table.h, one row each.
#ifndef SHUFFLEFS_CORE_CONFIG_CONFIG_H_
#define SHUFFLEFS_CORE_CONFIG_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/log.h"
#include "core/base/types.h"
#include "core/config/policy_options.h"
#include "core/config/record_options.h"

namespace shufflefs {

enum class Substitute { kAuto, kNever, kDirectory, kTree };
enum class PairMode { kStem, kOff };
enum class Layout { kTree, kRanked };
enum class Advance { kManual, kAuto };
// kObserved: the kernel opens files by itself and reports it.
enum class OpenMode { kAuto, kSeen, kObserved, kUnseen };
// kAuto: stderr in the foreground, syslog as a daemon.
enum class LogTo { kAuto, kStderr, kSyslog };

// This node is the `number`-th of the `count` nodes that serve one job.
struct NodeShare {
  uint32_t number = 1;  // 1 to count
  uint32_t count = 1;
  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};

// The configuration of one view. A plain value. The control file edits a copy
// and installs it as a whole.
struct ViewConfig {
  // Relative to the source, without slashes at the ends. "" = all of it.
  std::string path;
  std::string policy = "auto";
  PolicyOptions policy_options;
  Seed seed{0};
  Substitute substitute = Substitute::kAuto;
  PairMode pair = PairMode::kStem;
  std::string groups;  // file of `path TAB group` lines; "" = none
  Layout layout = Layout::kTree;
  Epoch epoch_start{0};
  Advance epoch_advance = Advance::kAuto;
  uint64_t epoch_length = 0;  // names per pass on this node; 0 = all
  uint32_t epoch_pad = 8;
  std::chrono::milliseconds epoch_double_open{10000};
  RecordOptions record;
  absl::optional<NodeShare> nodes;  // empty: one node, as far as is known
};

// The other daemons of the job. See core/peers.
struct PeersConfig {
  // Who they are: host:port;…, slurm, dns:NAME:PORT or etcd:HOST:PORT;…/NAME.
  // "" = this daemon works alone.
  std::string members;
  // host:port to listen on. "" = the first private address, port 7373.
  std::string listen;
  std::string tls;        // directory of ca.pem, cert.pem, key.pem; "" = none
  std::string secret;     // file of a shared secret; "" = none
  bool insecure = false;  // neither, and others may connect
};

struct MountConfig {
  std::string source;      // absolute
  std::string mountpoint;  // absolute
  std::string state;       // directory of catalogue and ledger; "" = default
  OpenMode open = OpenMode::kAuto;
  std::chrono::milliseconds wait{5000};
  absl::optional<uint32_t> control_gid;
  uint64_t memory = 0;  // bytes for all pools; 0 = chosen at mount
  // If not 0, `memory` is this percentage of what the machine has to spare. It
  // is computed at mount.
  uint32_t memory_percent = 0;
  std::string tier_path;  // absolute path of the performance tier; "" = none
  // Bytes of the tier to use. 0 = nine tenths of what is free at mount.
  uint64_t tier_capacity = 0;
  // If not 0, `tier_capacity` is this percentage of the file system that
  // tier_path is on. It is computed at mount.
  uint32_t tier_percent = 0;
  // Maximum bytes per second that are copied to the tier. 0 = unlimited.
  uint64_t tier_bandwidth = 0;
  PeersConfig peers;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  LogTo log_target = LogTo::kAuto;
  PolicyOptions policy_options;  // keys that apply to all views
  // What the user should change in the settings, for the log and status.
  std::vector<std::string> notes;
  bool read_only = false;         // -o ro
  bool allow_other = false;       // -o allow_other
  std::vector<ViewConfig> views;  // at least one
};

// The request of one write to a control file: the view's whole edited
// configuration, and at most one move of the epoch.
struct ControlRequest {
  ViewConfig config;
  bool next_epoch = false;          // epoch = "next"
  absl::optional<Epoch> set_epoch;  // epoch = 7
  absl::optional<double> feedback;  // feedback = 0.531
  bool config_changed = false;      // any key except epoch
  std::vector<std::string> notes;   // as in MountConfig
  // The keys of the view that were given, also those that had that value
  // already: one `key = value` a line.
  std::string settings;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_CONFIG_H_
