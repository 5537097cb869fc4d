// SPDX-License-Identifier: Apache-2.0
// One line an event, to stderr in the foreground and to syslog as a daemon.
// Thread-safe. A line names the file, offset or key that it is about.
#ifndef SHUFFLEFS_CORE_BASE_LOG_H_
#define SHUFFLEFS_CORE_BASE_LOG_H_

#include "absl/strings/string_view.h"

namespace shufflefs {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogTarget { kStderr, kSyslog };

// Until it is called lines are printed at kInfo. It may be called again while
// threads log, as a daemon does that leaves its terminal: each line goes to one
// of the targets.
void InitLog(LogTarget target, LogLevel level);

void Log(LogLevel level, absl::string_view line);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_LOG_H_
