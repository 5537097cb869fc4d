// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_health.h"

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shufflefs {

void TierHealth::Begin(const absl::Status& status, absl::string_view what) {
  std::string line;
  {
    MutexLock lock(mu_);
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("tier.path ", path_, ": ", status.message(), "; ", what);
    any_.store(true, std::memory_order_relaxed);
    line = text_;
  }
  Log(LogLevel::kWarning, line);
}

void TierHealth::End() {
  {
    MutexLock lock(mu_);
    if (text_.empty()) return;
    text_.clear();
    any_.store(false, std::memory_order_relaxed);
  }
  Log(LogLevel::kInfo, absl::StrCat("tier.path ", path_, ": works again"));
}

std::string TierHealth::text() const {
  MutexLock lock(mu_);
  return text_;
}

}  // namespace shufflefs
