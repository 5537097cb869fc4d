// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/progress_line.h"

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/config/value_text.h"

namespace shufflefs {

std::string ProgressText(absl::string_view what, const ByteProgress& progress) {
  constexpr int kBar = 12;  // so that a line has at most 80 columns
  const auto total = static_cast<double>(progress.total);
  const auto bytes = static_cast<double>(progress.bytes);
  const double done = total > 0 ? std::min(bytes / total, 1.0) : 1;
  const int filled = static_cast<int>(done * kBar);
  std::string text = absl::StrFormat(
      "%s: [%s%s] %3.0f %%, %s of %s", what, std::string(filled, '#'),
      std::string(kBar - filled, ' '), done * 100, HumanBytes(progress.bytes),
      HumanBytes(progress.total));
  if (progress.bytes == 0 || progress.seconds <= 0) return text;
  return text +
         RateText(bytes / progress.seconds, std::max(0.0, total - bytes));
}

std::string RateText(double bytes_per_second, double bytes_left) {
  const double seconds = bytes_left / bytes_per_second;
  return absl::StrCat(
      ", ", HumanBytes(static_cast<uint64_t>(bytes_per_second)), "/s, ",
      seconds >= 60 ? absl::StrFormat("%.0f min left", seconds / 60)
                    : absl::StrFormat("%.0f s left", seconds));
}

ProgressLine::~ProgressLine() {
  if (context_.err_terminal) *context_.err << kClearLine << std::flush;
}

void ProgressLine::Show(uint64_t bytes, uint64_t total) {
  if (!context_.err_terminal) return;
  MutexLock lock(mu_);
  const Clock::time_point now = Clock::now();
  if (now < next_ && bytes < total) return;
  next_ = now + std::chrono::milliseconds(100);
  const std::chrono::duration<double> took = now - begin_;
  *context_.err << kClearLine
                << ProgressText(what_, {bytes, total, took.count()})
                << std::flush;
}

}  // namespace shufflefs
