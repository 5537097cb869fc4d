// SPDX-License-Identifier: Apache-2.0
// What a view shows from one binding of its names to the next. It never
// changes, so who takes it for a request gets all of it from one moment, and
// needs no lock of the view.
#ifndef SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_
#define SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_

#include <atomic>
#include <memory>

#include "absl/types/span.h"
#include "core/base/published.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/epoch/epoch_lookups.h"
#include "core/policy/carried.h"
#include "core/pool/sample_memory.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct LiveEpoch {
  std::shared_ptr<const ViewSetup> setup;
  std::shared_ptr<const Binding> binding;
  // Of containers; null where none are shuffled.
  std::shared_ptr<RecordEpoch> records;
  // What is told of it by lookups. Wanted where opens are watched.
  std::shared_ptr<EpochLookups> lookups;

  // What answers reads of `file`; null: the source. `live`: it was found by a
  // name of the live epoch, not by one of a fixed epoch.
  SampleMemory* ProviderOf(EntryId file, bool live) const;
  // Whether an open of `file` tells something of the epoch.
  bool WatchesOpensOf(EntryId file) const;
};

struct EpochBinding {
  Epoch epoch;
  CarriedNames carried;
  bool identity = false;  // names show their own samples
  // What a reactive view shows from the epoch's beginning on.
  absl::Span<const CarriedPair> bound;
};
// Binds names and records as `setup` plans them, and tells what fetches for the
// view which epoch it is. There are no lookups yet.
LiveEpoch MakeLiveEpoch(std::shared_ptr<const ViewSetup> setup,
                        EpochBinding how);

// The live epoch as it is published, and whether something was asked of it.
// Thread-safe. Get takes no lock of the view; Enter waits only while names are
// being bound anew.
class LiveEpochs {
 public:
  LiveEpochs() = default;
  LiveEpochs(const LiveEpochs&) = delete;
  LiveEpochs& operator=(const LiveEpochs&) = delete;

  std::shared_ptr<const LiveEpoch> Get() const { return published_.Get(); }
  // The same for a lookup, or an open that is not watched. CloseUnread either
  // finds it asked for, or closes the epoch before.
  std::shared_ptr<const LiveEpoch> EnterLookup() { return Enter(looked_); }
  std::shared_ptr<const LiveEpoch> EnterOpen() { return Enter(read_); }
  void NoteRead();

  // The rest is for who binds names anew, with the view's lock held.
  void NoteOpen() { read_ = true; }
  void NoteLookup() { looked_ = true; }  // names are bound by a listing
  // Until Publish, or Reopen, no lookup is answered, nor an open that is not
  // watched.
  void Close();
  void Reopen() { Get()->lookups->Reopen(); }
  // Whether nothing of the epoch was read. Then it is closed, so that nothing
  // will be. Where opens are not seen, a read of cached pages is not either: a
  // lookup may have led to one, once there can be such pages.
  bool CloseUnread(bool sees_opens);
  // Of the next epoch, which is closed, nothing was asked yet.
  void Forget() { looked_ = read_ = false; }
  // Of an epoch that goes on.
  void Resume(bool was_read) { read_ = ever_read_ = was_read; }
  void Publish(LiveEpoch live);

 private:
  std::shared_ptr<const LiveEpoch> Enter(std::atomic<bool>& asked);

  std::atomic<bool> looked_{false};  // a LOOKUP in this epoch
  std::atomic<bool> read_{false};    // OPEN or READ in this epoch
  std::atomic<bool> ever_read_{false};
  Published<LiveEpoch> published_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_
