// SPDX-License-Identifier: Apache-2.0
// LiveEpoch is what a view shows from one binding of its names to the next. It
// never changes. A request that takes it sees one consistent moment and needs
// no lock of the view.
#ifndef SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_
#define SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/published.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/binding/nodes/shared_names.h"
#include "core/epoch/epoch_lookups.h"
#include "core/policy/read_before.h"
#include "core/policy/retained_bindings.h"
#include "core/pool/content_provider.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct LiveEpoch {
  std::shared_ptr<const ViewSetup> setup;
  std::shared_ptr<const Binding> binding;
  // The records of containers. Null if none are shuffled.
  std::shared_ptr<RecordEpoch> records;
  // Notes what lookups were told of this binding. Notes are wanted only if
  // opens are watched.
  std::shared_ptr<EpochLookups> lookups;

  // The memory that answers reads of `file`. Null: the source answers. `live`:
  // the file was found by a name of the live epoch, not of a fixed epoch.
  ContentProvider* ProviderOf(EntryId file, bool live) const;
  // Returns whether an open of `file` says something about the epoch.
  bool WatchesOpensOf(EntryId file) const;
};

struct EpochBinding {
  Epoch epoch;
  RetainedBindings retained;
  bool identity = false;  // names show their own samples
  // Pairs that a reactive view shows from the beginning of the epoch.
  absl::Span<const NameBinding> bound;
  NameSharing sharing{};  // if several nodes bind them
  // As in RecordEpoch::Parts.
  RecordNotes notes{};
  ReadBefore read_before = ReadBefore::kNothing;
};
// Binds names and records as `setup` plans them. Tells the view's prefetchers
// which epoch it is. The result has no lookups yet.
LiveEpoch MakeLiveEpoch(std::shared_ptr<const ViewSetup> setup,
                        EpochBinding how);

// The sample that each of these names shows. Each name occurs once in the
// result, whatever the order and number given.
std::vector<NameBinding> ShownPairsOf(const Binding& binding,
                                      std::vector<uint64_t> names);
// What the first `names` names are bound to. At most `most` pairs.
std::vector<NameBinding> BoundPairs(const BoundNames& bound_names,
                                    uint64_t names, uint64_t most);
// All of these, each name and each sample once. Of two pairs that contradict
// each other, the first is right.
std::vector<NameBinding> FirstOfNames(std::vector<NameBinding> pairs,
                                      const std::vector<NameBinding>& told,
                                      const std::vector<NameBinding>& known);
// Turns `pairs` into the names that an epoch retains. Drops what that epoch
// cannot retain. `repeats`: it may show a sample under several names.
RetainedBindings Retain(std::vector<NameBinding>& pairs, bool repeats);
// Of the keys that decide what the names of an epoch show. All nodes of a job
// compute it alike.
uint64_t HashOfKeys(const ViewSetup& setup);
// The same of all that names show.
uint64_t HashOfNames(const ViewSetup& setup, const Binding& binding);

// The same if nodes share the names of a reactive epoch.
uint64_t HashOfSharing(const ViewSetup& setup, Epoch epoch,
                       const NameSharing& sharing);

// LiveEpochs publishes the live epoch and remembers whether something was asked
// of it. Thread-safe. Get takes no lock of the view. Enter waits only while
// names are being rebound.
class LiveEpochs {
 public:
  // `hears_opens`: each open is told to the setup (ViewSetup::NoteOpen).
  // `waits` is called, with no lock held, on a thread that is about to wait for
  // names to be rebound. May be empty.
  LiveEpochs(bool hears_opens, std::function<void()> waits)
      : waits_(std::move(waits)), hears_opens_(hears_opens) {}
  LiveEpochs(const LiveEpochs&) = delete;
  LiveEpochs& operator=(const LiveEpochs&) = delete;

  std::shared_ptr<const LiveEpoch> Get() const { return published_.Get(); }
  // Like Get, for a lookup or for an open that is not watched. A concurrent
  // CloseUnread either sees the request, or closes the epoch before the request
  // enters.
  std::shared_ptr<const LiveEpoch> EnterLookup() { return Enter(looked_); }
  std::shared_ptr<const LiveEpoch> EnterOpen() { return Enter(read_); }
  void NoteRead();
  // Returns whether nothing of the epoch was read.
  bool is_fresh() const { return !read_; }

  // Only the thread that rebinds names calls the rest, with the view's lock
  // held.
  void NoteOpen() { read_ = true; }
  void NoteLookup() { looked_ = true; }  // a listing binds names
  // Until Publish or Reopen, lookups and opens that are not watched wait.
  void Close();
  void Reopen() { Get()->lookups->Reopen(); }
  // Returns whether nothing of the epoch was read. If so, closes the epoch, so
  // that nothing will be. If opens are not seen, reads of cached pages are not
  // seen either. Then a lookup counts as a read once there can be cached pages.
  bool CloseUnread(bool sees_opens);
  // The next epoch, which is closed, has not been asked for anything yet.
  void Forget() { looked_ = read_ = false; }
  // The epoch continues. `was_read`: something of it was read.
  void Resume(bool was_read) { read_ = ever_read_ = was_read; }
  void Publish(LiveEpoch live);
  // From now on opens are not told.
  void HearNoOpens();

 private:
  std::shared_ptr<const LiveEpoch> Enter(std::atomic<bool>& asked);
  void TellPrefetcher(const ViewSetup& setup) const;

  const std::function<void()> waits_;
  bool hears_opens_;                 // the view's lock guards it
  std::atomic<bool> looked_{false};  // a LOOKUP in this epoch
  std::atomic<bool> read_{false};    // OPEN or READ in this epoch
  std::atomic<bool> ever_read_{false};
  Published<LiveEpoch> published_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_
