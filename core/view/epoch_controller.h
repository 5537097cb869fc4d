// SPDX-License-Identifier: Apache-2.0
// When a view's next epoch begins, and what it begins with: counts opens,
// binds names anew or holds the epoch, writes it down, and publishes what is
// live from then on.
#ifndef SHUFFLEFS_CORE_VIEW_EPOCH_CONTROLLER_H_
#define SHUFFLEFS_CORE_VIEW_EPOCH_CONTROLLER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/config/config.h"
#include "core/epoch/epoch_watch.h"
#include "core/epoch/sent_back.h"
#include "core/readers/reader_family.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/epoch_journal.h"
#include "core/view/epoch_token.h"
#include "core/view/kernel_notifier.h"
#include "core/view/live_epoch.h"
#include "core/view/substitution_guard.h"
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

// Not thread-safe: the view's lock guards it. It may wait for an append to the
// ledger, for /proc, and for the first use of a policy's tables.
class EpochController {
 public:
  struct Parts {
    std::shared_ptr<const ViewSetup> setup;
    // What the ledger's epoch ran, where `setup` waits for the boundary; or
    // null.
    std::shared_ptr<const ViewSetup> running;
    ReaderFamilies* families = nullptr;
    LiveEpochs* live = nullptr;          // where epochs are published
    KernelNotifier* notifier = nullptr;  // is told that they are, no more
    bool sees_opens = true;
    // Something was read before the catalogue was ready: the policy begins at
    // the next boundary.
    bool wait_for_boundary = false;
  };
  // Continues the epoch that the ledger ends with, if it fits the setup or the
  // one that ran. What `parts` points to outlives the controller.
  EpochController(Parts parts, EpochJournal journal, SubstitutionGuard guard);
  EpochController(const EpochController&) = delete;
  EpochController& operator=(const EpochController&) = delete;

  // What the kernel is to be told, without the lock, before the request is
  // answered that caused it; and how that is answered.
  struct Effects {
    uint64_t begun = 0;       // not 0: names were bound anew, for that time
    bool were_fixed = false;  // and could not be before
    bool doubted = false;     // every walk to a name is to ask from now on
    bool settled = false;     // no longer
    bool stale = false;       // ESTALE
  };

  // OPEN of `file` by thread `reader` (0 = hidden), as the name with that
  // ordinal.
  struct FileOpen {
    EntryId file;
    uint32_t reader = 0;
    std::chrono::milliseconds now{0};
    uint32_t ordinal = 0;
  };
  Effects Open(const FileOpen& open);
  Effects OpenContainer(EntryId file, RecordEpoch& shown, uint32_t reader);
  // The containers were read through, as a lookup of one of `records` shows:
  // the next epoch begins, unless it has begun.
  Effects EndPassOf(const RecordEpoch& records);
  // Somebody lists a directory.
  Effects NoteListing(std::chrono::milliseconds now);
  // Whether a listing may bind names; then it does.
  bool BindByListing();
  // `setup` (may be null) takes effect as View::Install says.
  Effects Install(std::shared_ptr<const ViewSetup> setup,
                  const ControlRequest& request);
  // The setup that runs, or is to run from the next boundary on.
  const ViewSetup& wanted_setup() const {
    return pending_ != nullptr ? *pending_ : *setup_;
  }
  ViewEpochStatus Status() const;

  // For a checkpoint: what the token says but for single samples; and, unless
  // there are too many of them, the names that were opened.
  struct Saved {
    EpochToken token;
    std::shared_ptr<const Binding> binding;
    LedgerEpoch begin;
    absl::optional<std::vector<uint64_t>> opened;
  };
  Saved Save() const;
  // Whether the live epoch is the token's, which goes on then.
  bool GoesOnWith(const EpochToken& token);
  // The epoch of `state`, of which `position` samples were read, is the live
  // one. InvalidArgument, and nothing has changed, where `setup` cannot show
  // it.
  absl::StatusOr<Effects> Restore(std::shared_ptr<const ViewSetup> setup,
                                  LedgerState& state, uint64_t position);

 private:
  struct Boundary {
    Epoch epoch;
    std::vector<CarriedPair> carried;
    std::string verdict;
  };
  void Begin(Boundary boundary);
  void Bind(EpochBinding how);
  void Publish();
  uint64_t BeginPass();
  PassWatch::OpenIs PassOf(EntryId file, RecordEpoch& shown, uint32_t reader);
  Effects Count(SampleId name, uint32_t reader, std::chrono::milliseconds now);
  void Hold(const EpochOutcome& outcome);
  // What these names show; each once, whatever the order and number given.
  std::vector<CarriedPair> PairsOf(std::vector<uint64_t> names) const;
  // Names keep what they show or, where nobody asked yet, their own samples:
  // at once where few names are bound, else from the next boundary on. True
  // when names were bound anew.
  bool StopBinding();
  bool counts_opens() const { return sees_opens_ && setup_->rebinds(); }
  void MakeWatch();
  LedgerEpoch Record() const;
  bool Resume(LedgerState& last);
  bool GoOn(LedgerState& last);
  // Whether the live epoch is the token's; and of a reactive one whether names
  // show what it says.
  bool IsLive(const EpochToken& token) const;
  bool ShowsPairs(const EpochToken& token) const;

  // Constant after construction.
  ReaderFamilies* const families_;
  LiveEpochs* const live_;
  KernelNotifier* const notifier_;
  const bool sees_opens_;

  EpochJournal journal_;
  SubstitutionGuard guard_;
  std::shared_ptr<const ViewSetup> setup_;
  std::shared_ptr<const ViewSetup> pending_;
  std::shared_ptr<const Binding> binding_;
  std::shared_ptr<RecordEpoch> records_;
  SentBack sent_back_;  // from a container
  // Null unless opens are seen and what a name shows depends on the epoch.
  std::unique_ptr<EpochWatch> watch_;
  Epoch epoch_{0};  // counts held boundaries too
  std::string verdict_;
  std::string hold_reason_;
  uint64_t held_ = 0;
  bool is_held_ = false;
  bool waiting_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_CONTROLLER_H_
