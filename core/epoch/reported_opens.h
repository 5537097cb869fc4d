// SPDX-License-Identifier: Apache-2.0
// ReportedOpens are the opens of one view that were reported (open_reports.h)
// and that the view has not counted yet.
#ifndef SHUFFLEFS_CORE_EPOCH_REPORTED_OPENS_H_
#define SHUFFLEFS_CORE_EPOCH_REPORTED_OPENS_H_

#include <cstdint>
#include <deque>

#include "absl/types/optional.h"
#include "core/epoch/epoch_outcome.h"
#include "core/epoch/open_reports.h"
#include "core/epoch/open_tracker.h"

namespace shufflefs {

// Not thread-safe: the view's lock guards it. No call blocks.
class ReportedOpens {
 public:
  // `reports` outlives the object; null if opens are never reported. `view` is
  // the view's number there.
  ReportedOpens(OpenReports* reports, uint32_t view)
      : reports_(reports), view_(view) {}

  // From now on opens come by reports.
  void Expect() { expected_ = reports_ != nullptr; }
  bool expected() const { return expected_; }

  // Takes what was reported since. Does nothing before Expect.
  void Fetch() {
    if (!expected_) return;
    OpenReports::Taken taken = reports_->Take(view_);
    lost_ = lost_ || taken.lost;
    waiting_.insert(waiting_.end(), taken.opens.begin(), taken.opens.end());
  }
  // The oldest that is not counted yet.
  absl::optional<ReportedOpen> Next() {
    if (waiting_.empty()) return absl::nullopt;
    const ReportedOpen open = waiting_.front();
    waiting_.pop_front();
    return open;
  }
  const std::deque<ReportedOpen>& waiting() const { return waiting_; }

  // A pass over `names` names has ended, and Fetch was called since. Changes
  // the verdict to hold if it is not certain which opens are of the next pass.
  void Judge(uint64_t names, OpenTracker& tracker, EpochOutcome& outcome);

  // Some opens since the last boundary are not known.
  void Lose() { lost_ = true; }
  void ForgetLost() { lost_ = false; }

 private:
  OpenReports* const reports_;
  const uint32_t view_;
  bool expected_ = false;
  bool lost_ = false;
  std::deque<ReportedOpen> waiting_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_REPORTED_OPENS_H_
