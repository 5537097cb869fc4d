// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/assemble.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/clock_wait.h"
#include "core/base/exhaustion.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/engine/device_finder.h"
#include "core/engine/indexer.h"
#include "core/engine/learnt_factors.h"
#include "core/engine/place_finder.h"
#include "core/engine/records_maker.h"
#include "core/engine/state_dir.h"
#include "core/engine/supply_maker.h"
#include "core/engine/tier_maker.h"
#include "core/ledger/ledger.h"
#include "core/readers/reader_family.h"
#include "core/scan/drift.h"
#include "core/source/source_dir.h"
#include "fs/control/control_files.h"
#include "fs/filesystem.h"
#include "fs/fuse/mount_point.h"
#include "fs/fuse/session.h"
#include "fs/kernel_cache/mount_lister.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/control_text.h"
#include "mount-tools/daemon/control_memory.h"
#include "mount-tools/daemon/end_in_time.h"
#include "mount-tools/daemon/mounts_above.h"
#include "mount-tools/daemon/ready_pipe.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// Everything that a serving mount is made of, in the order in which it is
// made; it goes in the reverse order.
class Mount {
 public:
  Mount(std::unique_ptr<MountLister> lister, ControlMemory memory,
        SourceDir source, StateDir state, std::unique_ptr<Ledger> ledger)
      : lister_(std::move(lister)),
        memory_(std::move(memory)),
        config_(memory_.config()),
        source_(std::move(source)),
        state_(std::move(state)),
        ledger_(std::move(ledger)),
        devices_(std::make_shared<DeviceFinder>(source_)),
        places_(source_, state_.places()),
        learnt_(state_.learnt()),
        tiers_(TierParts()),
        supplies_(SupplyParts()),
        records_(RecordParts()),
        control_(ControlParts()),
        filesystem_(FilesystemParts()) {}

  // `end` begins when the mount is gone.
  absl::Status Start(const RunOptions& options, EndInTime& end);
  // Serves; `ready` is told once when the mount shows the views, or passes
  // through because the catalogue takes longer than `wait`.
  absl::Status Serve(ReadyPipe& ready);

 private:
  ControlFiles::Parts ControlParts();
  std::vector<std::string> WarnOfMountsAbove() const;
  Filesystem::Parts FilesystemParts();
  TierMaker::Parts TierParts();
  SupplyFactory::Parts SupplyParts();
  RecordsFactory::Parts RecordParts();
  IndexerParts Indexer();
  absl::Status Index(std::stop_token stop);
  void TellUnreadable(const Catalogue& catalogue);
  void CheckRights(std::stop_token stop);

  const std::unique_ptr<MountLister> lister_;
  ControlMemory memory_;
  const MountConfig config_;
  const SourceDir source_;
  const StateDir state_;
  const std::unique_ptr<Ledger> ledger_;
  Metrics metrics_;
  ReaderFamilies families_;
  const std::shared_ptr<DeviceFinder> devices_;
  PlaceFinder places_;
  JobNodes nodes_;
  LearntFactors learnt_;
  TierMaker tiers_;
  SupplyFactory supplies_;
  RecordsFactory records_;
  ControlFiles control_;
  Filesystem filesystem_;
  std::unique_ptr<Session> session_;
  // A saved catalogue whose files' rights were not looked at. Of the thread
  // that indexes.
  std::shared_ptr<const Catalogue> unchecked_;
};

ControlFiles::Parts Mount::ControlParts() {
  ControlFiles::Parts parts;
  parts.config = config_;
  parts.version = SHUFFLEFS_VERSION;
  parts.metrics = &metrics_;
  parts.text.parse = [this](absl::string_view text, const ViewConfig& current) {
    return ParseControl(text, current, &config_);
  };
  parts.text.render = EffectiveToml;
  parts.written = [this](const std::vector<ViewKeys>& views) {
    memory_.Keep(views);
    tiers_.KeepLearnt();
  };
  parts.warn = [this] { return WarnOfMountsAbove(); };
  return parts;
}

// Where no epoch ever changes they are right.
std::vector<std::string> Mount::WarnOfMountsAbove() const {
  for (const auto& view : filesystem_.served()->views()) {
    const ViewConfig config = view->config();
    if (view->watches_opens() ||
        view->EpochStatus().epoch != config.epoch_start) {
      return shufflefs::WarnOfMountsAbove(config_.mountpoint);
    }
  }
  return {};
}

Filesystem::Parts Mount::FilesystemParts() {
  Filesystem::Parts parts;
  parts.source = &source_;
  parts.control = &control_;
  parts.metrics = &metrics_;
  parts.owner = ControlDir::Owner{geteuid(), getegid(), config_.control_gid};
  parts.open = config_.open;
  parts.passed_through = [this] { state_.SetPassedThrough(true); };
  for (const ViewConfig& view : config_.views) {
    parts.goes_on = parts.goes_on || ledger_->GoesOn(view.path);
  }
  parts.serves_others = config_.allow_other;
  return parts;
}

