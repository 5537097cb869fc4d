// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/daemon.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/exhaustion.h"
#include "core/base/files/reach.h"
#include "core/base/interruptible_sleep.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/config/value_text.h"
#include "core/engine/engine.h"
#include "core/engine/state_dir.h"
#include "core/peers/peer_module.h"
#include "core/policy/read_before.h"
#include "core/source/source_dir.h"
#include "core/view/effect.h"
#include "fs/control/control_files.h"
#include "fs/filesystem.h"
#include "fs/fuse/mount_point.h"
#include "fs/fuse/session.h"
#include "fs/opens/kernel_sight.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/control_text.h"
#include "mount-tools/config/mount_places.h"
#include "mount-tools/daemon/control_memory.h"
#include "mount-tools/daemon/end_in_time.h"
#include "mount-tools/daemon/log_setup.h"
#include "mount-tools/daemon/mounts_above.h"
#include "mount-tools/daemon/ready_pipe.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// Everything in a serving mount, in the order in which it is made. It is
// destroyed in reverse order.
class Mount {
 public:
  // Errors: those of Engine::Make.
  static absl::StatusOr<std::unique_ptr<Mount>> Make(KernelSight kernel,
                                                     ControlMemory memory,
                                                     SourceDir source,
                                                     StateDir state) {
    std::unique_ptr<Mount> mount(
        new Mount(std::move(kernel), std::move(memory), std::move(state)));
    RETURN_IF_ERROR(mount->MakeParts(std::move(source)));
    return mount;
  }
  // It may take long to give memory back, so `end` is not over yet.
  ~Mount() {
    if (end_ != nullptr) end_->ForgetLast();
  }

  // `end` begins when the mount is gone.
  absl::Status Start(const RunOptions& options, EndInTime& end);
  // Serves. Calls `ready` once, when the mount shows the views, or when it
  // passes through because the catalogue takes longer than `wait`.
  absl::Status Serve(ReadyPipe& ready);

 private:
  Mount(KernelSight kernel, ControlMemory memory, StateDir state)
      : kernel_(std::move(kernel)),
        memory_(std::move(memory)),
        state_(std::move(state)),
        passed_before_(state_.passed_through()) {}

  absl::Status MakeParts(SourceDir source);
  ControlFiles::Parts ControlParts();
  std::vector<std::string> WarnOfMountsAbove() const;
  Filesystem::Parts FilesystemParts();
  absl::Status Index(std::stop_token stop);
  // Has the kernel report opens, if the engine wants it so.
  void HaveOpensReported(const ServedDataset& served);
  OpensSeen OpensNow() const;
  void TellUnreadable(const Catalogue& catalogue);
  void TakeLogLevel();
  void Keep(const std::vector<ViewKeys>& views);
  // Call it when the mount has ended well. Nothing is kept from then on.
  void ForgetKept();
  void TellMounted(const ServedDataset& served);
  void Warn(std::string line);

  const KernelSight kernel_;
  ControlMemory memory_;  // is written under kept_mu_
  const StateDir state_;
  const bool passed_before_;  // by a mount that ended before it showed a view
  EndInTime* end_ = nullptr;  // constant after Start
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ControlFiles> control_;
  std::unique_ptr<Filesystem> filesystem_;
  std::unique_ptr<Session> session_;
  Mutex kept_mu_;
  bool forgotten_ ABSL_GUARDED_BY(kept_mu_) = false;
  std::atomic<bool> failed_{false};  // there is no catalogue
  // Of the last text that was parsed. One write to `control` at a time.
  ControlledMount controlled_;
  std::atomic<LogLevel> log_level_{LogLevel::kInfo};
  bool stays_ = false;  // in the foreground; constant after Start
  std::atomic<bool> reported_{false};  // what is mounted, or why nothing is
  mutable Mutex opens_mu_;
  // Set while opens are seen in another way than they are to be.
  absl::optional<OpensSeen> opens_ ABSL_GUARDED_BY(opens_mu_);
};

// The size from which on the kernel reads files by itself. Lets you test other
// sizes, and, by "no", the behaviour of kernels before 6.9.
absl::optional<uint64_t> LeastBacked() {
  const char* const size = std::getenv("SHUFFLEFS_KERNEL_BACKING");
  if (size == nullptr) return kLeastBackedBytes;
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(size, &bytes)) return absl::nullopt;
  return bytes;
}

