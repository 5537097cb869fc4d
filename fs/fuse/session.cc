// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "fs/backing/own_mount.h"
#include "fs/fuse/fuse_ops.h"
#include "fs/fuse/kernel_backing.h"
#include "fs/fuse/mount_point.h"
#include "fs/fuse/request_loop.h"
#include "fs/model/node_id.h"

namespace shufflefs {
namespace {

// FUSE_NOTIFY_INC_EPOCH is a bare header. libfuse 3.18 has a call for it; older
// ones let us write it.
constexpr int32_t kNotifyIncEpoch = 8;
constexpr uint32_t kProtocolWithEpochs = 44;
constexpr int kReadAheadKb = 1024;

struct NotifyHeader {
  uint32_t length = sizeof(NotifyHeader);
  int32_t code = kNotifyIncEpoch;
  uint64_t unique = 0;
};

// Some messages of libfuse 3.17 do not end their line, so the next message,
// which says what to do, would be a part of it.
void PrintLine(fuse_log_level, const char* format, va_list arguments) {
  vfprintf(stderr, format, arguments);
  if (!absl::EndsWith(format, "\n")) fputc('\n', stderr);
}

// A comma in a name would end the mount option.
std::string OptionText(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

ssize_t ReadMessage(int device, void* buffer, size_t size, void* context) {
  return static_cast<FuseContext*>(context)->init.Read(device, buffer, size);
}

ssize_t WriteMessage(int device, iovec* pieces, int count, void* context) {
  return static_cast<FuseContext*>(context)->init.Write(device, pieces, count);
}

class FuseSession : public Session {
 public:
  explicit FuseSession(const Options& options) : options_(options) {
    context_.filesystem = options.filesystem;
    context_.metrics = options.metrics;
    context_.write_refused = [this](uint64_t nodeid) {
      Later([this, nodeid] {
        fuse_lowlevel_notify_inval_inode(session_, nodeid, 0, 0);
      });
    };
    context_.let_others_serve = [this] { loop_->LetOthersServe(); };
    context_.filesystem->SetWaits(context_.let_others_serve);
    context_.filesystem->pinner().SetDue([this] { KeepPagesSoon(); });
    context_.filesystem->epoch_slots().SetCrowded(
        [this] { Later([this] { TakeEpochsBack(); }); });
    context_.init.Begin(options.backed != nullptr, [this] { Initialised(); });
  }
  ~FuseSession() override {
    if (session_ == nullptr) return;
    fuse_session_unmount(session_);  // if Run did not do it
    fuse_session_destroy(session_);
  }

  absl::Status Start();
  absl::Status Run() override;
  bool WaitForKernel() override;
  bool kernel_knows_epochs() const override { return knows_epochs_; }
  std::string PrepareBacking() override;
  void BeginBacking(const ServedDataset& served) override;
  void LetOthersServe() override { loop_->LetOthersServe(); }
  void NamesChanged(bool were_fixed) override;
  void NamesDoubted() override;
  void NamesCommitted() override;
  void RaiseReadAhead() override;
  void AnswerWaiting() override { context_.gate.Open(); }
  void Stop() override { loop_->Stop(); }
  void Detach() override;

 private:
  // From now on no backing files are made. May wait for the source.
  void EndBacking() ABSL_LOCKS_EXCLUDED(backing_mu_);
  void Initialised();
  // One pass of pins. Returns false if nothing was left to pin.
  bool KeepPages() ABSL_LOCKS_EXCLUDED(pin_mu_);
  void KeepPagesSoon();
  void TakeNamesBack();
  // Makes the kernel forget unused epochs by path.
  void TakeEpochsBack();
  void Later(std::function<void()> notify);
  void Notify(std::stop_token stop);

  // Constant after Start.
  const Options options_;
  FuseContext context_;
  fuse_session* session_ = nullptr;
  absl::optional<OwnMount> mount_;
  std::unique_ptr<RequestLoop> loop_;

  // Self-synchronised.
  std::atomic<bool> knows_epochs_{false};
  std::atomic<bool> unmounts_{false};

  // Backing files are made by the thread that makes the views, while the
  // session may end already.
  Mutex backing_mu_;
  bool backing_ended_ ABSL_GUARDED_BY(backing_mu_) = false;
  std::unique_ptr<KernelBacking> backing_ ABSL_GUARDED_BY(backing_mu_);

  // Held over a pass of pins, which other requests must answer.
  Mutex pin_mu_;

  Mutex mu_;
  CondVar changed_;
  bool initialised_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> notices_ ABSL_GUARDED_BY(mu_);
};

absl::Status FuseSession::Start() {
  std::string fuse_options = absl::StrCat(
      "fsname=", OptionText(options_.source),
      ",subtype=shufflefs,default_permissions",
      options_.allow_other ? ",allow_other" : "",
      options_.read_only ? ",ro" : "", options_.no_exec ? ",noexec" : "");
  std::vector<std::string> words = {"shufflefs", "-o", fuse_options};
  if (options_.debug) words.push_back("-d");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  fuse_set_log_func(PrintLine);
  session_ =
      fuse_session_new(&args, &FuseOps(), sizeof(fuse_lowlevel_ops), &context_);
  fuse_opt_free_args(&args);
  if (session_ == nullptr) {
    return absl::InternalError("libfuse refused the mount options");
  }
  if (fuse_session_mount(session_, options_.mountpoint.c_str()) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot mount at ", options_.mountpoint,
                     "; shufflectl doctor says what is missing"));
  }
  mount_.emplace(options_.mountpoint);
  LeaseBell::BlockSignal();
  fuse_custom_io io = {};
  io.read = ReadMessage;
  io.writev = WriteMessage;
  fuse_session_custom_io(session_, &io, fuse_session_fd(session_));
  RequestLoop::Options loop;
  loop.session = session_;
  // Until there is a catalogue, names are looked up in the source.
  loop.answers_quickly = [this] {
    return context_.filesystem->served() != nullptr;
  };
  loop.reads_quickly = [this](uint64_t nodeid) {
    return context_.filesystem->AnswersFromMemory(nodeid);
  };
  loop.ended = options_.ended;
  loop_ = std::make_unique<RequestLoop>(std::move(loop));
  return absl::OkStatus();
}

absl::Status FuseSession::Run() {
  if (fuse_set_signal_handlers(session_) != 0) {
    return absl::InternalError("cannot install signal handlers");
  }
  auto notices = TryStartThread("sfs-notify",
                                [this](std::stop_token stop) { Notify(stop); });
  const absl::Status result =
      notices ? loop_->Run() : ErrnoStatus(EAGAIN, "starting a thread");
  context_.gate.End();
  {
    MutexLock lock(mu_);
    ended_ = true;
    if (notices) notices->request_stop();
    changed_.SignalAll();
  }
  EndBacking();
  context_.init.End();
  if (!unmounts_.exchange(true)) fuse_session_unmount(session_);
  // One more would cut short what is saved at the end. libfuse leaves what is
  // not its own handler.
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) signal(number, SIG_IGN);
  fuse_remove_signal_handlers(session_);
  return result;
}