TierMaker::Parts Mount::TierParts() {
  TierMaker::Parts parts;
  parts.config = &config_;
  parts.learnt = &learnt_;
  parts.foreground_reads = [this]() -> uint64_t {
    const ServedDataset* served = filesystem_.served();
    return served == nullptr ? 0 : served->plain().reads();
  };
  return parts;
}

SupplyFactory::Parts Mount::SupplyParts() {
  SupplyFactory::Parts parts;
  parts.config = &config_;
  parts.source = &source_;
  parts.devices = devices_.get();
  parts.places = &places_;
  parts.stall = &metrics_.stall();
  parts.tiers = &tiers_;
  parts.families = &families_;
  return parts;
}

RecordsFactory::Parts Mount::RecordParts() {
  RecordsFactory::Parts parts;
  parts.config = &config_;
  parts.source = &source_;
  parts.devices = devices_.get();
  parts.supplies = &supplies_;
  parts.tiers = &tiers_;
  parts.state = state_.dir();
  parts.stall = &metrics_.stall();
  return parts;
}

absl::Status Mount::Start(const RunOptions& options, EndInTime& end) {
  Session::Options session;
  session.filesystem = &filesystem_;
  session.metrics = &metrics_;
  session.lister = lister_.get();
  session.source = config_.source;
  session.mountpoint = config_.mountpoint;
  session.allow_other = config_.allow_other;
  session.read_only = config_.read_only;
  session.debug = options.debug;
  session.ended = [this, &end](bool well) {
    end.Begin(well ? 0 : 1, [this] { session_->Detach(); });
  };
  // To see on a new kernel what happens on one before 6.16.
  const char* epochs = std::getenv("SHUFFLEFS_KERNEL_EPOCHS");
  session.use_epochs = epochs == nullptr || absl::string_view(epochs) != "no";
  ASSIGN_OR_RETURN(session_, Session::Mount(session));
  return absl::OkStatus();
}

IndexerParts Mount::Indexer() {
  IndexerParts parts;
  parts.config = &config_;
  parts.source = &source_;
  parts.state = &state_;
  parts.policies = AllPolicies();
  parts.running = &memory_.running();
  parts.ledger = ledger_.get();
  parts.families = &families_;
  parts.devices = devices_;
  parts.addresses = [this](const Dataset& dataset) {
    return places_.Find(dataset);
  };
  parts.nodes = &nodes_;
  parts.stall = &metrics_.stall();
  parts.supply = supplies_.maker();
  parts.ahead = supplies_.ahead_maker();
  parts.foresight = supplies_.foresight_maker();
  parts.records = records_.maker();
  parts.rebound = [this](bool were_fixed) {
    session_->NamesChanged(were_fixed);
  };
  parts.settled = [this] { session_->NamesSettled(); };
  parts.doubted = [this] { session_->NamesDoubted(); };
  parts.progress = [this](uint64_t entries) {
    control_.SetIndexing(absl::StrCat("indexing: ", entries, " names so far"));
  };
  return parts;
}

void Mount::TellUnreadable(const Catalogue& catalogue) {
  for (const std::string& path : catalogue.unreadable()) {
    std::string line =
        absl::StrCat(path, ": cannot be read; its files are not in the view");
    Log(LogLevel::kWarning, line);
    control_.AddWarning(std::move(line));
  }
}

absl::Status Mount::Index(std::stop_token stop) {
  const IndexerParts parts = Indexer();
  ASSIGN_OR_RETURN(
      std::unique_ptr<ServedDataset> served,
      OrExhausted(config_.source,
                  [&]() -> absl::StatusOr<std::unique_ptr<ServedDataset>> {
                    ASSIGN_OR_RETURN(FoundCatalogue found,
                                     GetCatalogue(parts, stop));
                    TellUnreadable(*found.catalogue);
                    if (found.was_saved && found.catalogue->serves_others()) {
                      unchecked_ = found.catalogue;
                    }
                    return MakeServed(parts, std::move(found.catalogue),
                                      filesystem_.SettleAndAskWhetherRead() ||
                                          state_.passed_through());
                  }));
  filesystem_.Begin(std::move(served), session_->kernel_knows_epochs());
  session_->NamesChanged(/*were_fixed=*/false);
  session_->AnswerWaiting();
  state_.SetPassedThrough(false);  // the ledger has the epoch
  return absl::OkStatus();
}

// Of many files a saved catalogue is believed: to ask for each takes as long as
// a scan. What was closed meanwhile nobody is given (CheckUnchanged), and what
// was opened waits for the next mount.
void Mount::CheckRights(std::stop_token stop) {
  if (unchecked_ == nullptr) return;
  const absl::optional<std::string> changed =
      FindChangedRights(source_, *unchecked_, stop);
  unchecked_.reset();
  if (!changed) return;
  std::string line = absl::StrCat(*changed, "; the next mount scans again");
  Log(LogLevel::kWarning, line);
  control_.AddWarning(std::move(line));
  if (absl::Status gone = state_.catalogue().Remove(); !gone.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("catalogue: ", gone.message()));
  }
}

