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
  if (!report.record_hint) return "";
  const RecordHint& hint = *report.record_hint;
  const bool seeks = report.device.device == DeviceKind::kSeekBound ||
                     report.device.device == DeviceKind::kLatencyBound;
  return absl::StrCat(
      Title("records"), "no rule cuts ", ShownPath(hint.first),
      hint.files > 1
          ? absl::StrCat(" and ", HumanCount(hint.files - 1), " more")
          : "",
      "; if each row is a sample, use -o policy=",
      seeks && !report.fits_in_memory ? "reimu" : "lirs",
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

// "" if no gain applies.
std::string GainLine(const CheckReport& report) {
  if (!report.usual_gain || !report.many_gain) return "";
  const GainEstimate& usual = *report.usual_gain;
  return absl::StrFormat(
      "%sbrand %s the files a second of %d plain readers at random, %s of %d "
      "(%.0f and %.0f raw)%s\n",
      Title("gain"), AboutTimes(usual.gain()), kUsualReaders,
      AboutTimes(report.many_gain->gain()), kManyReaders, usual.raw,
      report.many_gain->raw,
      report.fits_in_memory ? ", in the first epoch only" : "");
}

std::string AheadLine(const CheckReport& report) {
  if (!report.usual_ahead || !report.many_ahead) return "";
  return absl::StrFormat(
      "%sclairvoyant %s the files a second of %d plain readers at random, %s "
      "of %d (%.0f and %.0f raw)\n",
      Title("gain"), AboutTimes(report.usual_ahead->gain()), kUsualReaders,
      AboutTimes(report.many_ahead->gain()), kManyReaders,
      report.usual_ahead->raw, report.many_ahead->raw);
}

std::string RecordGainLine(const CheckReport& report) {
  if (!report.record_gain) return "";
  return absl::StrFormat(
      "%sreimu %s the records a second of %d plain readers at random (%.0f "
      "raw), if they are of %s%s\n",
      Title("gain"), AboutTimes(report.record_gain->gain()), kUsualReaders,
      report.record_gain->at_random, HumanBytes(kUsualRecord),
      report.fits_in_memory ? ", in the first epoch only" : "");
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

// What to expect of speed, in one line.
std::string Expectation(const CheckReport& report) {
  const std::string& policy = report.choice.policy;
  if (policy == "brand" && report.usual_gain) {
    return absl::StrCat("Gain: ", AboutTimes(report.usual_gain->gain()),
                        " the files per second, by brand.");
  }
  if (policy == "clairvoyant" && report.usual_ahead) {
    return absl::StrCat("Gain: ", AboutTimes(report.usual_ahead->gain()),
                        " the files per second, by clairvoyant.");
  }
  if (policy == "clairvoyant") {
    return "No gain in speed can be promised; clairvoyant reads ahead.";
  }
  if (policy == "reimu" && report.record_gain) {
    return absl::StrCat("Gain: ", AboutTimes(report.record_gain->gain()),
                        " the records per second, by reimu.");
  }
  if (policy != "native") return absl::StrCat("Gain: order, by ", policy, ".");
  if (report.fits_in_memory) {
    return "No gain in speed: the dataset fits in memory.";
  }
  return report.device.device == DeviceKind::kUnknown
             ? "No gain can be promised: the device could not be measured."
             : "No gain in speed by default.";
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
      KnownLayoutLine(report), Expectation(report), "\n", names,
      "\nRun: ", ShownPath(report.suggestions.front().command), "\n");
  if (report.mostly_records && report.suggestions.size() > 1) {
    absl::StrAppend(&text, "For a full shuffle: ",
                    ShownPath(report.suggestions[1].command), "\n");
  }
  return text;
}

ReportJson GainJson(const CheckReport& report) {
  ReportJson gains = ReportJson::array();
  const auto add = [&](const char* policy, int readers, double raw,
                       double policy_rate) {
    gains.push_back({{"policy", policy},
                     {"readers", readers},
                     {"raw_files_per_second", raw},
                     {"files_per_second", policy_rate},
                     {"gain", policy_rate / raw}});
  };
  for (const auto& [readers, gain] :
       {std::pair(kUsualReaders, report.usual_gain),
        std::pair(kManyReaders, report.many_gain)}) {
    if (gain) add("brand", readers, gain->raw, gain->brand);
  }
  for (const auto& [readers, gain] :
       {std::pair(kUsualReaders, report.usual_ahead),
        std::pair(kManyReaders, report.many_ahead)}) {
    if (gain) add("clairvoyant", readers, gain->raw, gain->ahead);
  }
  if (report.record_gain) {
    gains.push_back({{"policy", "reimu"},
                     {"readers", kUsualReaders},
                     {"record_bytes", kUsualRecord},
                     {"raw_records_per_second", report.record_gain->at_random},
                     {"records_per_second", report.record_gain->in_blocks},
                     {"gain", report.record_gain->gain()}});
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
      Title("auto"), ShownPath(report.choice.why), "\n", AheadLine(report),
      GainLine(report), RecordGainLine(report), SuggestionLines(report));
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