absl::Status Mount::MakeParts(SourceDir source) {
  Engine::Parts parts{.config = memory_.config(),
                      .given = memory_.command_line().views,
                      .source = std::move(source),
                      .policies = AllPolicies(),
                      .version = SHUFFLEFS_VERSION,
                      .state = &state_,
                      .running = memory_.running(),
                      .hooks = {}};
  ASSIGN_OR_RETURN(parts.reach, ReachBelow(parts.config.mountpoint));
  parts.hooks.on_rebind = [this](bool were_fixed) {
    session_->NamesChanged(were_fixed);
  };
  parts.hooks.on_committed = [this] { session_->NamesCommitted(); };
  parts.hooks.waits = [this] { session_->LetOthersServe(); };
  parts.hooks.on_doubted = [this] { session_->NamesDoubted(); };
  parts.hooks.cached = kernel_.FinderFor(memory_.config().mountpoint,
                                         [this] { return engine_->served(); });
  parts.hooks.switched = [this](const std::string& path,
                                const std::string& settings) {
    return control_->PrepareSwitch(path, settings);
  };
  log_level_ = parts.config.log_level;
  if (!parts.config.peers.members.empty()) {
    ASSIGN_OR_RETURN(parts.make_transport, LoadPeerTransport());
  }
  ASSIGN_OR_RETURN(engine_, Engine::Make(std::move(parts)));
  control_ = std::make_unique<ControlFiles>(ControlParts());
  filesystem_ = std::make_unique<Filesystem>(FilesystemParts());
  return absl::OkStatus();
}

ControlFiles::Parts Mount::ControlParts() {
  ControlFiles::Parts parts;
  parts.config = engine_->config();
  parts.version = SHUFFLEFS_VERSION;
  parts.metrics = &engine_->metrics();
  parts.text.parse = [this](absl::string_view text, const ViewConfig& current) {
    absl::StatusOr<ControlRequest> request =
        ParseControl(text, current, &engine_->config(), &controlled_);
    if (!request.ok()) return request;
    for (const std::string& note : request->notes) {
      Log(LogLevel::kWarning, note);
    }
    return request;
  };
  parts.text.installed = [this] { TakeLogLevel(); };
  parts.text.feedback_policies = FeedbackPolicies();
  parts.text.render = [this](const MountConfig& mount,
                             const std::vector<ViewConfig>& views) {
    MountConfig now = mount;
    now.log_level = log_level_;
    return TomlOfViews(now, views);
  };
  parts.written = [this](const std::vector<ViewKeys>& views) {
    Keep(views);
    engine_->SaveFactors();
  };
  parts.opens = [this] { return OpensNow(); };
  parts.warn = [this] { return WarnOfMountsAbove(); };
  parts.peers = [this]() -> absl::optional<PeersStatus> {
    const Peers* const peers = engine_->peers();
    if (peers == nullptr) return absl::nullopt;
    return peers->status();
  };
  return parts;
}

// As long as the mount lives. The next one has that of its command line.
void Mount::TakeLogLevel() {
  if (!controlled_.log_level || *controlled_.log_level == log_level_) return;
  log_level_ = *controlled_.log_level;
  MountConfig config = engine_->config();
  config.log_level = log_level_;
  InitLog(stays_ ? TerminalLog(config, RunOptions{true, false})
                 : DaemonLog(config));
}

// A write that waited for the source may come here after the end.
void Mount::Keep(const std::vector<ViewKeys>& views) {
  MutexLock lock(kept_mu_);
  if (!forgotten_) memory_.Keep(views);
}

void Mount::ForgetKept() {
  MutexLock lock(kept_mu_);
  forgotten_ = true;
  memory_.Forget();
}

// If no epoch ever changes, their caches stay right.
std::vector<std::string> Mount::WarnOfMountsAbove() const {
  for (const auto& view : engine_->served()->views()) {
    const ViewConfig config = view->config();
    if (view->watches_opens() ||
        view->EpochStatus().epoch != config.epoch_start) {
      return shufflefs::WarnOfMountsAbove(engine_->config().mountpoint);
    }
  }
  return {};
}

Filesystem::Parts Mount::FilesystemParts() {
  Filesystem::Parts parts;
  parts.source = &engine_->source();
  parts.control = control_.get();
  parts.metrics = &engine_->metrics();
  const MountConfig& config = engine_->config();
  parts.owner = ControlDir::Owner{geteuid(), getegid(), config.control_gid};
  parts.open = config.open;
  parts.passed_through = [this] { state_.SetPassedThrough(true); };
  parts.goes_on = engine_->goes_on();
  parts.serves_others = config.allow_other;
  parts.looker = kernel_.lister().pid();
  return parts;
}

