// SPDX-License-Identifier: Apache-2.0
#include "policies/met/model/met_model_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/config/value_text.h"

namespace shufflefs {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostShown = 128;  // the paper's largest factor
constexpr double kBarLength = 32;
constexpr size_t kFactorsShown = 8;

std::string Bytes(double bytes) {
  return HumanBytes(static_cast<uint64_t>(std::llround(bytes)));
}

std::string Count(double count) {
  return HumanCount(static_cast<uint64_t>(std::llround(count)));
}

std::string SecondsText(double seconds) {
  return seconds < 100 ? absl::StrFormat("%.1f s", seconds)
                       : Count(seconds) + " s";
}

// Powers of two, and the factor from which nothing gets faster.
std::vector<uint64_t> Factors(uint64_t least) {
  std::vector<uint64_t> factors;
  for (uint64_t rf = 1; rf <= kMostShown; rf *= 2) {
    if (rf / 2 < least && least < rf) factors.push_back(least);
    factors.push_back(rf);
  }
  return factors;
}

std::string FactorRows(const MetTiers& tiers) {
  std::string text = "    rf  capacity tier/s     samples/s\n";
  for (uint64_t rf : Factors(MetLeastRepeat(tiers))) {
    const double samples = MetThroughput(tiers, rf);
    const double bar = kBarLength * samples / tiers.peak_samples;
    absl::StrAppendFormat(
        &text, "%6d%17s%14s  %s\n", rf, Bytes(MetCapacityDraw(tiers, rf)),
        Count(samples), std::string(static_cast<size_t>(std::ceil(bar)), '#'));
  }
  return text;
}

// "8, 8, 4, 2, …": a long list is cut, and a list of equal factors becomes one.
std::string FactorList(const std::vector<uint64_t>& repeats) {
  if (std::count(repeats.begin(), repeats.end(), repeats.front()) ==
      static_cast<std::ptrdiff_t>(repeats.size())) {
    return absl::StrCat(repeats.front());
  }
  const size_t shown = std::min(repeats.size(), kFactorsShown);
  return absl::StrCat(
      absl::StrJoin(repeats.begin(), repeats.begin() + shown, ", "),
      shown < repeats.size() ? ", …" : "");
}

std::string TraceText(const MetQuestion& question) {
  const MetTrace trace =
      TraceMet(question.tiers, question.dataset_bytes, question.repeats);
  const auto row = [](absl::string_view title, const std::string& value) {
    return absl::StrFormat("  %-38s%12s\n", title, value);
  };
  const size_t parts = question.repeats.size();
  return absl::StrCat(
      Bytes(question.dataset_bytes), " in ",
      Counted(parts, "mini-epoch", "mini-epochs"), " of ",
      Bytes(question.dataset_bytes / static_cast<double>(parts)), ", shown ",
      FactorList(question.repeats), " times", parts == 1 ? ":\n" : " each:\n",
      row("the first copy takes", SecondsText(trace.first_copy)),
      row("all are shown in", SecondsText(trace.shown)),
      row("readers wait between them", SecondsText(trace.waited)),
      row("read from the capacity tier", Bytes(trace.copied_bytes)),
      row("samples shown", Count(trace.samples)),
      row("samples/s, the first copy included",
          Count(trace.samples / trace.total())));
}

Json Finite(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json TraceObject(const MetQuestion& question) {
  const MetTrace trace =
      TraceMet(question.tiers, question.dataset_bytes, question.repeats);
  return {{"dataset_bytes", question.dataset_bytes},
          {"repeats", question.repeats},
          {"first_copy_seconds", trace.first_copy},
          {"shown_seconds", trace.shown},
          {"waited_seconds", trace.waited},
          {"total_seconds", trace.total()},
          {"copied_bytes", trace.copied_bytes},
          {"samples", trace.samples},
          {"samples_per_second", trace.samples / trace.total()}};
}

}  // namespace

std::string MetModelText(const MetQuestion& question) {
  const MetTiers& tiers = question.tiers;
  const uint64_t least = MetLeastRepeat(tiers);
  std::string text = absl::StrCat(
      "met by its analytical model: a job of ", Count(tiers.peak_samples),
      " samples/s, which are ", Bytes(tiers.consumed_bytes), "/s\n",
      "the capacity tier gives MIN(", Bytes(tiers.consumed_bytes), "/s / rf, ",
      Bytes(tiers.capacity_bytes), "/s), the performance tier ",
      std::isfinite(tiers.tier_bytes)
          ? absl::StrCat("at most ", Bytes(tiers.tier_bytes), "/s\n")
          : "all\n",
      FactorRows(tiers), "no faster from rf ", HumanCount(least), " on\n");
  if (!question.repeats.empty()) text += TraceText(question);
  return text;
}

Json MetModelObject(const MetQuestion& question) {
  const MetTiers& tiers = question.tiers;
  Json rows = Json::array();
  for (uint64_t rf = 1; rf <= kMostShown; ++rf) {
    rows.push_back({{"rf", rf},
                    {"capacity_bytes_per_second", MetCapacityDraw(tiers, rf)},
                    {"samples_per_second", MetThroughput(tiers, rf)}});
  }
  Json object = {{"consumed_bytes_per_second", tiers.consumed_bytes},
                 {"peak_samples_per_second", tiers.peak_samples},
                 {"tier_bytes_per_second", Finite(tiers.tier_bytes)},
                 {"capacity_bytes_per_second", tiers.capacity_bytes},
                 {"least_repeat", MetLeastRepeat(tiers)},
                 {"factors", rows}};
  object["trace"] = question.repeats.empty() ? Json() : TraceObject(question);
  return object;
}

}  // namespace shufflefs
