// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/watch/rate_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/status_fields.h"

namespace shufflefs {
namespace {

using status_fields::Count;
using status_fields::Json;
using status_fields::Number;
using status_fields::PrefetchOf;
using status_fields::ShownStatus;
using status_fields::TextOf;

constexpr double kMiB = 1024 * 1024;
constexpr char kUnknown[] = "-";

// A view at two times.
struct ViewChange {
  const Json& before;
  const Json& after;
  double seconds;
};

// By how much a counter grew. Empty if it is not known, or began anew.
absl::optional<double> Growth(const Json& before, const Json& after,
                              const char* key) {
  const auto first = Number(before, key);
  const auto last = Number(after, key);
  if (!first || !last || *last < *first) return absl::nullopt;
  return *last - *first;
}

absl::optional<double> SamplesPerSecond(const ViewChange& view) {
  const auto epoch = Count(view.after, "epoch");
  if (!epoch || epoch != Count(view.before, "epoch")) return absl::nullopt;
  const auto read = Growth(view.before, view.after, "consumed");
  if (!read || view.seconds <= 0) return absl::nullopt;
  return *read / view.seconds;
}

std::string MiBPerSecond(const ViewChange& view, const char* key) {
  const auto bytes = Growth(view.before, view.after, key);
  if (!bytes || view.seconds <= 0) return kUnknown;
  return absl::StrFormat("%.1f", *bytes / kMiB / view.seconds);
}

// `part` of both, in percent.
std::string Share(absl::optional<double> part, absl::optional<double> rest) {
  if (!part || !rest || *part + *rest <= 0) return kUnknown;
  return absl::StrFormat("%.0f%%", 100 * *part / (*part + *rest));
}

// How many of the samples were in memory when they were asked for.
std::string Hits(const ViewChange& view) {
  const auto hits = Growth(view.before, view.after, "hits");
  if (hits) return Share(hits, Growth(view.before, view.after, "misses"));
  const Json* const before = PrefetchOf(view.before);
  const Json* const after = PrefetchOf(view.after);
  if (before == nullptr || after == nullptr) return kUnknown;
  const auto ready = Growth(*before, *after, "ready");
  const auto opens = Growth(*before, *after, "opens");
  if (!ready || !opens) return kUnknown;
  return Share(ready, *opens - *ready);
}

std::string Done(const Json& view) {
  const auto samples = Number(view, "samples");
  const auto consumed = Number(view, "consumed");
  if (!samples || !consumed || *samples <= 0) return kUnknown;
  return absl::StrFormat("%.0f%%", 100 * *consumed / *samples);
}

// The time until the epoch ends, if it goes on at `rate`.
std::string EndsIn(const Json& view, absl::optional<double> rate) {
  const auto samples = Number(view, "samples");
  const auto consumed = Number(view, "consumed");
  if (!samples || !consumed || !rate || *rate <= 0) return kUnknown;
  const double seconds = std::ceil((*samples - *consumed) / *rate);
  if (seconds < 0 || seconds >= 1e6 * 3600) return kUnknown;
  const auto left = static_cast<uint64_t>(seconds);
  return absl::StrFormat("%d:%02d:%02d", left / 3600, left / 60 % 60,
                         left % 60);
}

std::string RateLine(const ViewChange& view, const std::string& name) {
  const auto rate = SamplesPerSecond(view);
  const auto epoch = Count(view.after, "epoch");
  return absl::StrFormat(
      "%-11s %5s %4s %9s %7s %7s %4s %4s %8s  %s\n",
      TextOf(view.after, "policy"), epoch ? absl::StrCat(*epoch) : kUnknown,
      Done(view.after),
      rate ? HumanCount(static_cast<uint64_t>(std::llround(*rate))) : kUnknown,
      MiBPerSecond(view, "served_bytes"), MiBPerSecond(view, "source_bytes"),
      Share(Growth(view.before, view.after, "stall_seconds"),
            Growth(view.before, view.after, "consumer_seconds")),
      Hits(view), EndsIn(view.after, rate), name);
}

// The view of `status` with that name. An empty object if there is none.
Json ViewNamed(const absl::StatusOr<Json>& status, const std::string& name) {
  if (!status.ok()) return Json::object();
  for (const Json& view : (*status)["views"]) {
    if (view.is_object() && TextOf(view, "name") == name) return view;
  }
  return Json::object();
}

}  // namespace

std::string RateTitles() {
  return absl::StrFormat("%-11s %5s %4s %9s %7s %7s %4s %4s %8s  %s\n",
                         "POLICY", "EPOCH", "DONE", "SAMPLES/S", "MIB/S",
                         "SOURCE", "WAIT", "HITS", "ENDS IN", "MOUNT");
}

absl::StatusOr<std::string> RateLines(
    const std::string& name, const absl::optional<StatusSample>& before,
    const StatusSample& after) {
  ASSIGN_OR_RETURN(const Json status, ShownStatus(after.json));
  const absl::StatusOr<Json> earlier = ShownStatus(before ? before->json : "");
  const double seconds = before ? after.seconds - before->seconds : 0;
  const Json& views = status["views"];
  std::string lines;
  for (const Json& view : views) {
    if (!view.is_object()) continue;
    const std::string view_name = TextOf(view, "name");
    const Json was = ViewNamed(earlier, view_name);
    absl::StrAppend(&lines, RateLine({was, view, seconds},
                                     views.size() == 1
                                         ? name
                                         : absl::StrCat(name, " ", view_name)));
  }
  return lines;
}

}  // namespace shufflefs
