// SPDX-License-Identifier: Apache-2.0
#include "policies/met/model/met_model_report.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "policies/met/met_options.h"
#include "policies/met/model/met_model_text.h"
#include "policies/met/repeat_control.h"

namespace shufflefs {
namespace {

constexpr double kMaxRate = 1e18;
constexpr uint64_t kMaxPeak = uint64_t{1} << 40;

absl::StatusOr<double> Rate(const ModelRequest& request,
                            absl::string_view option,
                            absl::string_view by_default) {
  const std::string text = request.option(option);
  const absl::optional<double> rate =
      ParseRate(text.empty() ? by_default : text);
  if (rate && *rate >= 1 && *rate <= kMaxRate) return *rate;
  return absl::InvalidArgumentError(absl::StrCat(
      option, " ", text, ": must be bytes, such as 400GiB or 3.8TiB"));
}

absl::StatusOr<std::vector<uint64_t>> Repeats(const std::string& list) {
  std::vector<uint64_t> repeats;
  for (absl::string_view word : absl::StrSplit(list, ',')) {
    const absl::optional<uint64_t> repeat = ParseNumber(word);
    if (!repeat || *repeat < 1 || *repeat > MetOptions::kMostRepeat ||
        repeats.size() == MetOptions::kMostMiniEpochs) {
      return absl::InvalidArgumentError(
          absl::StrCat("--repeats ", list, ": must be numbers from 1 to ",
                       MetOptions::kMostRepeat, ", separated by commas"));
    }
    repeats.push_back(*repeat);
  }
  return repeats;
}

absl::Status CheckWords(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (absl::StartsWith(word, "met.mini_epochs=") ||
        absl::StartsWith(word, "met.repeat=")) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        word, ": the model takes met.mini_epochs=N and met.repeat=N only"));
  }
  return absl::OkStatus();
}

// One factor per mini-epoch: those of --repeats, of which the last is repeated,
// else met.repeat. If neither is set, the factor is as large as the copying
// needs.
absl::StatusOr<std::vector<uint64_t>> Trace(const MetOptions& keys,
                                            const std::string& list,
                                            const MetTiers& tiers) {
  std::vector<uint64_t> repeats;
  if (!list.empty()) {
    ASSIGN_OR_RETURN(repeats, Repeats(list));
  } else if (keys.repeat != 0) {
    repeats = {keys.repeat};
  } else {
    repeats = {std::min(MetLeastRepeat(tiers), RepeatControl::kMostByItself)};
  }
  const uint64_t parts = keys.mini_epochs;
  if (parts != 0 && repeats.size() > parts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--repeats ", list, ": are more than met.mini_epochs=", parts));
  }
  if (parts != 0) repeats.resize(parts, repeats.back());
  return repeats;
}

absl::StatusOr<MetQuestion> QuestionOf(const ModelRequest& request) {
  MetQuestion question;
  MetTiers& tiers = question.tiers;
  ASSIGN_OR_RETURN(tiers.consumed_bytes, Rate(request, "--consume", "3.8TiB"));
  ASSIGN_OR_RETURN(tiers.capacity_bytes,
                   Rate(request, "--capacity-tier", "400GiB"));
  tiers.tier_bytes = std::numeric_limits<double>::infinity();
  if (!request.option("--tier").empty()) {
    ASSIGN_OR_RETURN(tiers.tier_bytes, Rate(request, "--tier", ""));
  }
  const std::string rate = request.option("--peak");
  const absl::optional<uint64_t> peak =
      ParseNumber(rate.empty() ? "65000" : rate);
  if (!peak || *peak < 1 || *peak > kMaxPeak) {
    return absl::InvalidArgumentError(
        absl::StrCat("--peak ", rate, ": must be from 1 to ", kMaxPeak));
  }
  tiers.peak_samples = static_cast<double>(*peak);
  ASSIGN_OR_RETURN(question.dataset_bytes, Rate(request, "--dataset", "1TiB"));
  RETURN_IF_ERROR(CheckWords(request.words));
  const std::string repeats = request.option("--repeats");
  if (!request.option("--dataset").empty() || !repeats.empty() ||
      !request.words.empty()) {
    ASSIGN_OR_RETURN(question.repeats,
                     Trace(MetOptions::Of(request.keys), repeats, tiers));
  }
  return question;
}

}  // namespace

absl::optional<double> ParseRate(absl::string_view text) {
  const absl::optional<uint64_t> bytes = ParseBytes(text);
  if (!bytes) return absl::nullopt;
  return static_cast<double>(*bytes);
}

absl::StatusOr<ModelReport> MakeMetModelReport(const ModelRequest& request) {
  ASSIGN_OR_RETURN(const MetQuestion question, QuestionOf(request));
  return ModelReport{MetModelText(question), MetModelObject(question).dump()};
}

}  // namespace shufflefs
