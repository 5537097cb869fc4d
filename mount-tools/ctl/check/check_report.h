// SPDX-License-Identifier: Apache-2.0
// The report of `shufflectl check` about a source: facts first, then what
// shufflefs would do, and suggested commands.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_REPORT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/machine_memory.h"
#include "core/catalogue/catalogue.h"
#include "core/dataset/splits.h"
#include "core/dataset/substitution_safety.h"
#include "core/policy/policy_advice.h"
#include "core/source/device_probe.h"
#include "mount-tools/ctl/check/known_layout.h"

namespace shufflefs {

// A directory or file that is a validation or test split by its name.
struct SplitFound {
  std::string path;
  SplitKind kind = SplitKind::kNone;
  uint64_t files = 0;
};

struct CheckInput {
  std::string path;  // of the source, absolute
  const Catalogue* catalogue = nullptr;
  double scan_seconds = 0;
  bool estimated = false;  // sizes, of most files
  MachineMemory memory;
  uint64_t view_memory = 0;  // bytes that a mount would give each view
  DeviceProbe device;
};

// The gain over a usual number of plain readers, and over many.
struct GainsOfPolicy {
  std::string policy;
  std::vector<PolicyGain> gains;  // at least one
};

// A mount command that may be worth trying, and when.
struct Suggestion {
  std::string command;
  std::string when;
};

struct CheckReport {
  std::string path;
  uint64_t files = 0;
  uint64_t directories = 0;  // below the source
  uint64_t links = 0;
  uint64_t bytes = 0;
  double scan_seconds = 0;
  bool estimated = false;
  SubstitutionSafety substitution_safety;
  absl::optional<KnownLayout> known_layout;
  std::vector<SplitFound> splits;       // without splits inside splits
  std::vector<std::string> manifests;   // outside of splits
  std::vector<std::string> containers;  // outside of splits
  // Containers hold most of the bytes, and their records can be shuffled.
  bool mostly_records = false;
  absl::optional<RecordHint> record_hint;  // if names keep their samples
  uint64_t samples = 0;
  uint64_t paired_samples = 0;  // those of several files with a common stem
  std::vector<std::string> unreadable;
  MachineMemory memory;
  bool fits_in_memory = false;
  DeviceProbe device;
  AutoChoice choice;
  // What to expect of speed, in a sentence.
  std::string expectation;
  // Of the chosen policy first. Without policies whose gain is not known.
  std::vector<GainsOfPolicy> gains;
  // The policy for rows of files that a rule of record.as names. "" if none.
  std::string rows_policy;
  std::vector<Suggestion> suggestions;  // the first is the one to use
};

// A path for a shell: in single quotes if it has other bytes than plain ones.
std::string ShellWord(const std::string& path);

// Pure. Errors: those of grouping the files.
absl::StatusOr<CheckReport> MakeCheckReport(const CheckInput& input);

// As text for people, and as one JSON object. The summary is the verdict
// without its evidence.
std::string CheckSummary(const CheckReport& report);
std::string CheckText(const CheckReport& report);
std::string CheckJson(const CheckReport& report);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_CHECK_REPORT_H_
