// SPDX-License-Identifier: Apache-2.0
// ReportedOpens are the opens of one view that were reported (open_reports.h)
// and that the view has not counted yet.
#ifndef SHUFFLEFS_CORE_EPOCH_REPORTED_OPENS_H_
#define SHUFFLEFS_CORE_EPOCH_REPORTED_OPENS_H_

#include <cstdint>
#include <deque>

#include "absl/strings/string_view.h"
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
  // Opens are reported, and no report that may matter was lost.
  bool are_whole() const {
    return expected_ && !crashed_ && !misses_reader_ && !lost_before_;
  }

  // Takes what was reported since. Does nothing before Expect.
  void Fetch() {
    if (!expected_) return;
    OpenReports::Taken taken = reports_->Take(view_);
    waiting_.insert(waiting_.end(), taken.opens.begin(), taken.opens.end());
    fetched_ += taken.opens.size();
    if (!taken.lost) return;
    is_crash_ = false;
    lost_before_ = fetched_;
  }
  // The oldest that is not counted yet.
  absl::optional<ReportedOpen> Next() {
    if (waiting_.empty()) return absl::nullopt;
    const ReportedOpen open = waiting_.front();
    waiting_.pop_front();
    ++counted_;
    return open;
  }
  const std::deque<ReportedOpen>& waiting() const { return waiting_; }

  // A pass over `names` names has ended, and Fetch was called since. Changes
  // the verdict to hold if it is not certain which opens are of the next pass.
  // Then it is not certain either that names were left unopened.
  // `is_younger`: the job whose open brought the verdict began after this
  // process did.
  void Judge(uint64_t names, bool is_younger, OpenTracker& tracker,
             OpenTracker::Seen& seen);

  // A crash of an earlier process lost some opens: the next boundary is held.
  void Lose() {
    crashed_ = is_crash_ = true;
    lost_before_ = fetched_;
  }
  // A thread opens files, and none of it is reported.
  void MissReader() { misses_reader_ = true; }
  // A line for status, or "".
  absl::string_view Warning() const;
  // Names are rebound, so nothing that was lost matters any more.
  void ForgetLost() {
    crashed_ = is_crash_ = false;
    lost_before_.reset();
  }

 private:
  // Returns whether reports of the job whose pass has ended were lost. Then it
  // is not known where its passes begin. Perhaps the first opens of one were
  // lost. A reader of a fixed order opens these names first in the next pass,
  // too, and there they would seem to be the last of the pass before. So no
  // boundary of this job is certain again.
  bool LostInJob(const EpochOutcome& outcome, bool is_younger) const;

  OpenReports* const reports_;
  const uint32_t view_;
  bool expected_ = false;
  bool crashed_ = false;   // and no pass has ended since
  bool is_crash_ = false;  // the last loss was a crash
  bool misses_reader_ = false;
  // The last pass that ended was held, or would have been.
  bool is_doubtful_ = false;

  uint64_t fetched_ = 0;  // opens, since Expect
  uint64_t counted_ = 0;  // those that Next returned
  // The last lost report came before the fetched open of this number.
  absl::optional<uint64_t> lost_before_;
  std::deque<ReportedOpen> waiting_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_REPORTED_OPENS_H_
