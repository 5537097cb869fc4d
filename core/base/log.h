// SPDX-License-Identifier: Apache-2.0
// The log: one line per event, to stderr in the foreground and to syslog as a
// daemon. Thread-safe. A line names the file, offset or key that it is about.
#ifndef SHUFFLEFS_CORE_BASE_LOG_H_
#define SHUFFLEFS_CORE_BASE_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace shufflefs {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogTarget { kStderr, kSyslog };
enum class LogFormat {
  kText,
  kJson,  // an object per line: time, level, mountpoint, message
};

struct LogOptions {
  LogTarget target = LogTarget::kStderr;
  LogLevel level = LogLevel::kInfo;  // lower levels are left out
  LogFormat format = LogFormat::kText;
  // For text on stderr. Syslog adds its own.
  bool time_stamps = false;
  // Lines on stderr begin with the priority, as in "<4>". The journal of
  // systemd takes it from there.
  bool priorities = false;
  std::string mountpoint;  // for JSON; "": left out
};

// Before the first call, lines are printed at kInfo. A daemon that leaves its
// terminal may call it again while threads log. Each line goes to one of the
// targets.
void InitLog(const LogOptions& options);

// Control characters are replaced, so that a file name cannot look like another
// line. Never waits for a terminal, a pipe or the journal. If it does not take
// the line at once, the line is lost. The next line that is taken comes after
// one that says how many were lost.
void Log(LogLevel level, absl::string_view line);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_LOG_H_
