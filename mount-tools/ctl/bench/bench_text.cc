// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/bench/bench_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/config/value_text.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

constexpr double kBytesPerMiB = 1024 * 1024;

absl::optional<double> PerSecond(const BenchResult& result, bool files) {
  if (!result.speed || result.speed->seconds <= 0) return absl::nullopt;
  const uint64_t count = files ? result.speed->files : result.speed->bytes;
  return static_cast<double>(count) / result.speed->seconds;
}

// How many times as fast as raw.
absl::optional<double> AgainstRaw(const BenchResult& result,
                                  const BenchResult& raw) {
  if (result.seconds && raw.seconds) {
    if (*result.seconds <= 0) return absl::nullopt;
    return *raw.seconds / *result.seconds;
  }
  const auto bytes = PerSecond(result, false);
  const auto raw_bytes = PerSecond(raw, false);
  if (!bytes || !raw_bytes || *raw_bytes <= 0) return absl::nullopt;
  return *bytes / *raw_bytes;
}

std::string TimesText(absl::optional<double> times) {
  return times ? absl::StrFormat("%.2fx", *times) : "-";
}

}  // namespace

std::vector<std::string> PoliciesToTry(const CheckReport& report,
                                       bool runs_command) {
  const auto pays = [&](const BenchedData& benched) {
    if (benched.any) return true;
    if (!report.containers.empty()) return benched.containers;
    if (report.substitution_safety.moves) return benched.classes;
    return runs_command && benched.own_programs;
  };
  std::vector<std::string> first;
  std::vector<std::string> others;
  for (const PolicyEntry* entry : Policies()) {
    const std::string name(entry->name);
    if (entry->advice.benched.any) {
      first.push_back(name);
    } else if (name != report.choice.policy && pays(entry->advice.benched)) {
      others.push_back(name);
    }
  }
  if (std::find(first.begin(), first.end(), report.choice.policy) ==
      first.end()) {
    first.push_back(report.choice.policy);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

std::string BenchTitles(bool runs_command) {
  if (runs_command) {
    return absl::StrFormat("%-12s %9s  %s\n", "", "SECONDS", "AGAINST RAW");
  }
  return absl::StrFormat("%-12s %9s %9s  %s\n", "", "FILES/S", "MIB/S",
                         "AGAINST RAW");
}

std::string BenchLine(const BenchResult& result, const BenchResult& raw) {
  if (!result.trouble.empty()) {
    return absl::StrFormat("%-12s %s\n", result.name, result.trouble);
  }
  const std::string times = TimesText(AgainstRaw(result, raw));
  if (result.seconds) {
    return absl::StrFormat("%-12s %9.1f  %s\n", result.name, *result.seconds,
                           times);
  }
  const double files = PerSecond(result, true).value_or(0);
  std::string line = absl::StrFormat(
      "%-12s %9s %9.1f  %s\n", result.name,
      HumanCount(static_cast<uint64_t>(std::llround(files))),
      PerSecond(result, false).value_or(0) / kBytesPerMiB, times);
  if (result.speed && result.speed->errors > 0) {
    absl::StrAppend(&line, "  ", Counted(result.speed->errors, "file", "files"),
                    " could not be read\n");
  }
  return line;
}

std::string BenchVerdict(const std::vector<BenchResult>& results) {
  constexpr double kGain = 1.1;  // less is within the noise of a short run
  const BenchResult* best = nullptr;
  double most = kGain;
  for (const BenchResult& result : results) {
    const double times = AgainstRaw(result, results.front()).value_or(0);
    if (times <= most) continue;
    best = &result;
    most = times;
  }
  if (best == nullptr) {
    return "no mount was faster than raw: mount only if you need the shuffle\n";
  }
  return absl::StrFormat("fastest: %s, %.1f times raw: -o policy=%s\n",
                         best->name, most, best->name);
}

std::string BenchJson(const BenchResult& result, const BenchResult& raw) {
  const auto or_null = [](absl::optional<double> value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json json = {
      {"name", result.name},
      {"cold", result.cold},
      {"files_per_second", or_null(PerSecond(result, true))},
      {"bytes_per_second", or_null(PerSecond(result, false))},
      {"seconds", or_null(result.seconds)},
      {"against_raw", or_null(AgainstRaw(result, raw))},
      {"trouble", nullptr}};
  if (!result.trouble.empty()) json["trouble"] = result.trouble;
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace shufflefs
