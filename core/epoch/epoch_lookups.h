// SPDX-License-Identifier: Apache-2.0
// What threads were told by lookups while one binding of a view was the live
// one. Lookups note it without the view's lock.
//
// A boundary must know all that was told before it, as some of it is carried
// over. So it closes the notes first, then looks what is in them, and binds
// names anew. Who finds them closed tells nothing: it waits for the notes of
// the next binding and looks up in that. So each lookup is either seen by the
// boundary or answered from what comes after it.
#ifndef SHUFFLEFS_CORE_EPOCH_EPOCH_LOOKUPS_H_
#define SHUFFLEFS_CORE_EPOCH_EPOCH_LOOKUPS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/sized_names.h"
#include "core/epoch/sent_back.h"

namespace shufflefs {

// Thread-safe. Nothing blocks but WaitIfClosed. Memory: a bit a sample.
class EpochLookups {
 public:
  // Of so many samples; 0 where nobody wants to know of lookups.
  explicit EpochLookups(uint64_t samples);
  // Those of the binding after the one of `before`.
  explicit EpochLookups(EpochLookups& before);
  EpochLookups(const EpochLookups&) = delete;
  EpochLookups& operator=(const EpochLookups&) = delete;

  // For lookups.
  enum class Told {
    kForLong,  // it may be believed until names are bound anew
    kOnce,     // the next walk to it is to ask again
    kNothing,  // they are closed, and the answer is not to be given
  };
  // Thread `reader` (0 = hidden) is told that a name shows `sample`.
  Told Note(SampleId sample, uint32_t reader);
  // Whether anybody wants to know of lookups, and so of opens.
  bool wanted() const { return !looked_up_.empty(); }
  // Returns false if they are open. Else waits until names are bound anew, or
  // are not after all, and returns true.
  bool WaitIfClosed();

  // For opens and boundaries, which are one at a time.
  // Whether the sample was looked up or opened; now it is.
  bool TakeLookup(SampleId sample);
  // The open of `reader` was answered with ESTALE.
  void SendBack(uint32_t reader);
  // Whether its open is the second try.
  bool TakeSecondTry(uint32_t reader);
  // How often it was told of what it opens since its last open; 0 where walks
  // are not shown.
  uint32_t TakeWalks(SampleId sample, uint32_t reader);
  // From now on every walk to a name is to be a lookup; or no longer. Returns
  // what was before.
  bool ShowWalks(bool shown);
  bool shows_walks() const { return shows_walks_; }
  // Goes on with the threads that were sent back in the place of `before`.
  void TakeSentBack(EpochLookups& before);

  void Close();
  // Names are not bound anew after all.
  void Reopen();
  // They are, and who looks for the live binding finds the new one.
  void End();
  // Closes them. What threads that were sent back have looked up since, each
  // once; and what threads have walked to, while walks are shown, and not
  // opened yet.
  std::vector<SampleId> CloseAndTakeUnderWay();

 private:
  bool Set(SampleId sample);

  std::vector<std::atomic<uint64_t>> looked_up_;  // a bit a sample
  // Written with mu_ held; so lookups need it only where it is true, or where
  // somebody was sent back.
  std::atomic<bool> shows_walks_{false};
  std::atomic<bool> any_sent_back_{false};
  std::atomic<bool> closed_{false};

  Mutex mu_;
  CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  SizedNames sized_ ABSL_GUARDED_BY(mu_);  // while walks are shown
  SentBack sent_back_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_EPOCH_LOOKUPS_H_
