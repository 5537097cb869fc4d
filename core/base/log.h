// SPDX-License-Identifier: Apache-2.0
// The log: one line per event, to stderr in the foreground and to syslog as a
// daemon. Thread-safe. A line names the file, offset or key that it is about.
#ifndef SHUFFLEFS_CORE_BASE_LOG_H_
#define SHUFFLEFS_CORE_BASE_LOG_H_

#include "absl/strings/string_view.h"

namespace shufflefs {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogTarget { kStderr, kSyslog };

// Before the first call, lines are printed at kInfo. A daemon that leaves its
// terminal may call it again while threads log. Each line goes to one of the
// targets.
void InitLog(LogTarget target, LogLevel level);

void Log(LogLevel level, absl::string_view line);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_LOG_H_
