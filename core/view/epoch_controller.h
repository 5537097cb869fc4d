// SPDX-License-Identifier: Apache-2.0
// EpochController decides when a view's next epoch begins and what it begins
// with. It counts opens, rebinds names or holds the epoch, writes to the
// ledger, and publishes each new LiveEpoch.
#ifndef SHUFFLEFS_CORE_VIEW_EPOCH_CONTROLLER_H_
#define SHUFFLEFS_CORE_VIEW_EPOCH_CONTROLLER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/config/config.h"
#include "core/epoch/epoch_group.h"
#include "core/epoch/job_sequence.h"
#include "core/epoch/open_tracker.h"
#include "core/epoch/reported_opens.h"
#include "core/epoch/retried_opens.h"
#include "core/policy/read_before.h"
#include "core/readers/job_tracker.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_journal.h"
#include "core/view/epoch_token.h"
#include "core/view/kernel_notifier.h"
#include "core/view/live_epoch.h"
#include "core/view/substitution_guard.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// ViewEpochStatus is the part of `status` about a view's epoch. A field is
// empty if its value cannot be known: without opens, nobody knows what was
// consumed.
struct ViewEpochStatus {
  Epoch epoch;
  std::string state;    // waiting, running, held
  std::string verdict;  // a, b, c, takeover, signal, or ""
  uint64_t held = 0;
  std::string hold_reason;
  uint64_t retained = 0;
  uint64_t samples = 0;
  uint64_t nodes = 0;  // that share the names of a reactive epoch
  absl::optional<uint64_t> consumed;
  absl::optional<uint64_t> rereads;
  bool suspended = false;  // from the next boundary on, if not already
  // The view is suspended now: every name shows its own sample.
  bool shows_own = false;
  std::vector<std::string> warnings;
};

// How an epoch begins.
struct EpochBoundary {
  Epoch epoch;
  std::vector<NameBinding> retained;
  std::string verdict;
  std::vector<uint64_t> opened{};  // names, already in this epoch
  // If nodes share the names: who they are, and which of them this is. Then all
  // of them know what is retained.
  std::vector<std::string> members{};
  std::string self{};
  // What an earlier run of this node had bound, as others told. They hold, too.
  std::vector<NameBinding> told{};
};

// How the nodes share epoch `epoch` of the plan. All find the same.
NameSharing SharingOf(const ViewSetup& setup, const EpochBoundary& boundary,
                      Epoch epoch);
// What names show from the beginning of that epoch.
std::vector<NameBinding> BoundFrom(const EpochBoundary& boundary,
                                   const NameSharing& sharing);

// Not thread-safe: the view's lock guards it. A call may block on an append to
// the ledger, on /proc, and on the first use of a policy's tables.
class EpochController {
 public:
  struct Parts {
    std::shared_ptr<const ViewSetup> setup;
    // The setup that the ledger's epoch ran, if `setup` waits for the boundary.
    // Else null.
    std::shared_ptr<const ViewSetup> running;
    JobTracker* job_tracker = nullptr;
    LiveEpochs* live = nullptr;  // epochs are published here
    // Counts bindings and says whether the kernel was told of the last.
    KernelNotifier* notifier = nullptr;
    // Decides when epochs begin if the job runs on several nodes. Else null.
    EpochGroup* group = nullptr;
    bool sees_opens = true;
    // Where opens are reported from ExpectReports on, as those of view `id`.
    // May be null.
    OpenReports* reports = nullptr;
    uint32_t id = 0;
    // Before the catalogue was ready. If something was, the policy begins at
    // the next boundary.
    ReadBefore read_before = ReadBefore::kNothing;
  };
  // Continues the last epoch of the ledger if that epoch fits `setup` or
  // `running`. Everything that `parts` points to must outlive the controller.
  EpochController(Parts parts, EpochJournal journal, SubstitutionGuard guard);
  EpochController(const EpochController&) = delete;
  EpochController& operator=(const EpochController&) = delete;

