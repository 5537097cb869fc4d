// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/doctor_text.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/doctor/without_names.h"
#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {
namespace {

// `text` with each line moved to the right.
std::string Indented(const std::string& text) {
  if (text.empty()) return "";
  std::string moved =
      absl::StrCat("    ", absl::StrReplaceAll(text, {{"\n", "\n    "}}));
  while (!moved.empty() && (moved.back() == ' ' || moved.back() == '\n')) {
    moved.pop_back();
  }
  return moved + "\n";
}

std::string VersionOf(const MountFacts& facts) {
  const auto status = status_fields::ParseStatus(facts.status);
  return status.ok() ? status_fields::TextOf(*status, "version") : "";
}

const char* StateText(MountState state) {
  switch (state) {
    case MountState::kAnswers:
      return "its daemon answers";
    case MountState::kDead:
      return "its daemon is gone";
    case MountState::kSilent:
      return "its daemon does not answer";
    case MountState::kRefuses:
      return "it is another user's";
  }
  return "";
}

// "" if nothing is wrong.
std::string MountAdvice(const MountEvidence& mount, const std::string& ours) {
  const std::string state = StateText(mount.facts.state);
  if (mount.facts.state == MountState::kDead) {
    return state + ": mount again, or shufflectl umount";
  }
  if (mount.facts.state == MountState::kSilent) {
    return state + ": shufflectl umount -l";
  }
  const std::string version = VersionOf(mount.facts);
  if (version.empty() || version == ours) return "";
  return absl::StrCat("its daemon has version ", version,
                      ": unmount, and mount again");
}

std::string AdviceText(const DoctorReport& report) {
  std::vector<std::string> advice = SystemAdvice(report.system);
  for (size_t i = 0; i < report.mounts.size(); ++i) {
    const std::string line =
        MountAdvice(report.mounts[i], report.system.ctl_version);
    if (line.empty()) continue;
    advice.push_back(absl::StrCat("mount ", i + 1, ": ", line));
  }
  if (advice.empty()) advice.push_back("nothing: no fault was found");
  std::string text = "what to do:\n";
  for (const std::string& line : advice) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  return text;
}

std::string MountText(const MountEvidence& mount, bool names) {
  const MountFacts& facts = mount.facts;
  std::string text = absl::StrCat(StateText(facts.state), "\n");
  if (names) {
    absl::StrAppend(&text, "  at ", ShownPath(facts.mountpoint), ", of ",
                    ShownPath(facts.source), "\n");
  }
  absl::StrAppend(&text, "  source: ", mount.device, "\n");
  for (const std::string& control : mount.controls) {
    absl::StrAppend(&text, "  keys:\n", Indented(SettingsText(control, names)));
  }
  if (!mount.error.empty()) {
    absl::StrAppend(&text, "  last refusal: ",
                    names ? mount.error : absl::StrCat(kLeftOut, "\n"));
  }
  const std::string status =
      names ? facts.status : StatusWithoutNames(facts.status);
  absl::StrAppend(&text, "  status:", status.empty() ? " none" : "", "\n",
                  Indented(status));
  return text;
}

std::string LogText(const std::string& log, bool names) {
  if (log.empty()) return "log: not found\n";
  if (names) return absl::StrCat("log:\n", Indented(log));
  return absl::StrCat(
      "log: ",
      Counted(std::count(log.begin(), log.end(), '\n'), "line", "lines"), " ",
      kLeftOut, "\n");
}

}  // namespace

std::string DoctorText(const DoctorReport& report, bool names) {
  std::string text = absl::StrCat(
      "report of shufflectl doctor\n",
      names ? "It holds names of the dataset: remove what is private.\n"
            : "Names and texts that may hold them are left out; --names "
              "includes them.\n",
      "\n", AdviceText(report), "\n", SystemText(report.system));
  for (size_t i = 0; i < report.mounts.size(); ++i) {
    absl::StrAppend(&text, "\nmount ", i + 1, ": ",
                    MountText(report.mounts[i], names));
  }
  if (report.mounts.empty()) absl::StrAppend(&text, "\nmounts: none\n");
  return ShownLines(absl::StrCat(text, "\n", LogText(report.log, names)));
}

}  // namespace shufflefs
