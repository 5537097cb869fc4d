// SPDX-License-Identifier: Apache-2.0
// EpochLookups notes what lookups told threads while one binding of a view was
// the live one. Lookups note it without the view's lock.
//
// A boundary must know every lookup that was answered before it, because it
// retains some of the names. So it closes the notes, reads them, and then
// rebinds names. A lookup that finds them closed gives no answer. It waits for
// the notes of the next binding and looks up in that. So the boundary sees the
// lookup, or the lookup is answered from the next binding.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_LOOKUPS_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_LOOKUPS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/sized_names.h"
#include "core/epoch/retried_opens.h"

namespace shufflefs {

// Thread-safe. Only WaitIfClosed blocks. Memory: one bit per sample.
class EpochLookups {
 public:
  // For `samples` samples; 0 if lookups need not be noted.
  explicit EpochLookups(uint64_t samples);
  // The notes for the binding that follows the one of `before`.
  explicit EpochLookups(EpochLookups& before);
  EpochLookups(const EpochLookups&) = delete;
  EpochLookups& operator=(const EpochLookups&) = delete;

  // Lookups call these.
  enum class Told {
    kForLong,  // the answer is valid until names are rebound
    kOnce,     // the next walk to the name must ask again
    kNothing,  // the notes are closed: do not give the answer
  };
  // Notes that thread `reader` (0 = hidden) is told that a name shows `sample`.
  Told Note(SampleId sample, uint32_t reader);
  // Returns whether lookups, and thus opens, must be noted.
  bool wanted() const { return !looked_up_.empty(); }
  // Returns false if the notes are open. Else waits until End or Reopen, and
  // returns true.
  bool WaitIfClosed();
  // Returns whether WaitIfClosed would wait now.
  bool closed() const { return closed_; }

  // Opens and boundaries, which are serialised, call the rest. TakeLookup
  // returns whether the sample was looked up or opened, and notes it as opened.
  bool TakeLookup(SampleId sample);
  bool WasLookedUp(SampleId sample) const;
  // The open of `reader` was answered with ESTALE.
  void SendBack(uint32_t reader);
  // Returns whether the reader's open is its second try.
  bool TakeSecondTry(uint32_t reader);
  // How often the reader was told of `sample` since its last open. 0 if walks
  // are not shown.
  uint32_t TakeWalks(SampleId sample, uint32_t reader);
  // For an open that is reported late: takes one walk of the reader, because it
  // may have walked there again since.
  void TakeWalk(SampleId sample, uint32_t reader);
  // Decides whether every walk to a name must be a lookup from now on. Returns
  // the previous value.
  bool ShowWalks(bool shown);
  bool shows_walks() const { return shows_walks_; }
  // Takes over the threads that were sent back under `before`.
  void TakeRetried(EpochLookups& before);

  void Close();
  // Names are not rebound after all.
  void Reopen();
  // Names are rebound. A thread that takes the live binding now gets the new
  // one.
  void End();
  // Closes the notes. Returns what threads that were sent back have looked up
  // since, each once. While walks are shown, also returns what threads have
  // walked to and not opened yet.
  std::vector<SampleId> CloseAndTakeUnderWay();

 private:
  bool Set(SampleId sample);

  std::vector<std::atomic<uint64_t>> looked_up_;  // one bit per sample
  // Written with mu_ held. So a lookup takes mu_ only if one of them is true.
  std::atomic<bool> shows_walks_{false};
  std::atomic<bool> any_retried_{false};
  std::atomic<bool> closed_{false};

  Mutex mu_;
  CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  SizedNames sized_ ABSL_GUARDED_BY(mu_);  // while walks are shown
  RetriedOpens retried_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_LOOKUPS_H_