absl::Status Mount::Serve(ReadyPipe& ready) {
  absl::Status indexed;
  std::jthread indexer = StartThread("sfs-index", [&](std::stop_token stop) {
    if (!session_->WaitForKernel()) return;
    session_->RaiseReadAhead();
    indexed = Index(stop);
    if (stop.stop_requested()) {
      indexed = absl::OkStatus();  // unmounted before it was done
    } else if (!indexed.ok()) {
      ready.Fail(indexed.message());
      Log(LogLevel::kError, indexed.message());
      session_->Stop();
    }
    ready.Succeed();
    if (indexed.ok()) CheckRights(stop);
  });
  auto patience = TryStartThread(  // without it the catalogue is waited for
      "sfs-wait", [&](std::stop_token stop) {
        if (!session_->WaitForKernel()) return;
        if (WaitUnlessStopped(stop, config_.wait)) ready.Succeed();
      });
  const absl::Status served = session_->Run();
  indexer.request_stop();
  patience.reset();  // joins
  indexer.join();
  if (!served.ok()) {
    ready.Fail(served.message());
    Log(LogLevel::kError, served.message());
  }
  tiers_.KeepLearnt();
  if (served.ok() && indexed.ok()) {
    memory_.Forget();
    state_.SetPassedThrough(false);
  }
  // From here on a source that hangs is waited for, until `end` does it.
  tiers_.Stop();  // before what it reads the source with goes
  records_.Stop();
  supplies_.Stop();  // nobody is answered once the session is gone
  filesystem_.Stop();
  return served.ok() ? indexed : served;
}

absl::StatusOr<std::unique_ptr<Mount>> Prepare(const MountConfig& config) {
  // Before any thread is started and anything is open.
  ASSIGN_OR_RETURN(std::unique_ptr<MountLister> lister, MountLister::Start());
  RETURN_IF_ERROR(ClearDeadMount(config.mountpoint,
                                 [&] { return HolderIsDying(config.state); }));
  ASSIGN_OR_RETURN(SourceDir source, SourceDir::At(config.source));
  struct stat st;
  if (stat(config.mountpoint.c_str(), &st) != 0) {
    return ErrnoStatus(errno, config.mountpoint);
  }
  if (!S_ISDIR(st.st_mode)) return ErrnoStatus(ENOTDIR, config.mountpoint);
  ASSIGN_OR_RETURN(StateDir state, StateDir::Open(config.state));
  ASSIGN_OR_RETURN(std::unique_ptr<Ledger> ledger,
                   Ledger::Open(state.ledger(), Ledger::Options{}));
  if (!ledger->cut().ok()) {
    Log(LogLevel::kWarning, ledger->cut().message());
  }
  ControlMemory memory = ControlMemory::Open(state.control_memory(), config);
  return std::make_unique<Mount>(std::move(lister), std::move(memory),
                                 std::move(source), std::move(state),
                                 std::move(ledger));
}

int Complain(const absl::Status& status) {
  const absl::string_view text = status.message();
  fprintf(stderr, "shufflefs: %.*s\n", static_cast<int>(text.size()),
          text.data());
  return 1;
}

}  // namespace

int RunMount(const MountConfig& config, const RunOptions& options) {
  const bool stay = options.foreground || options.debug;
  InitLog(LogTarget::kStderr,
          options.debug ? LogLevel::kDebug : LogLevel::kInfo);
  // Fork before anything is made: the parent must own no part of the mount
  // that it could undo when it exits.
  ReadyPipe ready;
  if (!stay) {
    absl::StatusOr<ReadyPipe::Side> side = ready.Fork();
    if (!side.ok()) return Complain(side.status());
    if (*side == ReadyPipe::Side::kParent) return ready.AwaitChild();
  }
  EndInTime end;  // outlives the mount
  absl::StatusOr<std::unique_ptr<Mount>> mount =
      OrExhausted(config.source, [&] { return Prepare(config); });
  absl::Status status = mount.status();
  if (status.ok()) {
    status = OrExhausted(config.source,
                         [&] { return (*mount)->Start(options, end); });
  }
  if (!status.ok()) {
    ready.Fail(status.message());
    return stay ? Complain(status) : 1;
  }
  absl::Status served;  // what it says was told already
  status = OrExhausted(config.source, [&] {
    served = (*mount)->Serve(ready);
    return absl::OkStatus();
  });
  if (status.ok()) return served.ok() ? 0 : 1;
  ready.Fail(status.message());
  Log(LogLevel::kError, status.message());
  return 1;
}

}  // namespace shufflefs
