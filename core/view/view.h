// SPDX-License-Identifier: Apache-2.0
// View is one shuffled view. It knows which sample each name shows in the live
// epoch, when the next epoch begins, and what was consumed so far. Policies
// define orders, the detector recognises the end of a pass, and the view joins
// both.
#ifndef SHUFFLEFS_CORE_VIEW_VIEW_H_
#define SHUFFLEFS_CORE_VIEW_VIEW_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/config/config.h"
#include "core/epoch/epoch_group.h"
#include "core/epoch/open_reports.h"
#include "core/ledger/ledger.h"
#include "core/policy/read_before.h"
#include "core/quality/quality_line.h"
#include "core/readers/job_nodes.h"
#include "core/readers/job_tracker.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_controller.h"
#include "core/view/epoch_token.h"
#include "core/view/epochs_in_group.h"
#include "core/view/fixed_epochs.h"
#include "core/view/guarded_controller.h"
#include "core/view/kernel_notifier.h"
#include "core/view/live_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Thread-safe. Lookups, reads, and opens that are not watched take the
// LiveEpoch and no lock of the view. They wait only while names are being
// rebound. If nodes share the names, a lookup may wait for another node.
// Watched opens, control writes and `status` are serialised, and may block as
// EpochController says. Prepare may take seconds.
class View {
 public:
  struct Parts {
    uint32_t id = 0;  // number in the ledger and index among the mount's views
    std::shared_ptr<const ViewSetup> setup;
    // If a daemon ended while `setup` waited for the next boundary: the setup
    // of the ledger's epoch. Else null.
    std::shared_ptr<const ViewSetup> running;
    SetupTools tools;                   // used by Prepare
    JobTracker* job_tracker = nullptr;  // outlives the view
    Ledger* ledger = nullptr;           // outlives the view; may be null
    JobNodes* nodes = nullptr;          // outlives the view; may be null
    EpochGroup* group = nullptr;        // outlives the view; may be null
    // See KernelNotifier::Calls. They are called with no lock held, before the
    // call of the view that caused them returns.
    std::function<void(bool were_fixed)> on_rebind;
    std::function<void()> on_committed;
    std::function<void()> on_doubted;
    // A thread is about to wait until names are rebound. Called with no lock
    // held. May be empty.
    std::function<void()> waits;
    // Opens end epochs and bind names.
    bool sees_opens = true;
    // Opens are told at least to the prefetcher.
    bool hears_opens = true;
    // Reports the opens of this view from ExpectReports on. Outlives the view;
    // may be null.
    OpenReports* reports = nullptr;
    // Before the catalogue was ready. If something was, the policy begins at
    // the next boundary.
    ReadBefore read_before = ReadBefore::kNothing;
  };
  enum class OpenVerdict {
    kServe,
    kStale,  // ESTALE, once: the name was rebound since its lookup
  };

  // Continues the last epoch of the ledger if it fits `setup`. If it fits
  // `running` instead, the view continues it and `setup` waits for the
  // boundary.
  explicit View(Parts parts);
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  uint32_t id() const { return id_; }
  // The path with '/' as '~'; "root" for "".
  const std::string& name() const { return name_; }

  // The live epoch at one moment. binding() and setup() return parts of it: a
  // caller that needs both must take the whole.
  std::shared_ptr<const LiveEpoch> live() const { return live_.Get(); }
  std::shared_ptr<const Binding> binding() const { return live()->binding; }
  std::shared_ptr<const ViewSetup> setup() const { return live()->setup; }
  // The records of containers in the live epoch or in epoch n. Null if none are
  // shuffled.
  std::shared_ptr<RecordEpoch> records() const { return live()->records; }
  std::shared_ptr<RecordEpoch> FixedRecords(Epoch epoch) const;
  // A LOOKUP of a container. Returns the records that show `file`, or null if
  // it is no container.
  std::shared_ptr<RecordEpoch> LookupContainer(EntryId file);
  // An OPEN of a container as `shown`, a RecordEpoch of this view, by thread
  // `pid` (0 = hidden) at monotonic time `now`.
  OpenVerdict OpenContainer(EntryId file, RecordEpoch& shown, int32_t pid,
                            std::chrono::milliseconds now = {});
  // Epoch n of the plan with nothing retained, as `epoch/<n>/` shows it.
  std::shared_ptr<const Binding> FixedBinding(Epoch epoch) const;
  // The same for its ranked directory.
  std::shared_ptr<const Binding> FixedRanks(Epoch epoch) const;

  struct Found {
    EntryId shown;         // the file that the name shows in this epoch
    bool rebinds;          // the name may show another file in the next epoch
    bool listed = true;    // a listing may also bind the name
    bool lasts = true;     // valid until names are rebound
    uint32_t ordinal = 0;  // number of the name among those that show the file
  };
  // A LOOKUP by thread `pid` (0 = hidden) at monotonic time `now`. It binds the
  // name.
  Found Lookup(EntryId name, int32_t pid = 0,
               std::chrono::milliseconds now = {});
  // An OPEN of `file` by thread `pid` (0 = hidden) at monotonic time `now`.
  // `ordinal` is that of the opened name (Found::ordinal).
  OpenVerdict Open(EntryId file, int32_t pid, std::chrono::milliseconds now,
                   uint32_t ordinal = 0);
  // Opens are to come by reports: what needs requests is not installed from now
  // on. Returns false, and does nothing, if something runs or waits that does.
  bool PrepareReports();
  // They will not come by reports after all.
  void ForgoReports() { suits_reports_ = false; }
  // After PrepareReports: from now on opens come by Parts::reports, and Open is
  // called no more, but for opens that arrived before.
  void ExpectReports() { controller_.ExpectReports(); }
  // A process opens files, and no report tells of it: no boundary is certain
  // while opens come by reports.
  void NoteUnseenReader();
  // From now on Open is called no more. REQUIRES: !Parts::sees_opens.
  void ExpectNoOpens();
  // Counts the opens that have returned to their readers by monotonic time
  // `now`. Does nothing before ExpectReports. Call it soon after opens were
  // reported, and before you ask what was opened.
  void TakeReports(std::chrono::milliseconds now);
  // The memory that answers reads of `file`; it may leave single reads to the
  // source. Null: the source answers. `live`: the file was found by a name of
  // the live epoch.
  std::shared_ptr<ContentProvider> ProviderOf(EntryId file, bool live) const;
  // A READ of a file of this view reached the daemon.
  void NoteRead() { live_.NoteRead(); }
  // A process lists a directory at monotonic time `now`. As a rule this is a
  // job that begins, and its first open may make it the owner of the epochs.
  void NoteListing(std::chrono::milliseconds now);
  // A listing is about to bind names without a Lookup of each. Returns false if
  // it must not. Either the kernel was not yet told of the last switch, or an
  // open of a listed name could not be told from one of an older epoch.
  bool BindByListing();

