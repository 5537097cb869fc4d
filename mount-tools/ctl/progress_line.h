// SPDX-License-Identifier: Apache-2.0
// ProgressLine shows how much of a long work is done, in the terminal's last
// line.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_PROGRESS_LINE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_PROGRESS_LINE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "mount-tools/ctl/command.h"

namespace shufflefs {

struct ByteProgress {
  uint64_t bytes = 0;  // done
  uint64_t total = 0;
  double seconds = 0;  // since the work began
};
// One line without its end: "indexing: [###   ]  50 %, 1 GiB of 2 GiB, …".
std::string ProgressText(absl::string_view what, const ByteProgress& progress);

// What a line of progress ends in: ", 1.50 GiB/s, 6 s left".
std::string RateText(double bytes_per_second, double bytes_left);

// Shows nothing unless the context's `err` is a terminal. Clears the line when
// it is destroyed. Thread-safe.
class ProgressLine {
 public:
  ProgressLine(const CommandContext& context, std::string what)
      : context_(context), what_(std::move(what)) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // At most ten times a second, and at the end.
  void Show(uint64_t bytes, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  // Constant after construction.
  const CommandContext& context_;
  const std::string what_;
  const Clock::time_point begin_ = Clock::now();

  Mutex mu_;
  Clock::time_point next_ ABSL_GUARDED_BY(mu_) = begin_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_PROGRESS_LINE_H_