void FuseSession::Detach() {
  if (unmounts_.exchange(true)) return;
  // A mount that is there afterwards belongs to somebody else.
  pollfd device{fuse_session_fd(session_), POLLIN, 0};
  if (poll(&device, 1, 0) > 0 && (device.revents & POLLERR) != 0) return;
  // A thread that the kernel cannot end yet would keep the device open, and
  // readers would wait for ever for an answer.
  absl::Status gone = AbortMount(options_.mountpoint);
  if (absl::IsNotFound(gone)) return;
  gone = DetachMount(options_.mountpoint);
  if (!gone.ok()) Log(LogLevel::kWarning, gone.message());
}

std::string FuseSession::PrepareBacking() {
  if (options_.backed == nullptr) return "it is switched off";
  if (!context_.init.offered()) return "it needs Linux 6.9";
  if (!context_.init.accepted()) return "the kernel took the offer back";
  KernelBacking::Parts parts;
  parts.device = fuse_session_fd(session_);
  parts.source = options_.backed;
  parts.mount = &*mount_;
  parts.lister = options_.lister;
  // Without the lock: it may wait for the source, and the end must not.
  absl::StatusOr<std::unique_ptr<KernelBacking>> made =
      KernelBacking::Make(parts);
  if (!made.ok()) return std::string(made.status().message());
  MutexLock lock(backing_mu_);
  if (backing_ended_) return "the mount ends";
  backing_ = *std::move(made);
  return "";
}

void FuseSession::BeginBacking(const ServedDataset& served) {
  MutexLock lock(backing_mu_);
  if (backing_ == nullptr || backing_ended_ || !served.backing().on) return;
  BackingFiles* const files = backing_->Begin(served.shared_catalogue());
  context_.filesystem->SetBacking(files);
  context_.backing = files;
}

void FuseSession::EndBacking() {
  MutexLock lock(backing_mu_);
  backing_ended_ = true;
  if (backing_ != nullptr) backing_->Stop();
}

void FuseSession::Initialised() {
  knows_epochs_ =
      options_.use_epochs && context_.proto_minor >= kProtocolWithEpochs;
  MutexLock lock(mu_);
  initialised_ = true;
  changed_.SignalAll();
}

bool FuseSession::WaitForKernel() {
  MutexLock lock(mu_);
  while (!initialised_ && !ended_) changed_.Wait(mu_);
  return initialised_;
}