  // A control write has two steps, so that several views change together or not
  // at all. Prepare may take seconds and changes nothing. It returns the errors
  // of MakeViewSetup. Install takes effect at once if nothing of this epoch was
  // read, else at the next boundary. A request that moves the epoch is a
  // boundary.
  struct Prepared {
    std::shared_ptr<const ViewSetup> setup;  // null: unchanged
    ControlRequest request;
  };
  absl::StatusOr<Prepared> Prepare(const ControlRequest& request);
  // Before anything is changed: returns why Install cannot let it take effect.
  // If it is OK, nothing that begins before `prepared` is gone keeps Install
  // from that.
  absl::Status CheckInstall(const Prepared& prepared);
  // REQUIRES: CheckInstall returned OK. In a group, a request that moves the
  // epoch blocks until all nodes follow. Unavailable says who does not; then
  // the epoch goes on.
  absl::Status Install(Prepared prepared);
  // Before Install, if other nodes share the view: has them take over the keys
  // of `request`. Blocks as EpochGroup::Switch does, and has its errors.
  absl::Status SwitchOthers(const ControlRequest& request);
  // The live epoch as a line for a checkpoint. It omits what would make the
  // line too long: see EpochToken.
  EpochToken Token() const;
  // A job continues with the epoch of a token. Returns true if that epoch is
  // the live one, which keeps its state. Returns false if `token` must be
  // restored. For a reactive epoch, `token` then has the pairs that the ledger
  // has. Returns InvalidArgument with the reason if neither is possible. May
  // read the whole ledger.
  absl::StatusOr<bool> GoesOnWith(EpochToken& token);
  // Makes the token's epoch the live one, with a setup that was prepared for
  // the token's policy and seed. If it returns InvalidArgument, nothing has
  // changed.
  absl::Status Restore(Prepared prepared, const EpochToken& token);
  // Returns whether the policy uses `feedback`.
  bool takes_feedback() const { return setup()->repeats(); }
  // The configuration that runs, or that is to run from the next boundary on.
  ViewConfig config() const;

  ViewEpochStatus EpochStatus() const;
  // The shuffle quality of the live epoch's order: see QualityLine.
  std::string ShuffleQuality() const { return quality_.Line(binding()); }
  // Returns whether the end of an epoch is detected from opens: names rebind
  // and the epoch advances by itself.
  bool watches_opens() const;

  // For the group.
  GroupedView* grouped() { return &in_group_; }
  // If the nodes of the job share the names: the node that has the file in its
  // memory. Empty if they do not.
  absl::optional<SharedNames::Holder> HolderOf(EntryId file) const;
  // The files of a sample, in order, if the view shares its names. None if
  // there is no such sample.
  std::vector<EntryId> FilesOfShared(uint64_t sample) const;
  // As SampleProducer::TakeForOthers, if the view shares its names and this
  // node owns the sample.
  absl::optional<SampleProducer::HeldBytes> TakeForOthers(uint64_t sample,
                                                          uint64_t most) const;
  // As SharedNames::shown. 0 if nothing is shared.
  uint64_t samples_shown() const;
  // As SharedNames::BindForOthers. FailedPrecondition if nothing is shared.
  absl::StatusOr<std::vector<uint64_t>> BindForOthers(
      const SharedNames::Question& question) const;

 private:
  using Effects = EpochController::Effects;

  // Returns whether that lookup begins the next epoch. It must then look up
  // there. See EpochController::EndPassByLookup.
  bool EndsPass(const LiveEpoch& live, SampleId name, uint32_t reader,
                std::chrono::milliseconds now);
  // See EpochController::NoteBound.
  void NoteBound(const Binding& binding, SampleId name, SampleId noted_as);

  // Constant after construction.
  const uint32_t id_;
  const std::string name_;
  const SetupTools tools_;
  JobTracker* const job_tracker_;
  Ledger* const ledger_;
  EpochGroup* const group_;
  const bool sees_opens_;
  OpenReports* const reports_;  // may be null

  // Self-synchronised.
  LiveEpochs live_;  // published with the lock of the controller held
  KernelNotifier notifier_;
  mutable QualityCache quality_;
  mutable FixedEpochs fixed_;
  std::atomic<bool> suits_reports_{false};  // all that runs or waits
  std::atomic<bool> has_unseen_{false};     // readers
  GuardedController controller_;
  EpochsInGroup in_group_;

  // Keeps what is about to be installed and PrepareReports apart. Taken before
  // the lock of the controller.
  Mutex promise_mu_;
  std::weak_ptr<const ViewSetup> checked_ ABSL_GUARDED_BY(promise_mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_VIEW_H_