absl::Status Mount::Start(const RunOptions& options, EndInTime& end) {
  stays_ = options.foreground || options.debug;
  Session::Options session;
  session.filesystem = filesystem_.get();
  session.metrics = &engine_->metrics();
  session.lister = &kernel_.lister();
  const MountConfig& config = engine_->config();
  session.source = config.source;
  session.mountpoint = config.mountpoint;
  session.allow_other = config.allow_other;
  session.read_only = config.read_only;
  session.no_exec = options.no_exec;
  session.debug = options.debug;
  RETURN_IF_ERROR(end.Arm());
  end_ = &end;
  session.ended = [this](bool well) {
    kernel_.lister().Stop();
    end_->Begin(well ? 0 : 1, [this] { session_->Detach(); });
    // Threads that wait for the source may never end.
    if (well && !failed_) ForgetKept();
  };
  // Lets you test on a new kernel the behaviour of kernels before 6.16.
  const char* epochs = std::getenv("SHUFFLEFS_KERNEL_EPOCHS");
  session.use_epochs = epochs == nullptr || absl::string_view(epochs) != "no";
  if (LeastBacked().has_value()) session.backed = &engine_->source();
  ASSIGN_OR_RETURN(session_, Session::Mount(session));
  state_.SetMount(MountName(config.mountpoint));
  return absl::OkStatus();
}

void Mount::Warn(std::string line) {
  Log(LogLevel::kWarning, line);
  control_->AddWarning(std::move(line));
}

// One line for each view.
void Mount::TellMounted(const ServedDataset& served) {
  const MountConfig& config = engine_->config();
  for (const auto& view : served.views()) {
    const std::shared_ptr<const ViewSetup> setup = view->setup();
    const std::string& path = setup->config.path;
    const std::string below = path.empty() ? "" : absl::StrCat("/", path);
    Log(LogLevel::kInfo,
        absl::StrCat("mounted ", config.source, below, " on ",
                     config.mountpoint, below, ": ", ShownLine(*setup)));
    for (const std::string& warning : view->EpochStatus().warnings) {
      if (!warning.empty()) Log(LogLevel::kWarning, warning);
    }
  }
}

void Mount::TellUnreadable(const Catalogue& catalogue) {
  for (const std::string& path : catalogue.unreadable()) {
    Warn(absl::StrCat(path, ": cannot be read; its files are not in the view"));
  }
}

OpensSeen Mount::OpensNow() const {
  const ServedDataset* const served = engine_->served();
  if (served == nullptr) return {OpensSeen::By::kRequests, "still scanning"};
  MutexLock lock(opens_mu_);
  return opens_.value_or(served->opens());
}

void Mount::HaveOpensReported(const ServedDataset& served) {
  if (served.opens().by != OpensSeen::By::kReports) return;
  OpenListener& listener = *kernel_.listener();
  absl::Status marked = served.PrepareReports();
  if (marked.ok()) {
    marked =
        listener.Mark(served, kernel_.lister(), engine_->config().mountpoint);
  }
  if (marked.ok() && !listener.Begin(served)) {
    marked = ErrnoStatus(EAGAIN, "starting a thread");
  }
  if (!marked.ok()) listener.Forget();
  // If no epoch depends on opens, they are not worth a request each.
  const bool unseen = !marked.ok() && !served.opens().counts;
  for (const auto& view : served.views()) {
    if (marked.ok()) view->ExpectReports();
    if (!marked.ok()) view->ForgoReports();
    if (unseen) view->ExpectNoOpens();
  }
  if (marked.ok() || unseen) filesystem_->LeaveOpensToKernel();
  MutexLock lock(opens_mu_);
  opens_.reset();
  if (marked.ok()) return;
  const std::string why =
      absl::StrCat("the kernel does not report opens: ", marked.message());
  opens_ = OpensSeen{
      unseen ? OpensSeen::By::kNothing : OpensSeen::By::kRequests, why};
  if (!unseen) {
    Log(LogLevel::kWarning, absl::StrCat(why, "; each open asks the daemon"));
  }
}

absl::Status Mount::Index(std::stop_token stop) {
  Engine::LoadOptions options;
  options.no_reports = kernel_.NoReports();
  if (!session_->kernel_knows_epochs()) {
    options.no_rebinding =
        "reports of opens need Linux 6.16, whose names know epochs";
  }
  options.no_backing = session_->PrepareBacking();
  options.least_backed = LeastBacked().value_or(kLeastBackedBytes);
  options.reports = kernel_.listener();
  options.stop = stop;
  options.progress = [this](uint64_t entries) {
    control_->SetIndexing(absl::StrCat("indexing: ", entries, " names so far"));
  };
  options.read_before = [this] {
    FilesRead read = filesystem_->SettleAndAskWhatWasRead();
    if (passed_before_) read.what = ReadBefore::kUnknown;
    return read;
  };
  ASSIGN_OR_RETURN(const ServedDataset* const served,
                   OrExhausted(engine_->config().source,
                               [&] { return engine_->Load(options); }));
  for (const std::string& note : engine_->config().notes) Warn(note);
  TellUnreadable(served->catalogue());
  // Before anybody can end its first epoch, which is logged, too.
  reported_ = true;
  TellMounted(*served);
  if (served->opens().by == OpensSeen::By::kReports) {
    MutexLock lock(opens_mu_);
    opens_ = OpensSeen{OpensSeen::By::kRequests, "reports are being set up"};
  }
  session_->BeginBacking(*served);
  filesystem_->Begin(*served, session_->kernel_knows_epochs());
  session_->NamesChanged(/*were_fixed=*/false);
  session_->AnswerWaiting();
  state_.SetPassedThrough(false);  // the ledger has the epoch
  HaveOpensReported(*served);
  return absl::OkStatus();
}

