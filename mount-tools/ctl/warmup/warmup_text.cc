// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/warmup/warmup_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/config/value_text.h"

namespace shufflefs {
namespace {

using ReportJson = nlohmann::ordered_json;

std::string Rate(const WarmupReport& report) {
  if (report.seconds <= 0 || report.read.bytes == 0) return "";
  const double rate = static_cast<double>(report.read.bytes) / report.seconds;
  return absl::StrCat(", ", HumanBytes(static_cast<uint64_t>(rate)), "/s");
}

// What is not in memory now, and what to do. "" if all is.
std::string LeftOutLines(const WarmupReport& report) {
  std::string text;
  if (report.left_files > 0) {
    absl::StrAppend(&text,
                    "left out: ", Counted(report.left_files, "file", "files"),
                    " of ", HumanBytes(report.left_bytes), ", because ",
                    report.limited ? "--limit is " : "memory has room for ",
                    HumanBytes(report.room), "\n");
    if (!report.limited) {
      absl::StrAppend(&text,
                      "  These are read from the source. "
                      "`shufflectl check` names a policy that helps.\n");
    }
  }
  if (report.read.failed > 0) {
    absl::StrAppend(
        &text, "unreadable: ", Counted(report.read.failed, "file", "files"),
        ", the first ", ShownPath(report.read.first_failure), "\n");
  }
  return text;
}

}  // namespace

std::string WarmupText(const WarmupReport& report) {
  return absl::StrCat(
      ShownPath(report.source), ": ", HumanBytes(report.read.bytes), " of ",
      HumanBytes(report.bytes), " and ", HumanCount(report.read.files), " of ",
      Counted(report.files, "file", "files"), " are in memory now\n",
      absl::StrFormat("read in %.1f s", report.seconds), Rate(report), "\n",
      LeftOutLines(report));
}

std::string WarmupJson(const WarmupReport& report) {
  const ReportJson json = {{"source", report.source},
                           {"files", report.files},
                           {"bytes", report.bytes},
                           {"room_bytes", report.room},
                           {"read_files", report.read.files},
                           {"read_bytes", report.read.bytes},
                           {"left_out_files", report.left_files},
                           {"left_out_bytes", report.left_bytes},
                           {"unreadable_files", report.read.failed},
                           {"first_unreadable", report.read.first_failure},
                           {"seconds", report.seconds},
                           {"interrupted", report.interrupted}};
  return json.dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

}  // namespace shufflefs
