// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/pack/aligned_pack_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/progress_line.h"
#include "nlohmann/json.hpp"

namespace shufflefs {
namespace {

uint64_t Rate(uint64_t bytes, double seconds) {
  return seconds > 0
             ? static_cast<uint64_t>(static_cast<double>(bytes) / seconds)
             : 0;
}

absl::string_view FitName(PageFit fit) {
  return fit == PageFit::kNext ? "next" : "best";
}

double Before(const AlignedPackReport& report) {
  return ReadAmplification(report.result.source_pages, report.page_bytes,
                           report.result.stripped_bytes);
}

double After(const AlignedPackReport& report) {
  return ReadAmplification(report.result.padded_pages, report.page_bytes,
                           report.result.stripped_bytes);
}

}  // namespace

std::string AlignProgressText(const AlignProgress& begun,
                              const AlignProgress& now, double seconds) {
  const double done = now.total_bytes > 0
                          ? static_cast<double>(now.read) /
                                static_cast<double>(now.total_bytes) * 100
                          : 100;
  const std::string text =
      absl::StrFormat("packing: %3.0f %%  %s of %s files", done,
                      HumanCount(now.files), HumanCount(now.total_files));
  const uint64_t rate = Rate(now.read - begun.read, seconds);
  if (rate == 0) return text;
  return text + RateText(static_cast<double>(rate),
                         static_cast<double>(now.total_bytes - now.read));
}

std::string AlignedPackText(const AlignedPackReport& report) {
  const AlignResult& result = report.result;
  std::string text = absl::StrCat(
      report.destination, ": ", Counted(result.records, "record", "records"),
      " in ", Counted(result.files, "file", "files"), ", ",
      HumanBytes(result.stripped_bytes), ", of ", report.source, "\n");
  absl::StrAppend(&text, "padded to pages of ", FormatBytes(report.page_bytes),
                  " by ", FitName(report.fit),
                  " fit: ", HumanBytes(result.padded_bytes), "\n");
  absl::StrAppendFormat(&text,
                        "read for each byte, records at random, page by page: "
                        "%.3f before, %.3f after\n",
                        Before(report), After(report));
  if (result.was_complete) {
    return text + "was complete already, nothing was written\n";
  }
  absl::StrAppendFormat(&text, "took %.1f s, %s/s\n", report.seconds,
                        HumanBytes(Rate(result.read_bytes, report.seconds)));
  if (result.resumed_files > 0) {
    absl::StrAppend(&text, "went on behind ",
                    Counted(result.resumed_files, "file", "files"),
                    " of an earlier run\n");
  }
  return text;
}

std::string AlignedPackJson(const AlignedPackReport& report) {
  const AlignResult& result = report.result;
  nlohmann::ordered_json json;
  json["source"] = report.source;
  json["pack"] = report.destination;
  json["page_bytes"] = report.page_bytes;
  json["fit"] = std::string(FitName(report.fit));
  json["files"] = result.files;
  json["records"] = result.records;
  json["bytes"] = result.stripped_bytes;
  json["padded_bytes"] = result.padded_bytes;
  json["amplification_before"] = Before(report);
  json["amplification_after"] = After(report);
  json["read_bytes"] = result.read_bytes;
  json["resumed_files"] = result.resumed_files;
  json["was_complete"] = result.was_complete;
  json["seconds"] = report.seconds;
  json["bytes_per_second"] = Rate(result.read_bytes, report.seconds);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace shufflefs
