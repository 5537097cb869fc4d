// SPDX-License-Identifier: Apache-2.0
// One shuffled view: which sample each name shows in the live epoch, when the
// next epoch begins, and what was consumed so far. Policies say orders, the
// detector says when a pass has ended; the view joins them.
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
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/base/published.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/config/config.h"
#include "core/epoch/epoch_watch.h"
#include "core/epoch/sent_back.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_history.h"
#include "core/quality/mixing_line.h"
#include "core/readers/job_nodes.h"
#include "core/readers/reader_family.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_token.h"
#include "core/view/fixed_epochs.h"
#include "core/view/live_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// What `status` says of a view's epoch. A figure that cannot be known is
// empty: without opens nobody knows what was consumed.
struct ViewEpochStatus {
  Epoch epoch;
  std::string state;    // waiting, running, held
  std::string verdict;  // a, b, c, takeover, signal, or ""
  uint64_t held = 0;
  std::string hold_reason;
  uint64_t carried = 0;
  uint64_t samples = 0;
  absl::optional<uint64_t> consumed;
  absl::optional<uint64_t> rereads;
  bool suspended = false;  // from the next boundary on, if not already
  // It is, and every name shows its own sample.
  bool shows_own = false;
  std::vector<std::string> warnings;
};

// Thread-safe. Lookups, reads, and opens that are not watched take what they
// need from the LiveEpoch, and no lock of the view; they wait only while names
// are being bound anew. Watched opens, control writes and `status` come one at
// a time: they may wait for an append to the ledger, for /proc, and for the
// first use of a policy's tables. Prepare may take seconds.
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
    // Called, with no lock held, after names were bound anew and before the
    // call that caused it returns: the kernel must look names up again.
    // `were_fixed`: until now it was allowed to believe them for life.
    std::function<void(bool were_fixed)> rebound;
    // Called after that: names may be bound by listings. May be empty.
    std::function<void()> settled;
    // Called as `rebound` is, where no name was bound anew: the kernel must
    // look names up again, and is to believe them no longer than Found says.
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

  // All of the live epoch at one moment. The three below it are parts of it:
  // who needs two of them takes the whole.
  std::shared_ptr<const LiveEpoch> live() const { return published_.Get(); }
  std::shared_ptr<const Binding> binding() const { return live()->binding; }
  std::shared_ptr<const ViewSetup> setup() const { return live()->setup; }
  std::shared_ptr<RecordEpoch> records() const { return live()->records; }
  // The records of containers as epoch n shows them; null where none are
  // shuffled.
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
  void NoteRead();
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
  struct Boundary {
    Epoch epoch;
    std::vector<CarriedPair> carried;
    std::string verdict;
  };
  void Begin(Boundary boundary) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `bound`: what a reactive view shows from the epoch's beginning on.
  void Bind(Epoch epoch, CarriedNames carried, bool identity,
            absl::Span<const CarriedPair> bound)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BindRecords(Epoch epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes what was bound the live epoch.
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Until then no lookup is answered, nor an open that is not watched.
  void CloseLookups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The live epoch, of which something is asked for now, as `asked` says.
  // Whoever closes its lookups after that finds it said.
  std::shared_ptr<const LiveEpoch> Enter(std::atomic<bool>& asked)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The containers were read through: the next epoch. Its begun_.
  uint64_t BeginPass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PassWatch::OpenIs PassOf(EntryId file, RecordEpoch& shown, uint32_t reader)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells what reads ahead of the orders of the live epoch.
  void FollowLive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Hold(const EpochOutcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  EpochWatch::Options WatchOptions() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeWatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Resume(LedgerState& last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool GoOn(LedgerState& last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  EpochWatch::Past PastOf(const LedgerState& last)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  LedgerEpoch LedgerRecord() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  struct Counted {
    bool began = false;    // names were bound anew
    bool doubted = false;  // every walk to a name is to ask from now on
    bool settled = false;  // no longer
    OpenVerdict verdict = OpenVerdict::kServe;
  };
  Counted Count(SampleId name, uint32_t reader, std::chrono::milliseconds now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What these names show; each once, whatever the order and number given.
  // What is carried into an epoch of the setup, as it may be there.
  CarriedNames Carry(std::vector<CarriedPair>& pairs, bool repeats)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The counts of what was shown go over to a supply that begins: from the
  // last one that had some, or from what the ledger has of an earlier run.
  void KeepServed(const ViewSetup& before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveServed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `ended`: what the epoch had shown counts, too.
  void TakeServed(const LedgerState& last, bool ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<CarriedPair> PairsOf(std::vector<uint64_t> names) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Suspend(Suspicion suspicion) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Looks whether the reader's job spans several nodes, and suspends a
  // reactive binding if so: at once where few names are bound, else at the
  // next boundary. True when names were bound anew.
  bool LearnNodes(uint32_t reader, std::chrono::milliseconds now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Names keep what they show or, where nobody asked yet, their own samples.
  bool StopBinding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NodesUnclear() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Note(const absl::Status& appended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // As what `name` shows.
  void NoteConsumed(SampleId name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // An epoch has begun, with a setup in the place of `before` unless null.
  void NoteBegun(const ViewSetup* before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What was opened of the epoch before that was known.
  std::vector<CarriedPair> Seen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of an open that is not the first of its name: what it may be a sign of.
  void NoteAgain(SampleId name, const EpochOutcome& outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the live epoch is the token's; and of a reactive one whether names
  // show what it says.
  bool IsLive(const EpochToken& token) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool ShowsPairs(const EpochToken& token) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // From the ledger, where the token does not have them.
  absl::Status FindPairs(EpochToken& token) const ABSL_LOCKS_EXCLUDED(mu_);
  void RestoreEpoch(LedgerState& state, uint64_t position)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteShown(const CarriedPair& pair) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool counts_opens() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether nothing of the epoch was read. Then its lookups are closed, so that
  // nothing will be.
  bool ClosedUnread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Names were bound anew for the `begun`-th time.
  void TellKernel(bool were_fixed, uint64_t begun) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const uint32_t id_;
  const std::string name_;
  const SetupTools tools_;
  ReaderFamilies* const families_;
  Ledger* const ledger_;
  JobNodes* const nodes_;
  const std::function<void(bool)> rebound_;
  const std::function<void()> settled_;
  const std::function<void()> doubted_;
  const bool sees_opens_;

  mutable Mutex mu_;
  std::shared_ptr<const ViewSetup> setup_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const ViewSetup> pending_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const Binding> binding_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<RecordEpoch> records_ ABSL_GUARDED_BY(mu_);
  SentBack sent_back_ ABSL_GUARDED_BY(mu_);  // from a container
  // Null unless opens are seen and what a name shows depends on the epoch.
  std::unique_ptr<EpochWatch> watch_ ABSL_GUARDED_BY(mu_);
  uint64_t begun_ ABSL_GUARDED_BY(mu_) = 0;  // bindings made
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 0;   // the last the kernel heard of
  Epoch epoch_ ABSL_GUARDED_BY(mu_){0};      // counts held boundaries too
  std::string verdict_ ABSL_GUARDED_BY(mu_);
  std::string hold_reason_ ABSL_GUARDED_BY(mu_);
  uint64_t held_ ABSL_GUARDED_BY(mu_) = 0;
  bool ledger_failed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t noted_again_ ABSL_GUARDED_BY(mu_) = 0;  // opens, in this epoch
  // Of a reactive epoch, what it showed since it began or was held.
  ShownPairs shown_ ABSL_GUARDED_BY(mu_);
  bool is_held_ ABSL_GUARDED_BY(mu_) = false;
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;
  std::string suspended_ ABSL_GUARDED_BY(mu_);  // why, "" if it is not
  std::string served_ ABSL_GUARDED_BY(mu_);     // of a setup that ended, or ""
  std::string several_nodes_ ABSL_GUARDED_BY(mu_);  // a warning, or ""

  // Self-synchronised. Begun anew with mu_ held.
  std::atomic<bool> looked_{false};  // a LOOKUP in this epoch
  std::atomic<bool> read_{false};    // OPEN or READ in this epoch
  std::atomic<bool> ever_read_{false};
  Published<LiveEpoch> published_;  // set with mu_ held
  mutable MixingCache mixing_;
  mutable FixedEpochs fixed_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_VIEW_H_
