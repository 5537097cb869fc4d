// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/prefetch_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/config/value_text.h"

namespace shufflefs {
namespace {

using status_fields::Count;
using status_fields::Json;
using status_fields::Number;
using status_fields::PrefetchOf;
using status_fields::TextOf;

// The order that a job reads in, as far as it was recognised.
std::string Foreseen(const Json& job) {
  const std::string state = TextOf(job, "state");
  if (state == "recognised") {
    const auto opens = Count(job, "after_opens");
    return absl::StrCat(
        TextOf(job, "order"),
        opens ? absl::StrCat(", found after ", Counted(*opens, "open", "opens"))
              : "");
  }
  if (state == "searching") {
    const auto share = Number(job, "searched");
    return absl::StrCat(
        "tries all seeds",
        share ? absl::StrFormat(", %.0f %% done", 100 * *share) : "");
  }
  if (state == "unknown") return "nothing, for its order is not known";
  return "watches the opens";
}

// How much of the prefetched data was used.
std::vector<std::string> PrefetchShares(const Json& prefetcher) {
  std::vector<std::string> shares;
  if (const auto ready = Number(prefetcher, "ready_share")) {
    shares.push_back(
        absl::StrFormat("%.0f %% of opens found their data", 100 * *ready));
  }
  const auto bytes = Number(prefetcher, "prefetched_bytes");
  const auto wasted = Number(prefetcher, "wasted_bytes");
  if (bytes && wasted && *bytes > 0) {
    shares.push_back(absl::StrFormat("%.1f %% wasted", 100 * *wasted / *bytes));
  }
  return shares;
}

}  // namespace

std::vector<std::string> PrefetchLines(const Json& view) {
  std::vector<std::string> lines;
  const Json* const prefetcher = PrefetchOf(view);
  if (prefetcher == nullptr) return lines;
  const auto jobs = prefetcher->find("jobs");
  if (jobs == prefetcher->end() || !jobs->is_array()) return lines;
  for (const Json& job : *jobs) {
    if (!job.is_object()) continue;
    const std::string path = TextOf(job, "path");
    const auto files = Count(job, "files");
    lines.push_back(absl::StrCat(
        path.empty() ? "." : ShownPath(path),
        files ? absl::StrCat(" (", Counted(*files, "file", "files"), ")") : "",
        " ", Foreseen(job)));
  }
  std::string shares = absl::StrJoin(PrefetchShares(*prefetcher), " | ");
  if (shares.empty() || lines.empty()) return lines;
  if (lines.size() > 1) {
    lines.push_back(absl::StrCat("in all ", shares));
  } else {
    absl::StrAppend(&lines.front(), " | ", shares);
  }
  return lines;
}

}  // namespace shufflefs