  // The view must do this after a call, without its lock and before it answers
  // the request that caused the call.
  struct Effects {
    uint64_t begun = 0;  // not 0: names were rebound; number of that binding
    bool were_fixed = false;  // names could not be rebound before
    bool doubted = false;  // from now on every walk to a name must be a lookup
    bool committed = false;  // walks need no lookup any more
    bool stale = false;      // answer with ESTALE
  };

  // Thread `reader` (0 = hidden) opens `file`. `ordinal` is that of the name
  // among those that show the file.
  struct FileOpen {
    EntryId file;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
    uint32_t ordinal = 0;
  };
  Effects Open(const FileOpen& open);
  Effects OpenContainer(EntryId file, RecordEpoch& shown, uint32_t reader);
  // Opens come by reports from now on. The kernel answers them by itself, so
  // they cannot be sent back.
  void ExpectReports();
  void NoteUnseenReader() { reported_.MissReader(); }
  // A thread looks `name` up, and is not told yet what it shows. Under a policy
  // that repeats samples, an epoch of reported opens ends so, if every name was
  // opened. An open could not be sent back, so its name would have to be
  // retained. A reader of a fixed order would retain the same name for ever.
  Effects EndPassByLookup(SampleId name, uint32_t reader,
                          std::chrono::milliseconds now);
  // A thread is about to be told what `name` shows in `binding`, which has just
  // been bound. `noted_as`: as EpochLookups notes it.
  void NoteBound(const Binding& binding, SampleId name, SampleId noted_as);
  // Counts all opens that have returned to their readers by now.
  Effects TakeReports(std::chrono::milliseconds now);
  // The same, after the kernel was told of Effects::doubted.
  Effects NoteWalksShown(std::chrono::milliseconds now);
  // A lookup of one of `records` showed that the containers were read to the
  // end. The next epoch begins, unless it has begun already.
  Effects EndPassOf(const RecordEpoch& records);
  // A process lists a directory.
  Effects NoteListing(std::chrono::milliseconds now);
  // Returns whether a listing may bind names. If so, notes that it does.
  bool BindByListing();
  // Lets `setup` (may be null) take effect as View::Install describes.
  Effects Install(std::shared_ptr<const ViewSetup> setup,
                  const ControlRequest& request);
  // The setup that runs, or the one that is to run from the next boundary on.
  const ViewSetup& wanted_setup() const {
    return pending_ != nullptr ? *pending_ : *setup_;
  }
  ViewEpochStatus Status() const;

  // For EpochsInGroup.
  bool grouped() const {
    return group_ != nullptr && setup_->rebinds() &&
           (!setup_->binds_on_demand() || setup_->shared != nullptr);
  }
  Epoch epoch() const { return epoch_; }
  const ViewSetup& setup() const { return *setup_; }
  const Binding& binding() const { return *binding_; }
  // Null if opens are not counted.
  OpenTracker* tracker() { return tracker_.get(); }
  const OpenTracker* tracker() const { return tracker_.get(); }
  uint64_t binding_hash() const { return binding_hash_; }
  const NameSharing& sharing() const { return sharing_; }
  // The live epoch is of the ledger, with all that was shown here.
  bool from_ledger() const { return from_ledger_; }
  // Between Close and what follows, opens must wait, and then be tried again.
  bool closed() const { return closed_; }
  void Close() {
    closed_ = true;
    live_->Close();
  }
  void Reopen() {
    if (std::exchange(closed_, false)) live_->Reopen();
  }
  Effects BeginEpoch(EpochBoundary boundary);
  // Names of the epoch that is live are shared from now on.
  Effects JoinSharing(const EpochBoundary& boundary);
  void HoldAs(EpochBoundary boundary, absl::string_view reason,
              const EpochOutcome& outcome);

