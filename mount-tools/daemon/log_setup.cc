// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/log_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace shufflefs {
namespace {

// systemd puts device and inode of the stream to its journal into this
// variable. A child that redirects stderr has the variable, too.
bool StderrIsTheJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat st;
  return stream != nullptr && fstat(STDERR_FILENO, &st) == 0 &&
         absl::StrCat(st.st_dev, ":", st.st_ino) == absl::string_view(stream);
}

LogOptions OptionsOf(const MountConfig& config) {
  LogOptions log;
  log.level = config.log_level;
  log.format = config.log_format;
  log.mountpoint = config.mountpoint;
  log.priorities = StderrIsTheJournal();
  return log;
}

}  // namespace

LogOptions TerminalLog(const MountConfig& config, const RunOptions& options) {
  LogOptions log = OptionsOf(config);
  const bool stays = options.foreground || options.debug;
  if (options.debug) log.level = LogLevel::kDebug;
  // What a command says before it returns is for who typed it.
  log.time_stamps = stays && !log.priorities;
  if (stays && config.log_target == LogTo::kSyslog) {
    log.target = LogTarget::kSyslog;
  }
  return log;
}

LogOptions DaemonLog(const MountConfig& config) {
  LogOptions log = OptionsOf(config);
  log.time_stamps = !log.priorities;
  if (config.log_target != LogTo::kStderr) log.target = LogTarget::kSyslog;
  return log;
}

}  // namespace shufflefs
