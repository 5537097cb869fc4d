// SPDX-License-Identifier: Apache-2.0
// Converts the values of keys to fields, for the rows of option_table.cc: the
// words that a key takes, and one function per kind of value. Each returns
// false and changes nothing if the text is no such value.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_VALUES_H_
#define SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_VALUES_H_

#include <grp.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/config/config.h"
#include "core/config/value_text.h"
#include "core/formats/record_align.h"
#include "core/formats/table/record_rules.h"
#include "policies/registry.h"

namespace shufflefs::option_values {

template <typename E>
struct Word {
  absl::string_view text;
  E value;
};

inline constexpr Word<Advance> kAdvanceWords[] = {{"auto", Advance::kAuto},
                                                  {"manual", Advance::kManual}};
inline constexpr Word<Substitute> kSubstituteWords[] = {
    {"auto", Substitute::kAuto},
    {"never", Substitute::kNever},
    {"directory", Substitute::kDirectory},
    {"tree", Substitute::kTree}};
inline constexpr Word<PairMode> kPairWords[] = {{"stem", PairMode::kStem},
                                                {"off", PairMode::kOff}};
inline constexpr Word<Layout> kLayoutWords[] = {{"tree", Layout::kTree},
                                                {"ranked", Layout::kRanked}};
inline constexpr Word<OpenMode> kOpenWords[] = {
    {"auto", OpenMode::kAuto},
    {"seen", OpenMode::kSeen},
    {"observed", OpenMode::kObserved},
    {"unseen", OpenMode::kUnseen}};
inline constexpr Word<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                                {"info", LogLevel::kInfo},
                                                {"warning", LogLevel::kWarning},
                                                {"error", LogLevel::kError}};
inline constexpr Word<bool> kYesOff[] = {{"yes", true}, {"off", false}};
inline constexpr Word<LogFormat> kLogFormats[] = {{"text", LogFormat::kText},
                                                  {"json", LogFormat::kJson}};
inline constexpr Word<LogTo> kLogTargets[] = {{"auto", LogTo::kAuto},
                                              {"stderr", LogTo::kStderr},
                                              {"syslog", LogTo::kSyslog}};
inline constexpr Word<RecordOptions::Csv> kCsvWords[] = {
    {"plain", RecordOptions::Csv::kPlain},
    {"quoted", RecordOptions::Csv::kQuoted}};
inline constexpr Word<RecordScope> kScopeWords[] = {
    {"file", RecordScope::kFile},
    {"set", RecordScope::kSet},
    {"view", RecordScope::kView}};
inline constexpr uint64_t kMaxEpoch = std::numeric_limits<int64_t>::max();
inline constexpr uint64_t kMaxSamples = uint64_t{1} << 40;
inline constexpr std::chrono::milliseconds kHour{3'600'000};
inline constexpr uint64_t kMaxRecord = uint64_t{1} << 40;
inline constexpr size_t kMostGroupBytes = size_t{1} << 24;
inline constexpr uint64_t kMaxTier = uint64_t{1024} << 40;
inline constexpr uint64_t kMinBandwidth = uint64_t{64} << 10;
inline constexpr uint64_t kMinMemory = uint64_t{4} << 20;
inline constexpr uint64_t kMaxMemory = uint64_t{64} << 40;

template <typename E, size_t N>
bool SetWord(const Word<E> (&words)[N], absl::string_view text, E& field) {
  for (const Word<E>& word : words) {
    if (word.text != text) continue;
    field = word.value;
    return true;
  }
  return false;
}

template <typename E, size_t N>
std::string GetWord(const Word<E> (&words)[N], E value) {
  for (const Word<E>& word : words) {
    if (word.value == value) return std::string(word.text);
  }
  return "";
}

template <typename T>
bool SetNumber(absl::string_view text, uint64_t min, uint64_t max, T& field) {
  const absl::optional<uint64_t> number = ParseNumber(text);
  if (!number || *number < min || *number > max) return false;
  field = static_cast<T>(*number);
  return true;
}

template <typename T, typename F>
bool SetTo(absl::optional<T> value, F& field) {
  if (value) field = *std::move(value);
  return value.has_value();
}

inline bool SetTime(absl::string_view text, std::chrono::milliseconds& field) {
  const absl::optional<std::chrono::milliseconds> time = ParseDuration(text);
  if (!time || *time > kHour) return false;
  field = *time;
  return true;
}

inline bool SetPolicy(absl::string_view text, ViewConfig& view) {
  const std::vector<absl::string_view> names = PolicyNames();
  if (text != "auto" &&
      std::find(names.begin(), names.end(), text) == names.end()) {
    return false;
  }
  view.policy = std::string(text);
  return true;
}

inline bool SetBytes(absl::string_view text, uint64_t min, uint64_t max,
                     uint64_t& field) {
  const absl::optional<uint64_t> bytes = ParseBytes(text);
  if (!bytes || *bytes < min || *bytes > max) return false;
  field = *bytes;
  return true;
}

inline bool SetRecordRules(absl::string_view text, ViewConfig& view) {
  // A missing record size is detected later, when all keys are known.
  RecordOptions options;
  options.as = std::string(text);
  options.bytes = 1;
  if (!RecordRules::Parse(options).ok()) return false;
  view.record.as = std::move(options.as);
  return true;
}

inline bool SetRecordAlign(absl::string_view text, ViewConfig& view) {
  if (!AlignRules::Parse(text).ok()) return false;
  view.record.align = std::string(text);
  return true;
}

inline bool SetMemory(absl::string_view text, MountConfig& mount) {
  absl::string_view number = text;
  if (absl::ConsumeSuffix(&number, "%")) {
    return SetNumber(number, 1, 100, mount.memory_percent);
  }
  const absl::optional<uint64_t> bytes = ParseBytes(text);
  if (!bytes || *bytes < kMinMemory || *bytes > kMaxMemory) return false;
  mount.memory = *bytes;
  mount.memory_percent = 0;
  return true;
}

