// SPDX-License-Identifier: Apache-2.0
#include "fs/model/error_log.h"

#include "core/base/log.h"

namespace shufflefs {

void ErrorLog::Say(const std::string& line) {
  const Clock::time_point now = Clock::now();
  {
    MutexLock lock(mu_);
    if (said_.size() >= kMostLines) said_.clear();
    auto [found, fresh] = said_.try_emplace(line, now);
    if (!fresh && now - found->second < kQuiet) return;
    found->second = now;
  }
  Log(LogLevel::kError, line);
}

}  // namespace shufflefs
