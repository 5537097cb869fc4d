// SPDX-License-Identifier: Apache-2.0
// Where lines of the log go. A sink never waits. Threads log with locks held,
// so a terminal that is stopped, or a journal that hangs, would stop the mount.
#ifndef SHUFFLEFS_CORE_BASE_LOG_SINKS_H_
#define SHUFFLEFS_CORE_BASE_LOG_SINKS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/types/span.h"

namespace shufflefs {

struct LogLine {
  int priority = 0;  // as syslog(3) has it
  std::string text;
};

// One thread at a time.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Writes the lines, up to one that would wait or fails. Returns how many were
  // written. Of the others nothing is.
  virtual size_t Take(absl::Span<const LogLine> lines) = 0;
};

// Lines that end with a newline, to what stderr is at the moment: all of a call
// or none, so that a pipe which is nearly full gets no short ones alone. A disk
// may make it wait.
std::unique_ptr<LogSink> MakeStderrSink();

// Lines without a newline, to the daemon that listens at the socket `path`.
std::unique_ptr<LogSink> MakeSyslogSink(std::string path = "/dev/log");

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_LOG_SINKS_H_
