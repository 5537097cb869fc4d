// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/epoch_lookups.h"

#include <utility>

namespace shufflefs {

EpochLookups::EpochLookups(uint64_t samples)
    : looked_up_((samples + 63) / 64) {}

EpochLookups::EpochLookups(EpochLookups& before)
    : looked_up_(before.looked_up_.size()) {
  TakeRetried(before);
}

bool EpochLookups::Set(SampleId sample) {
  std::atomic<uint64_t>& word = looked_up_[sample.value() >> 6];
  const uint64_t bit = uint64_t{1} << (sample.value() & 63);
  if ((word.load(std::memory_order_relaxed) & bit) != 0) return false;
  return (word.fetch_or(bit) & bit) == 0;
}

EpochLookups::Told EpochLookups::Note(SampleId sample, uint32_t reader) {
  if (wanted()) Set(sample);
  // A thread that was sent back sees these flags: it got its answer before.
  if (shows_walks_ || any_retried_) {
    MutexLock lock(mu_);
    if (closed_) return Told::kNothing;
    if (shows_walks_) sized_.NoteLookup(sample, reader);
    retried_.NoteLookup(sample, reader);
    return shows_walks_ ? Told::kOnce : Told::kForLong;
  }
  return closed_ ? Told::kNothing : Told::kForLong;
}

bool EpochLookups::WaitIfClosed() {
  if (!closed_) return false;
  MutexLock lock(mu_);
  while (closed_ && !ended_) changed_.Wait(mu_);
  return true;
}

bool EpochLookups::TakeLookup(SampleId sample) { return !Set(sample); }

bool EpochLookups::WasLookedUp(SampleId sample) const {
  const uint64_t bit = uint64_t{1} << (sample.value() & 63);
  return (looked_up_[sample.value() >> 6] & bit) != 0;
}

void EpochLookups::SendBack(uint32_t reader) {
  MutexLock lock(mu_);
  retried_.Add(reader);
  any_retried_ = true;
}

bool EpochLookups::TakeSecondTry(uint32_t reader) {
  if (!any_retried_) return false;
  MutexLock lock(mu_);
  const bool second = retried_.Take(reader);
  any_retried_ = !retried_.empty();
  return second;
}

uint32_t EpochLookups::TakeWalks(SampleId sample, uint32_t reader) {
  if (!shows_walks_) return 0;
  MutexLock lock(mu_);
  return sized_.TakeOpen(sample, reader);
}

void EpochLookups::TakeWalk(SampleId sample, uint32_t reader) {
  if (!shows_walks_) return;
  MutexLock lock(mu_);
  sized_.TakeOne(sample, reader);
}

bool EpochLookups::ShowWalks(bool shown) {
  MutexLock lock(mu_);
  if (!shown) sized_.Clear();
  return shows_walks_.exchange(shown);
}

void EpochLookups::TakeRetried(EpochLookups& before) {
  RetriedOpens retried;
  {
    MutexLock lock(before.mu_);
    std::swap(retried, before.retried_);
    before.any_retried_ = false;
  }
  MutexLock lock(mu_);
  std::swap(retried, retried_);
  any_retried_ = !retried_.empty();
}

void EpochLookups::Close() {
  MutexLock lock(mu_);
  closed_ = true;
}

void EpochLookups::Reopen() {
  {
    MutexLock lock(mu_);
    closed_ = false;
  }
  changed_.SignalAll();
}

void EpochLookups::End() {
  {
    MutexLock lock(mu_);
    closed_ = ended_ = true;
  }
  changed_.SignalAll();
}

std::vector<SampleId> EpochLookups::CloseAndTakeUnderWay() {
  std::vector<SampleId> under_way;
  MutexLock lock(mu_);
  closed_ = true;
  retried_.AppendLookedUp(under_way);
  sized_.AppendTo(under_way);
  return under_way;
}

}  // namespace shufflefs
