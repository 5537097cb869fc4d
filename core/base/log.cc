// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log_sinks.h"
#include "core/base/mutex.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"

namespace shufflefs {
namespace {

using Level = spdlog::level::level_enum;

Level SpdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return Level::debug;
    case LogLevel::kInfo:
      return Level::info;
    case LogLevel::kWarning:
      return Level::warn;
    case LogLevel::kError:
      return Level::err;
  }
  return Level::err;
}

const char* NameOf(Level level) {
  return level == Level::debug  ? "debug"
         : level == Level::info ? "info"
         : level == Level::warn ? "warning"
                                : "error";
}

int PriorityOf(Level level) {
  return level == Level::debug  ? LOG_DEBUG
         : level == Level::info ? LOG_INFO
         : level == Level::warn ? LOG_WARNING
                                : LOG_ERR;
}

// "2026-11-25T17:03:09.123+0100", or with Z for UTC.
std::string TimeText(spdlog::log_clock::time_point time, bool utc) {
  const std::time_t seconds = spdlog::log_clock::to_time_t(time);
  std::tm parts{};
  if (utc) {
    gmtime_r(&seconds, &parts);
  } else {
    localtime_r(&seconds, &parts);
  }
  char date[32];
  char zone[8];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
  std::strftime(zone, sizeof(zone), "%z", &parts);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                      time.time_since_epoch())
                      .count();
  return absl::StrFormat("%s.%03d%s", date, ms % 1000, utc ? "Z" : zone);
}

std::string WithoutControls(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

// What a line is, from the text that Log was given.
class LineFormatter : public spdlog::formatter {
 public:
  explicit LineFormatter(LogOptions options) : options_(std::move(options)) {}

  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& dest) override {
    const bool to_stderr = options_.target == LogTarget::kStderr;
    std::string line;
    if (to_stderr && options_.priorities) {
      absl::StrAppend(&line, "<", PriorityOf(message.level), ">");
    }
    line += options_.format == LogFormat::kJson ? Json(message) : Text(message);
    if (to_stderr) line += "\n";
    dest.append(line.data(), line.data() + line.size());
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(options_);
  }

 private:
  std::string Json(const spdlog::details::log_msg& message) const {
    nlohmann::ordered_json json;
    json["time"] = TimeText(message.time, /*utc=*/true);
    json["level"] = NameOf(message.level);
    if (!options_.mountpoint.empty()) json["mountpoint"] = options_.mountpoint;
    json["message"] =
        std::string(message.payload.data(), message.payload.size());
    return json.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace);
  }

  std::string Text(const spdlog::details::log_msg& message) const {
    const std::string text = WithoutControls(
        std::string(message.payload.data(), message.payload.size()));
    if (options_.target == LogTarget::kSyslog) return text;
    return absl::StrCat(
        options_.time_stamps ? TimeText(message.time, /*utc=*/false) + " " : "",
        "shufflefs: ", NameOf(message.level), ": ", text);
  }

  const LogOptions options_;
};

// Once a line is taken again, the one before it says how many were lost.
class CountingSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CountingSink(std::unique_ptr<LogSink> sink)
      : sink_(std::move(sink)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::vector<LogLine> lines;
    if (lost_ > 0) {
      const std::string text =
          absl::StrCat("lines of the log that were lost: ", lost_);
      lines.push_back(LineOf(
          spdlog::details::log_msg(message.time, message.source,
                                   message.logger_name, Level::warn, text)));
    }
    lines.push_back(LineOf(message));
    const size_t taken = sink_->Take(lines);
    if (taken > 0) lost_ = 0;
    if (taken < lines.size()) ++lost_;
  }
  void flush_() override {}  // nothing is kept

  LogLine LineOf(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    return {PriorityOf(message.level), std::string(text.data(), text.size())};
  }

  const std::unique_ptr<LogSink> sink_;
  uint64_t lost_ = 0;
};

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

spdlog::sink_ptr SinkOf(LogTarget target) {
  return std::make_shared<CountingSink>(
      target == LogTarget::kStderr ? MakeStderrSink() : MakeSyslogSink());
}

}  // namespace

void InitLog(const LogOptions& options) {
  auto logger =
      std::make_unique<spdlog::logger>("shufflefs", SinkOf(options.target));
  logger->set_formatter(std::make_unique<LineFormatter>(options));
  logger->set_level(SpdLevel(options.level));
  // By default it would write to stderr, and wait for it.
  logger->set_error_handler([](const std::string&) {});
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
