// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <syslog.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/sinks/syslog_sink.h"
#include "spdlog/spdlog.h"

namespace shufflefs {
namespace {

spdlog::level::level_enum SpdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// The last logger is in use. Replaced loggers stay, because a thread may still
// be writing a line to one.
struct Loggers {
  Mutex mu;
  std::vector<std::unique_ptr<spdlog::logger>> all ABSL_GUARDED_BY(mu);
  std::atomic<spdlog::logger*> current{nullptr};
};

Loggers& AllLoggers() {
  // Never deleted: threads log to the very end.
  static Loggers* const loggers = new Loggers;
  return *loggers;
}

}  // namespace

void InitLog(LogTarget target, LogLevel level) {
  std::unique_ptr<spdlog::logger> logger;
  if (target == LogTarget::kSyslog) {
    logger = std::make_unique<spdlog::logger>(
        "shufflefs", std::make_shared<spdlog::sinks::syslog_sink_mt>(
                         "shufflefs", LOG_PID, LOG_DAEMON, false));
  } else {
    logger = std::make_unique<spdlog::logger>(
        "shufflefs", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("shufflefs: %l: %v");
  }
  logger->set_level(SpdLevel(level));
  logger->flush_on(spdlog::level::debug);
  Loggers& loggers = AllLoggers();
  MutexLock lock(loggers.mu);
  loggers.current = logger.get();
  loggers.all.push_back(std::move(logger));
}

void Log(LogLevel level, absl::string_view line) {
  spdlog::logger* logger = AllLoggers().current;
  if (logger == nullptr) logger = spdlog::default_logger_raw();
  logger->log(SpdLevel(level), "{}",
              spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace shufflefs
