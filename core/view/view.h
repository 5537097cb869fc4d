// SPDX-License-Identifier: Apache-2.0
// One shuffled view: which sample each name shows in the live epoch, when the
// next epoch begins, and what was consumed so far. Policies say orders, the
// detector says when a pass has ended; the view joins them.
#ifndef SHUFFLEFS_CORE_VIEW_VIEW_H_
#define SHUFFLEFS_CORE_VIEW_VIEW_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/config/config.h"
#include "core/ledger/ledger.h"
#include "core/quality/mixing_line.h"
#include "core/readers/job_nodes.h"
#include "core/readers/reader_family.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_controller.h"
#include "core/view/epoch_token.h"
#include "core/view/fixed_epochs.h"
#include "core/view/kernel_notifier.h"
#include "core/view/live_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Thread-safe. Lookups, reads, and opens that are not watched take what they
// need from the LiveEpoch, and no lock of the view; they wait only while names
// are being bound anew. Watched opens, control writes and `status` come one at
// a time, and wait for what EpochController waits for. Prepare may take
// seconds.
class View {
 public:
  struct Parts {
    uint32_t id = 0;  // in the ledger; the place among the mount's views
    std::shared_ptr<const ViewSetup> setup;
    // Where a daemon ended while `setup` waited for the next boundary: what
    // the ledger's epoch ran. Else null.
    std::shared_ptr<const ViewSetup> running;
    SetupTools tools;                    // for what Prepare makes
    ReaderFamilies* families = nullptr;  // outlives the view
    Ledger* ledger = nullptr;            // outlives the view; may be null
    JobNodes* nodes = nullptr;           // outlives the view; may be null
    // As KernelNotifier::Calls says. Called with no lock held, before the call
    // of the view that caused it returns.
    std::function<void(bool were_fixed)> rebound;
    std::function<void()> settled;
    std::function<void()> doubted;
    bool sees_opens = true;
    // Something was read before the catalogue was ready: the policy begins
    // at the next boundary.
    bool wait_for_boundary = false;
  };
  enum class OpenVerdict {
    kServe,
    kStale,  // the name was bound anew since it was looked up: ESTALE, once
  };

  // Continues the epoch that the ledger ends with, if it fits the setup; or
  // if it fits the one that ran, and then the setup waits for the boundary.
  explicit View(Parts parts);
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  uint32_t id() const { return id_; }
  // The path with '/' as '~'; "root" for "".
  const std::string& name() const { return name_; }

  // All of the live epoch at one moment. The two below it are parts of it: who
  // needs both takes the whole.
  std::shared_ptr<const LiveEpoch> live() const { return live_.Get(); }
  std::shared_ptr<const Binding> binding() const { return live()->binding; }
  std::shared_ptr<const ViewSetup> setup() const { return live()->setup; }
  // The records of containers as the live epoch shows them, or as epoch n
  // does; null where none are shuffled.
  std::shared_ptr<RecordEpoch> records() const { return live()->records; }
  std::shared_ptr<RecordEpoch> FixedRecords(Epoch epoch) const;
  // A LOOKUP: the epoch of records that shows `file`; null if it is no
  // container.
  std::shared_ptr<RecordEpoch> LookupContainer(EntryId file);
  // OPEN of a container as `shown`, an epoch of records of this view.
  OpenVerdict OpenContainer(EntryId file, RecordEpoch& shown, int32_t pid);
  // Epoch n of the plan with nothing carried: what `epoch/<n>/` shows.
  std::shared_ptr<const Binding> FixedBinding(Epoch epoch) const;
  // The same, for its ranked directory.
  std::shared_ptr<const Binding> FixedRanks(Epoch epoch) const;

  struct Found {
    EntryId shown;         // the file that the name shows in this epoch
    bool rebinds;          // it may show another one in the next
    bool listed = true;    // a listing may bind it too
    bool lasts = true;     // it may be believed until names are bound anew
    uint32_t ordinal = 0;  // of the name, among those that show it
  };
  // A LOOKUP by thread `pid` (0 = hidden) binds the name.
  Found Lookup(EntryId name, int32_t pid = 0);
  // OPEN of `file` by thread `pid` (0 = hidden) at monotonic time `now`, as the
  // name with that ordinal.
  OpenVerdict Open(EntryId file, int32_t pid, std::chrono::milliseconds now,
                   uint32_t ordinal = 0);
  // What answers reads of `file`, unless it leaves that to the source; null:
  // the source does. `live`: it was found by a name of the live epoch.
  std::shared_ptr<SampleMemory> MemoryOf(EntryId file, bool live) const;
  // A READ of one of its files reached the daemon.
  void NoteRead() { live_.NoteRead(); }
  // Somebody lists a directory, at monotonic time `now`: as a rule a job that
  // begins, and may take the epochs over by its first open.
  void NoteListing(std::chrono::milliseconds now);
  // A listing is about to bind names, without a Lookup of each. False where
  // it must not: the kernel was not yet told of the last switch, or an open of
  // a listed name could not be told from one of an older epoch.
  bool BindByListing();

  // A control write in two steps, so that several views change together or
  // not at all. Prepare may take seconds and changes nothing; errors: as
  // MakeViewSetup. Install takes effect at once if nothing of this epoch was
  // read, else at the next boundary; a move of the epoch is a boundary.
  struct Prepared {
    std::shared_ptr<const ViewSetup> setup;  // null: as it is
    ControlRequest request;
  };
  absl::StatusOr<Prepared> Prepare(const ControlRequest& request);
  void Install(Prepared prepared);
  // The live epoch as a line for a checkpoint. What it would be too long with
  // is left out: see EpochToken.
  EpochToken Token() const;
  // A job goes on with the epoch of a token. True: it is the live one, and what
  // is known of it stays. Else `token` is to be restored; of a reactive epoch
  // that the ledger has with the pairs that it had. Errors, InvalidArgument,
  // say why it cannot be. May read the whole ledger.
  absl::StatusOr<bool> GoesOnWith(EpochToken& token);
  // Makes it the live epoch, with a setup that was prepared for its policy and
  // seed. Errors: InvalidArgument, and nothing has changed.
  absl::Status Restore(Prepared prepared, const EpochToken& token);
  // Whether its policy makes anything of `feedback`.
  bool takes_feedback() const { return setup()->repeats(); }
  // The configuration that runs, or is to run from the next boundary on.
  ViewConfig config() const;

  ViewEpochStatus EpochStatus() const;
  // How well the live epoch's order mixes; see MixingLine.
  std::string Mixing() const { return mixing_.Line(binding()); }
  // Whether an epoch's end is to be found in the opens: names rebind and the
  // epoch advances by itself.
  bool watches_opens() const;

 private:
  // Tells the kernel what has come of a request.
  OpenVerdict Tell(const EpochController::Effects& effects)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const uint32_t id_;
  const std::string name_;
  const SetupTools tools_;
  Ledger* const ledger_;
  const bool sees_opens_;

  // Self-synchronised.
  LiveEpochs live_;  // published with mu_ held
  KernelNotifier notifier_;
  mutable MixingCache mixing_;
  mutable FixedEpochs fixed_;

  mutable Mutex mu_;
  EpochController controller_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_VIEW_H_
