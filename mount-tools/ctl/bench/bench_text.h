// SPDX-License-Identifier: Apache-2.0
// The results of `shufflectl bench` as text for people and as JSON. Pure
// functions.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_BENCH_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_BENCH_TEXT_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "mount-tools/ctl/bench/read_speed.h"
#include "mount-tools/ctl/check/check_report.h"

namespace shufflefs {

// The policies that may suit the data. First is what any data is read through,
// which shows what a mount costs. `runs_command`: a command of the user reads,
// in an order of its own.
std::vector<std::string> PoliciesToTry(const CheckReport& report,
                                       bool runs_command);

// One measurement.
struct BenchResult {
  std::string name;                 // "raw", or the policy
  absl::optional<ReadSpeed> speed;  // of our readers
  absl::optional<double> seconds;   // of the user's command
  std::string trouble;              // why there is no figure; "" = none
  bool cold = false;                // caches were dropped before
};

// The title line of the table, and a line of it. `raw` is the first result.
std::string BenchTitles(bool runs_command);
std::string BenchLine(const BenchResult& result, const BenchResult& raw);
// What to do, one line. `results` begins with raw.
std::string BenchVerdict(const std::vector<BenchResult>& results);

// {"name":…,"cold":…,"files_per_second":…,"bytes_per_second":…,"seconds":…,
// "against_raw":…,"trouble":…}; what is not known is null.
std::string BenchJson(const BenchResult& result, const BenchResult& raw);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_BENCH_BENCH_TEXT_H_
