// SPDX-License-Identifier: Apache-2.0
#include "core/view/opens_seen.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

using By = OpensSeen::By;

// Returns why opens in this view need an answer of their own, or "".
std::string NeedsAnswers(const ViewSetup& setup) {
  if (setup.binds_on_demand()) {
    return absl::StrCat("policy = ", setup.policy->name(),
                        " binds names as they are opened");
  }
  if (setup.records.pool != nullptr) {
    return "records of containers are shuffled";
  }
  return "";
}

}  // namespace

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
  const bool changes = setup.rebinds() || setup.records.pool != nullptr;
  return (changes && setup.config.epoch_advance == Advance::kAuto) ||
         setup.binds_on_demand();
}

OpensSeen HowOpensAreSeen(
    OpenMode mode, absl::Span<const std::shared_ptr<const ViewSetup>> setups,
    const std::string& no_reports, bool backing) {
  if (mode == OpenMode::kUnseen) return {By::kNothing, "open = unseen"};
  if (mode == OpenMode::kSeen) return {By::kRequests, "open = seen"};
  if (mode == OpenMode::kAuto) {
    const bool wanted = absl::c_any_of(
        setups, [](const auto& setup) { return WantsOpens(*setup); });
    if (wanted) return {By::kRequests, "open = auto"};
    if (!backing) return {By::kNothing, "nothing depends on opens"};
    return {By::kRequests, "the kernel reads large files by itself"};
  }
  for (const std::shared_ptr<const ViewSetup>& setup : setups) {
    std::string why = NeedsAnswers(*setup);
    if (!why.empty()) return {By::kRequests, std::move(why)};
  }
  if (!no_reports.empty()) return {By::kRequests, no_reports};
  return {By::kReports, "open = observed"};
}

}  // namespace shufflefs
