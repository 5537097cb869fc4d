// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/pack/pack_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/progress_line.h"
#include "nlohmann/json.hpp"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// Reading is one half of the work and writing the other.
double Done(const PackProgress& progress) {
  return (static_cast<double>(progress.read) +
          static_cast<double>(progress.written)) /
         2;
}

uint64_t Rate(double bytes, double seconds) {
  return seconds > 0 ? static_cast<uint64_t>(bytes / seconds) : 0;
}

std::string Contents(const PackResult& result) {
  return absl::StrCat(Counted(result.files, "file", "files"), " in ",
                      Counted(result.chunks, "chunk", "chunks"), ", ",
                      HumanBytes(result.bytes));
}

// In single quotes if a shell would misinterpret it.
std::string Quoted(const std::string& path) {
  constexpr absl::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "/._-+:@%";
  if (path.find_first_not_of(kPlain.data()) == std::string::npos) return path;
  std::string quoted = "'";
  for (char c : path) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// As a value of -o, which is split at commas.
std::string OptionValue(const std::string& value) {
  return absl::StrReplaceAll(value, {{"\\", "\\\\"}, {",", "\\,"}});
}

}  // namespace

std::string PackProgressText(const PackProgress& begun, const PackProgress& now,
                             double seconds) {
  const auto total = static_cast<double>(now.total_bytes);
  const double rate = Done(now) > Done(begun) && seconds > 0
                          ? (Done(now) - Done(begun)) / seconds
                          : 0;
  const std::string text =
      absl::StrFormat("packing: %3.0f %%  %s of %s files",
                      total > 0 ? Done(now) / total * 100 : 100,
                      HumanCount(now.files), HumanCount(now.total_files));
  return rate == 0 ? text : text + RateText(rate, total - Done(now));
}

std::string PackText(const PackReport& report) {
  const PackResult& result = report.result;
  std::string text = absl::StrCat(report.destination, ": ", Contents(result),
                                  ", of ", report.source, "\n");
  if (result.was_complete) {
    absl::StrAppend(&text, "was complete already, nothing was written; ",
                    HumanBytes(result.disk_bytes), " of disk\n");
  } else {
    absl::StrAppendFormat(
        &text, "took %.1f s, %s/s; %s of disk\n", report.seconds,
        HumanBytes(
            Rate(static_cast<double>(result.written_bytes), report.seconds)),
        HumanBytes(result.disk_bytes));
  }
  if (result.resumed_chunks > 0 && !result.was_complete) {
    absl::StrAppend(&text, "went on behind ",
                    Counted(result.resumed_chunks, "chunk", "chunks"),
                    " of an earlier run\n");
  }
  if (report.unpacked_files > 0) {
    absl::StrAppend(
        &text, Counted(report.unpacked_files, "file is", "files are"),
        " not in it: splits, manifests and other files that never move\n");
  }
  for (const PolicyEntry* entry : Policies()) {
    const std::unique_ptr<const Policy> policy =
        entry->make(PolicyOptions(), nullptr);
    const PoolFacet* const pool = policy->pool();
    if (pool == nullptr || pool->packed_key.empty()) continue;
    absl::StrAppend(&text, "mount it: shufflefs -o policy=", entry->name, ",",
                    report.names_stay ? "substitute=directory," : "",
                    pool->packed_key, "=",
                    Quoted(OptionValue(report.destination)), " ",
                    Quoted(report.source), " MOUNTPOINT\n");
  }
  return text;
}

std::string PackJson(const PackReport& report) {
  const PackResult& result = report.result;
  nlohmann::ordered_json json;
  json["source"] = report.source;
  json["pack"] = report.destination;
  json["files"] = result.files;
  json["chunks"] = result.chunks;
  json["bytes"] = result.bytes;
  json["unpacked_files"] = report.unpacked_files;
  json["written_bytes"] = result.written_bytes;
  json["disk_bytes"] = result.disk_bytes;
  json["resumed_chunks"] = result.resumed_chunks;
  json["was_complete"] = result.was_complete;
  json["memory_bytes"] = report.memory_bytes;
  json["seconds"] = report.seconds;
  json["bytes_per_second"] =
      Rate(static_cast<double>(result.written_bytes), report.seconds);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace shufflefs
