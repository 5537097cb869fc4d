// SPDX-License-Identifier: Apache-2.0
#include "core/view/opens_seen.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

using By = OpensSeen::By;

// Returns whether opens tell this view what to prefetch. It does without them.
bool LearnsFromOpens(const ViewSetup& setup) {
  return setup.prefetcher != nullptr;
}

// Returns why opens in this view need an answer of their own, or "".
std::string NeedsAnswers(const ViewSetup& setup) {
  return setup.records.producer != nullptr
             ? "records of containers are shuffled"
             : "";
}

using Setups = absl::Span<const std::shared_ptr<const ViewSetup>>;

bool AnyOf(Setups setups, bool (*is)(const ViewSetup&)) {
  return absl::c_any_of(setups, [is](const auto& setup) { return is(*setup); });
}

// Returns why opens that end epochs must be requests, or "".
std::string NoReportsFor(const ViewSetup& setup,
                         const OpensPossible& possible) {
  std::string why = NeedsAnswers(setup);
  if (!why.empty()) return why;
  if (!possible.no_reports.empty()) return possible.no_reports;
  return possible.no_rebinding;
}

// The same if nobody asked for reports.
std::string NoReportsByDefault(const ViewSetup& setup,
                               const OpensPossible& possible) {
  std::string why = NoReportsFor(setup, possible);
  if (!why.empty()) return why;
  const uint64_t samples = setup.dataset->grouping().sample_count();
  if (WantsOpens(setup) && samples < kLeastReported) {
    return absl::StrCat("a pass of ", samples, " samples is short");
  }
  const uint32_t dirs = setup.dataset->catalogue().dir_count();
  if (dirs > kMostWatched) {
    return absl::StrCat(dirs, " directories are too many to watch");
  }
  return "";
}

// Returns the first answer of `why` that is not "", or "".
std::string FirstOf(Setups setups, const OpensPossible& possible,
                    std::string (*why)(const ViewSetup&,
                                       const OpensPossible&)) {
  for (const std::shared_ptr<const ViewSetup>& setup : setups) {
    std::string found = why(*setup, possible);
    if (!found.empty()) return found;
  }
  return "";
}

OpensSeen OpensByDefault(Setups setups, const OpensPossible& possible) {
  if (possible.backing) {
    return {By::kRequests, "the kernel reads large files by itself"};
  }
  if (AnyOf(setups, WantsOpens)) {
    std::string why = FirstOf(setups, possible, NoReportsByDefault);
    if (!why.empty()) return {By::kRequests, std::move(why)};
    return {By::kReports, "epochs end by opens"};
  }
  const bool answered = AnyOf(setups, [](const ViewSetup& setup) {
    return !NeedsAnswers(setup).empty();
  });
  // A request for each open would cost more than it brings.
  if (AnyOf(setups, LearnsFromOpens) && !answered &&
      possible.no_reports.empty()) {
    return {By::kReports, "what to prefetch is learnt from opens",
            /*counts=*/false};
  }
  return {By::kNothing, "nothing depends on opens"};
}

}  // namespace

absl::Status CheckOpens(const ViewSetup& setup, bool sees, bool reports) {
  const bool suits =
      sees ? !reports || NeedsAnswers(setup).empty() : !setup.binds_on_demand();
  if (suits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("policy = ", setup.policy->name(),
                   " needs to see opens: mount with -o open=seen"));
}

std::string OpensSeenName(By by) {
  switch (by) {
    case By::kNothing:
      return "nothing";
    case By::kRequests:
      return "requests";
    case By::kReports:
      return "reports";
  }
  return "";
}

bool WantsOpens(const ViewSetup& setup) {
  const bool changes = setup.rebinds() || setup.records.producer != nullptr;
  return (changes && setup.config.epoch_advance == Advance::kAuto) ||
         setup.binds_on_demand();
}

bool EndsByOpens(const ViewSetup& setup, bool records) {
  return (setup.rebinds() || records) &&
         setup.config.epoch_advance == Advance::kAuto;
}

OpenTracker::Options TrackerOptions(const ViewSetup& setup, bool grouped) {
  const ViewConfig& config = setup.config;
  OpenTracker::Options options;
  options.samples = setup.dataset->grouping().sample_count();
  options.groups = setup.dataset->grouping().group_count();
  options.finds_epochs = config.epoch_advance == Advance::kAuto && !grouped;
  options.epoch_length = config.epoch_length;
  if (config.epoch_length == 0 && config.nodes && config.nodes->count > 1) {
    // A distributed sampler gives each node an equal share. It repeats some
    // samples to do so.
    options.epoch_length =
        (options.samples + config.nodes->count - 1) / config.nodes->count;
  }
  // If samples repeat anyhow, a sample that is read to pad a pass does no harm.
  // The value must not depend on the present binding, because the tracker would
  // be made anew with it.
  options.epoch_pad = setup.repeats() ? 1 : config.epoch_pad;
  options.double_open = config.epoch_double_open;
  // Names that are kept would show the same samples in too many epochs.
  options.may_leave_out = !setup.repeats();
  return options;
}

OpensSeen HowOpensAreSeen(
    OpenMode mode, absl::Span<const std::shared_ptr<const ViewSetup>> setups,
    const OpensPossible& possible) {
  if (mode == OpenMode::kUnseen) return {By::kNothing, "open = unseen"};
  if (mode == OpenMode::kSeen) return {By::kRequests, "open = seen"};
  if (mode == OpenMode::kAuto) return OpensByDefault(setups, possible);
  std::string why = FirstOf(setups, possible, NoReportsFor);
  if (!why.empty()) return {By::kRequests, std::move(why)};
  return {By::kReports, "open = observed"};
}

}  // namespace shufflefs