inline bool SetTierCapacity(absl::string_view text, MountConfig& mount) {
  absl::string_view number = text;
  if (absl::ConsumeSuffix(&number, "%")) {
    return SetNumber(number, 1, 100, mount.tier_percent);
  }
  if (!SetBytes(text, kMinMemory, kMaxTier, mount.tier_capacity)) return false;
  mount.tier_percent = 0;
  return true;
}

// Accepts an absolute path without NUL.
// HOST:PORT. A host in brackets may have colons.
inline bool SetHostAndPort(absl::string_view text, std::string& field) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == 0 || colon == absl::string_view::npos ||
      text.find_first_of("/; ") != absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0 ||
      port > 65535) {
    return false;
  }
  field = std::string(text);
  return true;
}

inline bool SetPeers(absl::string_view text, std::string& field) {
  absl::string_view hosts = text;
  if (absl::ConsumePrefix(&hosts, "etcd:")) {
    const size_t slash = hosts.find('/');
    if (slash == absl::string_view::npos || slash + 1 == hosts.size()) {
      return false;
    }
    hosts = hosts.substr(0, slash);
  } else {
    absl::ConsumePrefix(&hosts, "dns:");
  }
  std::string host;
  for (const absl::string_view each : absl::StrSplit(hosts, ';')) {
    if (text != "slurm" && !SetHostAndPort(each, host)) return false;
  }
  field = std::string(text);
  return true;
}

inline bool SetAbsolutePath(absl::string_view text, std::string& field) {
  if (!absl::StartsWith(text, "/") || absl::StrContains(text, '\0')) {
    return false;
  }
  field = std::string(text);
  return true;
}

// For a key of a policy.
inline bool SetPolicyValue(const PolicyOption& option, absl::string_view text,
                           PolicyOptions& options) {
  using Kind = PolicyOption::Kind;
  PolicyOptions changed = options;
  if (option.kind == Kind::kNumbers) {
    absl::optional<std::vector<uint64_t>> numbers = ParseSeeds(text);
    if (!numbers) return false;
    changed.Set(option.key, *std::move(numbers));
  } else if (option.kind == Kind::kNumber || option.kind == Kind::kBytes) {
    const bool unset = !option.unset.empty() && text == option.unset;
    const absl::optional<uint64_t> number = unset ? option.initial
                                            : option.kind == Kind::kNumber
                                                ? ParseNumber(text)
                                                : ParseBytes(text);
    // A default that is no allowed value can only be written as its word.
    if (!number || (!unset && *number < option.min)) return false;
    changed.Set(option.key, *number);
  } else {
    changed.Set(option.key, text);
  }
  if (!changed.Check(option).ok()) return false;
  options = std::move(changed);
  return true;
}

// In the form that SetPolicyValue takes. Empty if the key has no value.
inline std::string PolicyValueText(const PolicyOption& option,
                                   const PolicyOptions& options) {
  using Kind = PolicyOption::Kind;
  if (option.kind == Kind::kNumbers) {
    return FormatSeeds(options.numbers(option));
  }
  if (option.kind == Kind::kFraction) {
    return absl::StrCat(options.fraction(option));
  }
  if (option.kind != Kind::kNumber && option.kind != Kind::kBytes) {
    return options.text(option);
  }
  const uint64_t number = options.number(option);
  if (number < option.min) return std::string(option.unset);
  return option.kind == Kind::kBytes ? FormatBytes(number)
                                     : absl::StrCat(number);
}

inline bool SetEpochLength(absl::string_view text, ViewConfig& view) {
  if (text == "all") {
    view.epoch_length = 0;
    return true;
  }
  return SetNumber(text, 1, kMaxSamples, view.epoch_length);
}

inline bool SetSeed(absl::string_view text, ViewConfig& view) {
  uint64_t seed = 0;
  if (!SetNumber(text, 0, std::numeric_limits<uint64_t>::max(), seed)) {
    return false;
  }
  view.seed = Seed(seed);
  return true;
}

inline bool SetEpochStart(absl::string_view text, ViewConfig& view) {
  uint64_t epoch = 0;
  if (!SetNumber(text, 0, kMaxEpoch, epoch)) return false;
  view.epoch_start = Epoch(epoch);
  return true;
}

// The id of a group by its name, also of a group that a directory service
// knows.
inline absl::optional<uint32_t> GroupNamed(absl::string_view name) {
  if (name.empty() || absl::StrContains(name, '\0')) return absl::nullopt;
  std::vector<char> buffer(size_t{1} << 10);
  group found;
  group* result = nullptr;
  int error = ERANGE;
  while (error == ERANGE && buffer.size() < kMostGroupBytes) {
    buffer.resize(2 * buffer.size());
    error = getgrnam_r(std::string(name).c_str(), &found, buffer.data(),
                       buffer.size(), &result);
  }
  if (result == nullptr) return absl::nullopt;
  return result->gr_gid;
}

inline bool SetControlGid(absl::string_view text, MountConfig& mount) {
  uint32_t gid = 0;
  // The largest value means "leave unchanged" to chown.
  if (SetNumber(text, 0, std::numeric_limits<uint32_t>::max() - 1, gid)) {
    mount.control_gid = gid;
    return true;
  }
  const absl::optional<uint32_t> named = GroupNamed(text);
  if (named) mount.control_gid = named;
  return named.has_value();
}

}  // namespace shufflefs::option_values

#endif  // SHUFFLEFS_MOUNT_TOOLS_CONFIG_OPTION_VALUES_H_