void FuseSession::NamesChanged(bool were_fixed) {
  context_.metrics->Add(Counter::kEpochSwitches);
  if (knows_epochs_) return NamesDoubted();
  loop_->LetOthersServe();  // the kernel will ask us back
  if (were_fixed) TakeNamesBack();
}

void FuseSession::NamesDoubted() {
  if (!knows_epochs_) return;  // no name that may rebind is cached
  loop_->LetOthersServe();     // the kernel will ask us back
  // The rest follows after the switch, because an inode is dropped only when
  // its old name is looked up again.
  KeepPages();
  KeepPagesSoon();
  DentryWarmer& warmer = context_.filesystem->warmer();
  warmer.Switch([this] {
    NotifyHeader header;
    const iovec piece{&header, sizeof(header)};
    const ssize_t written =
        context_.init.Write(fuse_session_fd(session_), &piece, 1);
    if (written < 0 && errno != ENODEV) {  // the mount has ended
      Log(LogLevel::kError, absl::StrCat("epoch switch: the kernel refused: ",
                                         ErrnoStatus(errno, "").message()));
    }
  });
}

void FuseSession::NamesCommitted() {
  if (!knows_epochs_) return;
  Later([this] {
    context_.metrics->Add(Counter::kPrimedNames,
                          context_.filesystem->warmer().Prime(
                              *options_.lister, options_.mountpoint));
  });
}

// Invalidating a directory's name quickly removes all names below it that are
// not in use. Those of open files stay, and would be found again with the
// directory. So each file's name is invalidated separately, too.
void FuseSession::TakeNamesBack() {
  const ServedDataset* served = context_.filesystem->served();
  if (served == nullptr) return;
  const Catalogue& catalogue = served->catalogue();
  for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
    const DirId dir(d);
    const uint64_t parent = PackNode(Node{NodeKind::kLiveDir, 0, 0, d});
    for (uint32_t k = 0; k < catalogue.dir_size(dir); ++k) {
      const EntryId entry = catalogue.in_source_order(dir, k);
      if (d != 0 && catalogue.kind(entry) == EntryKind::kDirectory) continue;
      const absl::string_view name = catalogue.name(entry);
      const std::string text(name.data(), name.size());
      fuse_lowlevel_notify_inval_entry(session_, parent, text.c_str(),
                                       text.size());
    }
  }
}

void FuseSession::TakeEpochsBack() {
  for (const Epoch epoch : context_.filesystem->epoch_slots().TakeOldest()) {
    const std::string name = absl::StrCat(epoch.value());
    for (const auto& view : context_.filesystem->served()->views()) {
      fuse_lowlevel_notify_inval_entry(session_, ControlDir::EpochsOf(*view),
                                       name.c_str(), name.size());
    }
  }
}

bool FuseSession::KeepPages() {
  MutexLock one_at_a_time(pin_mu_);
  DentryPinner& pinner = context_.filesystem->pinner();
  const std::string name = pinner.BeginPass();
  if (name.empty()) return false;
  context_.metrics->Add(
      Counter::kPinnedFiles,
      WalkPins(*options_.lister, absl::StrCat(options_.mountpoint, "/", name)));
  return true;
}

void FuseSession::KeepPagesSoon() {
  if (!knows_epochs_) return;
  Later([this] {
    while (KeepPages()) {
    }
  });
}

// Invalidations take locks that a reader may hold while it waits for a reply.
// So a thread that serves requests never sends them.
void FuseSession::Later(std::function<void()> notify) {
  MutexLock lock(mu_);
  notices_.push_back(std::move(notify));
  changed_.SignalAll();
}

void FuseSession::Notify(std::stop_token stop) {
  for (;;) {
    std::function<void()> notify;
    {
      MutexLock lock(mu_);
      while (notices_.empty() && !stop.stop_requested()) changed_.Wait(mu_);
      if (stop.stop_requested()) return;
      notify = std::move(notices_.front());
      notices_.pop_front();
    }
    notify();
  }
}

void FuseSession::RaiseReadAhead() {
  // Uses only what the kernel knows, because a thread that waits for its own
  // mount cannot die.
  struct statx st;
  if (statx(AT_FDCWD, options_.mountpoint.c_str(), AT_STATX_DONT_SYNC,
            STATX_TYPE, &st) != 0) {
    return;
  }
  std::ofstream file(absl::StrCat("/sys/class/bdi/", st.stx_dev_major, ":",
                                  st.stx_dev_minor, "/read_ahead_kb"));
  file << kReadAheadKb;  // refused without root: then reads are just smaller
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Mount(
    const Options& options) {
  auto session = std::make_unique<FuseSession>(options);
  RETURN_IF_ERROR(session->Start());
  return session;
}

}  // namespace shufflefs