  // The state for a checkpoint. The token lacks single samples. `opened` has
  // the names that were opened, unless there are too many of them.
  struct Saved {
    EpochToken token;
    std::shared_ptr<const Binding> binding;
    LedgerEpoch begin;
    absl::optional<std::vector<uint64_t>> opened;
    WholeFiles whole;  // for EpochToken::whole
    std::shared_ptr<const ViewSetup> setup;
  };
  Saved Save() const;
  // Returns whether the live epoch is the token's. If so, it continues. `whole`
  // is WholeFilesOf the token.
  bool GoesOnWith(const EpochToken& token, WholeFiles whole);
  // Makes the epoch of `state` the live one; `position` of its samples were
  // read. Returns InvalidArgument and changes nothing if `setup` cannot show
  // that epoch.
  absl::StatusOr<Effects> Restore(std::shared_ptr<const ViewSetup> setup,
                                  LedgerState& state, uint64_t position);

 private:
  using Boundary = EpochBoundary;
  void Begin(Boundary boundary);
  void Bind(EpochBinding how);
  void Publish();
  // Over containers. `by`: 1, or -1 to return to the pass before.
  Effects BeginPass(int by);
  Effects Count(SampleId name, uint32_t reader, std::chrono::milliseconds now);
  // A pass of `job` has ended, as `seen` says. If opens come by reports, no
  // lookup is answered from now on. Begins the next epoch, or holds it, also if
  // it is not certain which opens are of the next pass.
  Effects EndPass(JobId job, OpenTracker::Seen& seen);
  Effects CountReport(const ReportedOpen& open, std::chrono::milliseconds now);
  // Adds the names of the opens that are reported and not counted yet.
  void AddReported(std::vector<uint64_t>& names) const;
  absl::optional<SampleId> NameOf(const ReportedOpen& open) const;
  Effects CountForGroup(SampleId name, uint32_t reader,
                        std::chrono::milliseconds now);
  // Names keep what they show. Names that nobody asked for yet show their own
  // samples. This happens at once if few names are bound, else from the next
  // boundary on. Returns true if names were rebound.
  bool StopBinding();
  bool counts_opens() const { return sees_opens_ && setup_->rebinds(); }
  bool waits() const { return waiting_ != ReadBefore::kNothing; }
  void MakeWatch();
  LedgerEpoch Record() const {
    return guard_.Marked(
        journal_.Record(*setup_, *binding_, epoch_, records_.get()));
  }
  bool Resume(LedgerState& last);
  bool GoOn(LedgerState& last);

  // Constant after construction.
  JobTracker* const job_tracker_;
  LiveEpochs* const live_;
  KernelNotifier* const notifier_;
  EpochGroup* const group_;  // may be null
  const bool sees_opens_;

  ReportedOpens reported_;  // their nodes are those of the live binding
  EpochJournal journal_;
  SubstitutionGuard guard_;
  std::shared_ptr<const ViewSetup> setup_;
  std::shared_ptr<const ViewSetup> pending_;
  std::shared_ptr<const Binding> binding_;
  std::shared_ptr<RecordEpoch> records_;
  RetriedOpens retried_;  // of containers
  // Null if opens are not seen, or if what a name shows does not depend on the
  // epoch.
  std::unique_ptr<OpenTracker> tracker_;
  Epoch epoch_{0};  // includes held boundaries
  std::string verdict_;
  std::string hold_reason_;
  uint64_t held_ = 0;
  bool is_held_ = false;
  // Not kNothing: the policy waits for the boundary.
  ReadBefore waiting_ = ReadBefore::kNothing;
  // With a group.
  JobSequence jobs_;
  bool closed_ = false;        // the group decides about the epoch
  uint64_t binding_hash_ = 0;  // of what names show
  NameSharing sharing_;        // of the live epoch
  bool from_ledger_ = false;   // the live epoch, with all that was shown here
};

// The token of what was saved, with single samples. Needs no lock.
EpochToken TokenOf(EpochController::Saved saved);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_CONTROLLER_H_
