// SPDX-License-Identifier: Apache-2.0
// The records of a view's containers, epoch by epoch.
#include "core/view/view.h"

namespace shufflefs {

void View::BindRecords(Epoch epoch) {
  // Who reads on in the old one has its order made again.
  if (records_ != nullptr) records_->Rest();
  records_ = MakeRecordEpoch(*setup_, epoch, /*live=*/true);
}

std::shared_ptr<RecordEpoch> View::LookupContainer(EntryId file) {
  for (;;) {
    const std::shared_ptr<const LiveEpoch> live = Enter(looked_);
    const std::shared_ptr<RecordEpoch>& records = live->records;
    if (records == nullptr || !records->Has(file)) return nullptr;
    if (live->setup->config.epoch_advance != Advance::kAuto ||
        !records->BeginsByLookup(file)) {
      return records;
    }
    uint64_t begun = 0;
    {
      MutexLock lock(mu_);
      if (records_ == records) begun = BeginPass();
    }
    if (begun != 0) TellKernel(/*were_fixed=*/false, begun);
  }
}

uint64_t View::BeginPass() {
  Begin(Boundary{Epoch(epoch_.value() + 1), {}, "b"});
  return begun_;
}

View::OpenVerdict View::OpenContainer(EntryId file, RecordEpoch& shown,
                                      int32_t pid) {
  const uint32_t reader = ReaderOf(pid);
  OpenVerdict verdict = OpenVerdict::kStale;
  uint64_t begun = 0;
  {
    MutexLock lock(mu_);
    read_ = true;
    const bool second_try = sent_back_.Take(reader);
    const PassWatch::OpenIs is = PassOf(file, shown, reader);
    if (is == PassWatch::OpenIs::kOfThisPass) return OpenVerdict::kServe;
    if (is == PassWatch::OpenIs::kTheNextPass) {
      begun = BeginPass();
      read_ = true;  // the open that showed it is one of the new pass
    }
    // The kernel asks no third time: it gets the whole file in the order of
    // the epoch before, as the boundary came between its lookup and this.
    if (second_try) verdict = OpenVerdict::kServe;
    if (!second_try && reader != 0) sent_back_.Add(reader);
  }
  if (begun != 0) TellKernel(/*were_fixed=*/false, begun);
  return verdict;
}

PassWatch::OpenIs View::PassOf(EntryId file, RecordEpoch& shown,
                               uint32_t reader) {
  if (&shown != records_.get()) {
    return shown.live() ? PassWatch::OpenIs::kUnclear
                        : PassWatch::OpenIs::kOfThisPass;
  }
  if (setup_->config.epoch_advance != Advance::kAuto) {
    return PassWatch::OpenIs::kOfThisPass;
  }
  return shown.Open(file, reader);
}

std::shared_ptr<RecordEpoch> View::FixedRecords(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  return fixed_.RecordsOf(*setup, epoch);
}

}  // namespace shufflefs
