// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/verify/met_model_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/option_table.h"
#include "policies/met/met_options.h"
#include "policies/met/repeat_control.h"

namespace shufflefs {
namespace {

constexpr double kMaxRate = 1e18;
constexpr uint64_t kMaxPeak = uint64_t{1} << 40;

absl::StatusOr<double> Rate(absl::string_view option, const std::string& text,
                            absl::string_view by_default) {
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

absl::StatusOr<MetOptions> MetKeys(const std::vector<std::string>& words) {
  MountConfig mount;
  ViewConfig view;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (key != "met.mini_epochs" && key != "met.repeat") {
      return absl::InvalidArgumentError(
          absl::StrCat(word,
                       ": the model takes met.mini_epochs=N and "
                       "met.repeat=N only"));
    }
    RETURN_IF_ERROR(SetOption(
        key, equals == std::string::npos ? "" : word.substr(equals + 1), mount,
        view));
  }
  return MetOptions::Of(view.policy_options);
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

}  // namespace

absl::optional<double> ParseRate(absl::string_view text) {
  const absl::optional<uint64_t> bytes = ParseBytes(text);
  if (!bytes) return absl::nullopt;
  return static_cast<double>(*bytes);
}

void MetModelArguments::Declare(CLI::App& app) {
  app.add_option("--capacity-tier", capacity_,
                 "met's model: bytes/s that the capacity tier gives "
                 "(default: 400GiB)")
      ->type_name("SIZE");
  app.add_option("--tier", tier_,
                 "met's model: bytes/s that the performance tier gives "
                 "(default: all that is taken)")
      ->type_name("SIZE");
  app.add_option("--consume", consume_,
                 "met's model: bytes/s that the job takes at its peak "
                 "(default: the paper's 3.8TiB)")
      ->type_name("SIZE");
  app.add_option("--peak", peak_,
                 "met's model: the same in samples/s (default: 65000)")
      ->type_name("N");
  app.add_option("--dataset", dataset_,
                 "met's model: bytes of the dataset (default: 1TiB)")
      ->type_name("SIZE");
  app.add_option("--repeats", repeats_,
                 "met's model: how often each mini-epoch is shown, the last "
                 "for all that follow (default: met.repeat)")
      ->type_name("N,N,...");
}

bool MetModelArguments::given() const {
  return !(consume_.empty() && peak_.empty() && tier_.empty() &&
           capacity_.empty() && dataset_.empty() && repeats_.empty());
}

absl::StatusOr<MetQuestion> MetModelArguments::Question(
    const std::vector<std::string>& keys) const {
  MetQuestion question;
  MetTiers& tiers = question.tiers;
  ASSIGN_OR_RETURN(tiers.consumed_bytes, Rate("--consume", consume_, "3.8TiB"));
  ASSIGN_OR_RETURN(tiers.capacity_bytes,
                   Rate("--capacity-tier", capacity_, "400GiB"));
  tiers.tier_bytes = std::numeric_limits<double>::infinity();
  if (!tier_.empty()) {
    ASSIGN_OR_RETURN(tiers.tier_bytes, Rate("--tier", tier_, ""));
  }
  const absl::optional<uint64_t> peak =
      ParseNumber(peak_.empty() ? "65000" : peak_);
  if (!peak || *peak < 1 || *peak > kMaxPeak) {
    return absl::InvalidArgumentError(
        absl::StrCat("--peak ", peak_, ": must be from 1 to ", kMaxPeak));
  }
  tiers.peak_samples = static_cast<double>(*peak);
  ASSIGN_OR_RETURN(question.dataset_bytes, Rate("--dataset", dataset_, "1TiB"));
  ASSIGN_OR_RETURN(const MetOptions met, MetKeys(keys));
  if (!dataset_.empty() || !repeats_.empty() || !keys.empty()) {
    ASSIGN_OR_RETURN(question.repeats, Trace(met, repeats_, tiers));
  }
  return question;
}

absl::Status MetModelArguments::Run(const std::vector<std::string>& keys,
                                    bool json,
                                    const CommandContext& context) const {
  ASSIGN_OR_RETURN(const MetQuestion question, Question(keys));
  *context.out << (json ? MetModelObject(question).dump() + "\n"
                        : MetModelText(question));
  return absl::OkStatus();
}

}  // namespace shufflefs
