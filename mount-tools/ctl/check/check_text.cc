// SPDX-License-Identifier: Apache-2.0
// The report of `shufflectl check` as text and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/check/check_report.h"
#include "policies/auto/gain_estimate.h"

namespace shufflefs {
namespace {

using ReportJson = nlohmann::ordered_json;

constexpr size_t kShown = 5;  // shown items of a list on a terminal

std::string Title(absl::string_view title) {
  return absl::StrFormat("  %-12s", absl::StrCat(title, ":"));
}

// "a, b, c and 17 more". "" for an empty list.
std::string ListLine(absl::string_view title,
                     const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    shown.push_back(ShownPath(items[i]));
  }
  const size_t more = items.size() - shown.size();
  return absl::StrCat(
      Title(title), absl::StrJoin(shown, ", "),
      more > 0 ? absl::StrCat(" and ", HumanCount(more), " more") : "", "\n");
}

std::string KindText(SplitKind kind) {
  return kind == SplitKind::kValidation ? "validation" : "test";
}

std::string SplitsLine(const CheckReport& report) {
  std::vector<std::string> splits;
  for (const SplitFound& split : report.splits) {
    splits.push_back(absl::StrCat(split.path, " (", KindText(split.kind), ", ",
                                  Counted(split.files, "file", "files"), ")"));
  }
  if (splits.empty()) return Title("splits") + "none\n";
  return ListLine("splits", splits);
}

std::string NamesLine(const CheckReport& report) {
  const SubstitutionSafety& substitution_safety = report.substitution_safety;
  if (substitution_safety.moves) {
    return absl::StrCat(
        Title("names"), "may show other samples inside ",
        Counted(substitution_safety.classes, "class", "classes"), ": ",
        ShownPath(substitution_safety.reason), "\n");
  }
  return absl::StrCat(Title("names"), "keep their own samples: ",
                      ShownPath(substitution_safety.reason), "\n");
}

std::string PairsLine(const CheckReport& report) {
  if (report.paired_samples == 0) return "";
  return absl::StrCat(
      Title("pairs"),
      Counted(report.paired_samples, "sample is", "samples are"),
      " several files that share a stem, and stay together\n");
}

// "" if no file waits for a rule.
std::string RecordHintLine(const CheckReport& report) {
  if (!report.record_hint || report.rows_policy.empty()) return "";
  const RecordHint& hint = *report.record_hint;
  return absl::StrCat(
      Title("records"), "no rule cuts ", ShownPath(hint.first),
      hint.files > 1
          ? absl::StrCat(" and ", HumanCount(hint.files - 1), " more")
          : "",
      "; if each row is a sample, use -o policy=", report.rows_policy,
      ",record.as=", ShownPath(ShellWord(hint.rules)),
      hint.files > 1 ? ", and record.align if rows of files correspond" : "",
      "\n");
}

std::string MemoryLine(const CheckReport& report) {
  const MachineMemory& memory = report.memory;
  if (memory.bytes == 0) return Title("memory") + "size not known\n";
  return absl::StrCat(
      Title("memory"),
      report.fits_in_memory ? "the dataset fits: " : "the dataset is larger: ",
      HumanBytes(memory.bytes), " (", memory.decided_by, ")\n");
}

// "brand about 6x the files a second of 4 plain readers at random, about 2x of
// 16 (120 and 400 raw)".
std::string GainLine(const GainsOfPolicy& of, bool fits_in_memory) {
  const bool records = of.gains.front().record_bytes > 0;
  std::vector<std::string> times;
  std::vector<std::string> raw;
  for (const PolicyGain& gain : of.gains) {
    times.push_back(absl::StrCat(
        AboutTimes(gain.gain()),
        times.empty() ? absl::StrCat(records ? " the records" : " the files",
                                     " a second of ", gain.readers,
                                     " plain readers at random")
                      : absl::StrCat(" of ", gain.readers)));
    raw.push_back(absl::StrFormat("%.0f", gain.raw));
  }
  return absl::StrCat(
      Title("gain"), of.policy, " ", absl::StrJoin(times, ", "), " (",
      absl::StrJoin(raw, " and "), " raw)",
      records ? absl::StrCat(", if they are of ",
                             HumanBytes(of.gains.front().record_bytes))
              : "",
      fits_in_memory ? ", in the first epoch only\n" : "\n");
}

std::string GainLines(const CheckReport& report) {
  std::string text;
  for (const GainsOfPolicy& of : report.gains) {
    text += GainLine(of, report.fits_in_memory);
  }
  return text;
}

std::string SuggestionLines(const CheckReport& report) {
  std::string text;
  for (const Suggestion& suggestion : report.suggestions) {
    absl::StrAppend(&text, Title(text.empty() ? "use" : "or"),
                    ShownPath(suggestion.command), "\n", Title("").substr(0, 2),
                    std::string(12, ' '), suggestion.when, "\n");
  }
  return text;
}

// "" if the layout has no name.
std::string KnownLayoutLine(const CheckReport& report) {
  if (!report.known_layout) return "";
  return absl::StrCat(report.known_layout->name, ": ",
                      ShownPath(report.known_layout->what), ".\n");
}

// The answer, before its evidence.
std::string VerdictLines(const CheckReport& report) {
  const std::string names =
      report.mostly_records ? "Records inside containers can be shuffled."
      : report.substitution_safety.moves
          ? "File names can show other samples of their class."
          : "File names keep their samples.";
  std::string text = absl::StrCat(
      KnownLayoutLine(report), report.expectation, "\n", names,
      "\nRun: ", ShownPath(report.suggestions.front().command), "\n");
  if (report.mostly_records && report.suggestions.size() > 1) {
    absl::StrAppend(&text, "For a full shuffle: ",
                    ShownPath(report.suggestions[1].command), "\n");
  }
  return text;
}

ReportJson GainJson(const CheckReport& report) {
  ReportJson gains = ReportJson::array();
  for (const GainsOfPolicy& of : report.gains) {
    for (const PolicyGain& gain : of.gains) {
      ReportJson json = {{"policy", of.policy}, {"readers", gain.readers}};
      const bool records = gain.record_bytes > 0;
      if (records) json["record_bytes"] = gain.record_bytes;
      json[records ? "raw_records_per_second" : "raw_files_per_second"] =
          gain.raw;
      json[records ? "records_per_second" : "files_per_second"] = gain.rate;
      json["gain"] = gain.gain();
      gains.push_back(std::move(json));
    }
  }
  return gains;
}

ReportJson DeviceJson(const DeviceProbe& device) {
  const char* names[] = {"unknown", "memory", "flash", "seek_bound",
                         "latency_bound"};
  return {{"class", names[static_cast<int>(device.device)]},
          {"median_us", device.figures.median_us},
          {"parallel_gain", device.figures.parallel_gain},
          {"bytes_per_second", device.figures.bytes_per_second},
          {"line", device.line}};
}

}  // namespace

