// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <syslog.h>

#include <memory>

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

}  // namespace

void InitLog(LogTarget target, LogLevel level) {
  std::shared_ptr<spdlog::logger> logger;
  if (target == LogTarget::kSyslog) {
    logger = std::make_shared<spdlog::logger>(
        "shufflefs", std::make_shared<spdlog::sinks::syslog_sink_mt>(
                         "shufflefs", LOG_PID, LOG_DAEMON, false));
  } else {
    logger = std::make_shared<spdlog::logger>(
        "shufflefs", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("shufflefs: %l: %v");
  }
  logger->set_level(SpdLevel(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void Log(LogLevel level, absl::string_view line) {
  spdlog::log(SpdLevel(level), "{}",
              spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace shufflefs