absl::Status Mount::Serve(ReadyPipe& ready) {
  absl::Status indexed;
  std::jthread indexer = StartThread("sfs-index", [&](std::stop_token stop) {
    if (!session_->WaitForKernel()) return;
    session_->RaiseReadAhead();
    indexed = Index(stop);
    reported_ = true;
    if (stop.stop_requested()) {
      indexed = absl::OkStatus();  // unmounted before it was done
    } else if (!indexed.ok()) {
      indexed = WithNextOfErrno(indexed);
      ready.Fail(indexed.message());
      Log(LogLevel::kError, indexed.message());
      failed_ = true;
      session_->Stop();
    }
    ready.Succeed();
    if (!indexed.ok()) return;
    if (auto changed = engine_->FindChangedRights(stop)) {
      Warn(*std::move(changed));
    }
  });
  auto patience = TryStartThread(  // without it, waits for the catalogue
      "sfs-wait", [&](std::stop_token stop) {
        if (!session_->WaitForKernel()) return;
        const MountConfig& config = engine_->config();
        if (!WaitUnlessStopped(stop, config.wait) || reported_.exchange(true)) {
          return;
        }
        Log(LogLevel::kInfo,
            absl::StrCat("mounted ", config.source, " on ", config.mountpoint,
                         ": still scanning, so names keep their samples; "
                         "shufflectl status shows the progress"));
        ready.Succeed();
      });
  const absl::Status served = WithNextOfErrno(session_->Run());
  indexer.request_stop();
  patience.reset();  // joins
  indexer.join();
  if (!served.ok()) {
    ready.Fail(served.message());
    Log(LogLevel::kError, served.message());
  }
  if (kernel_.listener() != nullptr) kernel_.listener()->Stop();
  engine_->SaveFactors();
  if (served.ok() && indexed.ok()) state_.SetPassedThrough(false);
  // From here on a hanging source may block, until `end` ends the process.
  engine_->Stop();  // nobody is answered once the session is gone
  filesystem_->Stop();
  return served.ok() ? indexed : served;
}

absl::StatusOr<std::unique_ptr<Mount>> Prepare(const MountConfig& config) {
  ASSIGN_OR_RETURN(KernelSight kernel, KernelSight::Make(config));
  RETURN_IF_ERROR(
      ClearDeadMount(config.mountpoint, [&](const std::string& mount) {
        return DaemonIsDying(config.state, mount);
      }));
  absl::StatusOr<SourceDir> source = SourceDir::At(config.source);
  if (!source.ok()) {
    return WithNext(source.status(), "name the directory of the dataset");
  }
  RETURN_IF_ERROR(CheckMountpoint(config.mountpoint));
  ASSIGN_OR_RETURN(StateDir state, StateDir::Open(config.state));
  ControlMemory memory = ControlMemory::Open(state.control_memory(), config);
  return Mount::Make(std::move(kernel), std::move(memory), *std::move(source),
                     std::move(state));
}

int Complain(const absl::Status& status) {
  const std::string text = ShownLines(WithNextOfErrno(status).message());
  fprintf(stderr, "shufflefs: %s\n", text.c_str());
  return 1;
}

}  // namespace

int RunMount(const MountConfig& config, const RunOptions& options) {
  const bool stay = options.foreground || options.debug;
  InitLog(TerminalLog(config, options));
  // Fork before anything is made: the parent must own no part of the mount that
  // it could undo when it exits.
  ReadyPipe ready(DaemonLog(config));
  if (!stay) {
    absl::StatusOr<ReadyPipe::Side> side = ready.Fork();
    if (!side.ok()) return Complain(side.status());
    if (*side == ReadyPipe::Side::kParent) {
      // Its mount may be there already.
      return ready.AwaitChild(
          [&] { ClearDeadMount(config.mountpoint, nullptr).IgnoreError(); });
    }
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
    status = WithNextOfErrno(status);
    ready.Fail(status.message());
    return stay ? Complain(status) : 1;
  }
  absl::Status served;  // its message was reported already
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