std::string CheckSummary(const CheckReport& report) {
  return absl::StrCat(
      VerdictLines(report), "\n", NamesLine(report), RecordHintLine(report),
      MemoryLine(report), Title("device"), report.device.line, "\n",
      ListLine("unreadable", report.unreadable),
      "\nThe evidence, and other commands: shufflectl check -v ",
      ShownPath(ShellWord(report.path)), "\n");
}

std::string CheckText(const CheckReport& report) {
  return absl::StrCat(
      VerdictLines(report), "\n", ShownPath(report.path), ": ",
      Counted(report.files, "file", "files"), " in ",
      Counted(report.directories, "directory", "directories"), ", ",
      report.estimated ? "about " : "", HumanBytes(report.bytes),
      absl::StrFormat(", scanned in %.2f s\n", report.scan_seconds),
      report.estimated
          ? absl::StrCat(Title("sizes"), "estimated from a part of the files\n")
          : "",
      Title("layout"), ShownPath(report.substitution_safety.layout), "\n",
      NamesLine(report), SplitsLine(report),
      ListLine("manifests", report.manifests),
      ListLine("containers", report.containers), RecordHintLine(report),
      PairsLine(report), ListLine("unreadable", report.unreadable),
      MemoryLine(report), Title("device"), report.device.line, "\n",
      Title("auto"), ShownPath(report.choice.why), "\n", GainLines(report),
      SuggestionLines(report));
}

std::string CheckJson(const CheckReport& report) {
  ReportJson splits = ReportJson::array();
  for (const SplitFound& split : report.splits) {
    splits.push_back({{"path", split.path},
                      {"kind", KindText(split.kind)},
                      {"files", split.files}});
  }
  ReportJson commands = ReportJson::array();
  for (const Suggestion& suggestion : report.suggestions) {
    commands.push_back(
        {{"command", suggestion.command}, {"when", suggestion.when}});
  }
  const ReportJson json = {
      {"source", report.path},
      {"files", report.files},
      {"directories", report.directories},
      {"links", report.links},
      {"bytes", report.bytes},
      {"bytes_are_estimated", report.estimated},
      {"samples", report.samples},
      {"paired_samples", report.paired_samples},
      {"layout", report.substitution_safety.layout},
      {"known_layout", report.known_layout
                           ? ReportJson(report.known_layout->name)
                           : ReportJson()},
      {"names_may_move", report.substitution_safety.moves},
      {"reason", report.substitution_safety.reason},
      {"classes", report.substitution_safety.classes},
      {"has_validation_split", report.substitution_safety.has_validation_split},
      {"splits", splits},
      {"manifests", report.manifests},
      {"containers", report.containers},
      {"record_as", report.record_hint ? ReportJson(report.record_hint->rules)
                                       : ReportJson()},
      {"unreadable", report.unreadable},
      {"memory_bytes", report.memory.bytes},
      {"memory_decided_by", report.memory.decided_by},
      {"fits_in_memory", report.fits_in_memory},
      {"device", DeviceJson(report.device)},
      {"policy", report.choice.policy},
      {"why", report.choice.why},
      {"gain", GainJson(report)},
      {"commands", commands}};
  return json.dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

}  // namespace shufflefs
