// SPDX-License-Identifier: Apache-2.0
#include "core/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/exhaustion.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/catalogue/file_identity.h"
#include "core/scan/scan_reader.h"
#include "core/scan/scan_tree.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMaxEntries = 0xFFFFFFFE;
constexpr std::chrono::milliseconds kProgressPeriod(100);

// The next work of a thread: list a directory, or stat a batch of an open one.
struct Task {
  ScannedDir* list = nullptr;
  std::shared_ptr<OpenDir> open;
  ScannedBatch* batch = nullptr;
};

// Returns whether `fd` is the directory whose rights were asked for by its name
// in the directory above it. Somebody may have put another one in its place
// since. Where inode numbers do not last, one with the same rights will do.
bool IsTheOneThatWasFound(const ScannedDir& dir, int fd) {
  struct stat st;
  if (dir.parent == nullptr) return true;
  if (fstat(fd, &st) != 0 || st.st_dev != dir.device) return false;
  if (st.st_ino == dir.ino) return true;
  return !InodesLast(fd, "") && st.st_mode == dir.mode &&
         st.st_uid == dir.uid && st.st_gid == dir.gid;
}

class Scanner {
 public:
  Scanner(const SourceDir& source, const ScanOptions& options);
  absl::StatusOr<ScannedTree> Run() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<ScannedTree> MakeRoot();
  void RunThreads() ABSL_LOCKS_EXCLUDED(mu_);
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  bool Next(Task* task) ABSL_LOCKS_EXCLUDED(mu_);
  bool Stopping() const;

  void List(ScannedDir* dir);
  void Stat(OpenDir& open, ScannedBatch& batch);
  void Release(OpenDir& open);
  std::string SkippedNameIn(const ScannedDir& dir) const;

  void PushDirs(const std::vector<ScannedDir*>& dirs) ABSL_LOCKS_EXCLUDED(mu_);
  void PushBatch(std::shared_ptr<OpenDir> open, ScannedBatch* batch)
      ABSL_LOCKS_EXCLUDED(mu_);
  void AddUnreadable(std::string path) ABSL_LOCKS_EXCLUDED(mu_);
  void AddUnreadable(const ScannedDir& dir,
                     const std::vector<std::string>& names)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant.
  const SourceDir& source_;
  const ScanOptions& options_;
  const std::function<bool(const struct stat&)> is_skipped_;

  // Self-synchronised.
  ClassTable classes_;
  std::atomic<uint64_t> entries_{0};
  std::atomic<bool> failed_{false};

  Mutex mu_;
  CondVar changed_;
  // Batches go before directories, and the newest directory first, so that few
  // directories are open at a time.
  std::deque<Task> batches_ ABSL_GUARDED_BY(mu_);
  std::vector<ScannedDir*> dirs_ ABSL_GUARDED_BY(mu_);
  uint64_t outstanding_ ABSL_GUARDED_BY(mu_) = 0;  // queued or in progress
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> unreadable_ ABSL_GUARDED_BY(mu_);
};

Scanner::Scanner(const SourceDir& source, const ScanOptions& options)
    : source_(source),
      options_(options),
      is_skipped_([skip = options.skip_inode](const struct stat& st) {
        return skip && st.st_ino == skip->ino && st.st_dev == skip->device;
      }),
      classes_(options.reader) {}

bool Scanner::Stopping() const {
  return failed_.load(std::memory_order_relaxed) ||
         options_.stop.stop_requested();
}

void Scanner::PushDirs(const std::vector<ScannedDir*>& dirs) {
  if (dirs.empty()) return;
  MutexLock lock(mu_);
  dirs_.insert(dirs_.end(), dirs.begin(), dirs.end());
  outstanding_ += dirs.size();
  changed_.SignalAll();
}

void Scanner::PushBatch(std::shared_ptr<OpenDir> open, ScannedBatch* batch) {
  open->holders.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(mu_);
  batches_.push_back({nullptr, std::move(open), batch});
  ++outstanding_;
  changed_.SignalOne();
}

void Scanner::AddUnreadable(std::string path) {
  MutexLock lock(mu_);
  unreadable_.push_back(std::move(path));
}

void Scanner::AddUnreadable(const ScannedDir& dir,
                            const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::string path = dir.path();
  for (const std::string& name : names) {
    AddUnreadable(absl::StrCat(path, path.empty() ? "" : "/", name));
  }
}

void Scanner::Fail(absl::Status status) {
  MutexLock lock(mu_);
  failure_.Update(status);
  failed_.store(true, std::memory_order_relaxed);
  changed_.SignalAll();
}

std::string Scanner::SkippedNameIn(const ScannedDir& dir) const {
  const std::string& skip = options_.skip_path;
  size_t slash = skip.rfind('/');
  bool top = slash == std::string::npos;
  if (skip.empty() || dir.path() != (top ? "" : skip.substr(0, slash))) {
    return "";
  }
  return top ? skip : skip.substr(slash + 1);
}

void Scanner::List(ScannedDir* dir) {
  auto open = std::make_shared<OpenDir>();
  open->dir = dir;
  absl::StatusOr<UniqueFd> fd = source_.Open(dir->path(), O_DIRECTORY);
  // In a mount of one user rights do not matter, and a file system that is
  // mounted by being opened is shown.
  if (fd.ok() && options_.serves_others &&
      !IsTheOneThatWasFound(*dir, fd->get())) {
    AddUnreadable(dir->path());
  } else if (fd.ok()) {
    open->fd = *std::move(fd);
    bool complete = ListNames(
        *open, SkippedNameIn(*dir),
        [&](ScannedBatch* batch) { PushBatch(open, batch); },
        [this] { return Stopping(); });
    if (!complete) AddUnreadable(dir->path());
    AddUnreadable(*dir, open->too_long);
    if (!dir->batches.empty()) Stat(*open, *dir->batches.back());
  } else if (dir->parent == nullptr) {
    Fail(Annotate(fd.status(), source_.path()));
  } else {
    AddUnreadable(dir->path());
  }
  Release(*open);
}

void Scanner::Stat(OpenDir& open, ScannedBatch& batch) {
  const OverflowIds* const shown_to_others =
      options_.serves_others ? &source_.overflow_ids() : nullptr;
  const bool estimates =
      options_.exact_entries != 0 && entries_.load() >= options_.exact_entries;
  BatchStat::Findings findings =
      BatchStat(open, batch,
                BatchRules{classes_, is_skipped_, shown_to_others, estimates})
          .Run();
  // Before another thread lists a directory of the batch, and asks how many
  // entries there are.
  uint64_t added = batch.entries.size();
  if (entries_.fetch_add(added) + added > kMaxEntries) {
    Fail(absl::ResourceExhaustedError(absl::StrCat(
        source_.path(), ": more than 2^32 - 2 entries; mount a part of it")));
  }
  PushDirs(findings.dirs);
  for (ScannedDir* loop : findings.loops) AddUnreadable(loop->path());
  AddUnreadable(*open.dir, findings.failed);
}

// The last thread to release a directory sorts it.
void Scanner::Release(OpenDir& open) {
  if (open.holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (open.refused.load(std::memory_order_relaxed)) {
    AddUnreadable(open.dir->path());
  }
  uint64_t name_bytes = 0;
  for (const auto& batch : open.dir->batches) {
    name_bytes += batch->names.size();
  }
  if (name_bytes > 0xFFFFFFFF) {
    Fail(absl::ResourceExhaustedError(
        absl::StrCat(open.dir->path(),
                     ": more than 4 GiB of names in one directory; mount a "
                     "directory below it")));
  } else if (!Stopping()) {
    SortByName(*open.dir);
  }
}

// Waits for a task. Returns false if there will be none.
bool Scanner::Next(Task* task) {
  MutexLock lock(mu_);
  while (batches_.empty() && dirs_.empty() && outstanding_ > 0 && !Stopping()) {
    changed_.Wait(mu_);
  }
  if (outstanding_ == 0 || Stopping()) return false;
  if (!batches_.empty()) {
    *task = std::move(batches_.front());
    batches_.pop_front();
  } else {
    *task = {dirs_.back(), nullptr, nullptr};
    dirs_.pop_back();
  }
  return true;
}

void Scanner::Work() {
  for (Task task; Next(&task);) {
    const absl::Status done = OrExhausted(source_.path(), [&] {
      if (task.list != nullptr) {
        List(task.list);
      } else {
        Stat(*task.open, *task.batch);
        Release(*task.open);
      }
      return absl::OkStatus();
    });
    if (!done.ok()) Fail(done);
    task = Task();
    MutexLock lock(mu_);
    if (--outstanding_ == 0) changed_.SignalAll();
  }
}

void Scanner::RunThreads() {
  int threads = ThreadsForSource(options_.threads);
  std::vector<std::jthread> workers;
  const auto work = [this](std::stop_token) { Work(); };
  workers.push_back(StartThread("scan-0", work));
  for (int i = 1; i < threads; ++i) {
    auto more = TryStartThread(absl::StrCat("scan-", i), work);
    if (!more) break;
    workers.push_back(*std::move(more));
  }
  auto next = std::chrono::steady_clock::now() + kProgressPeriod;
  for (;;) {
    {
      MutexLock lock(mu_);
      if (outstanding_ == 0 || Stopping()) break;
      changed_.WaitFor(mu_, kProgressPeriod);
    }
    if (options_.progress && std::chrono::steady_clock::now() >= next) {
      options_.progress(entries_.load());
      next = std::chrono::steady_clock::now() + kProgressPeriod;
    }
  }
  MutexLock lock(mu_);
  changed_.SignalAll();  // wakes threads that slept during a stop request
}

absl::StatusOr<ScannedTree> Scanner::MakeRoot() {
  ScannedTree tree;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tree.scanned_ns = Nanoseconds(now);
  struct stat st;
  if (fstat(source_.fd(), &st) != 0) return ErrnoStatus(errno, source_.path());
  tree.root = std::make_unique<ScannedDir>();
  tree.root->size = static_cast<uint64_t>(st.st_size);
  tree.root->ino = st.st_ino;
  tree.root->device = st.st_dev;
  const mode_t mode =
      options_.serves_others
          ? ShownModeOf(source_.fd(), st, source_.overflow_ids())
          : st.st_mode;
  tree.root_attributes = {st.st_ino, static_cast<uint64_t>(st.st_blocks),
                          Nanoseconds(st.st_mtim), Nanoseconds(st.st_ctim),
                          classes_.Intern(st, mode, source_.fd(), "")};
  tree.serves_others = options_.serves_others;
  return tree;
}

absl::StatusOr<ScannedTree> Scanner::Run() {
  ASSIGN_OR_RETURN(ScannedTree tree, MakeRoot());
  PushDirs({tree.root.get()});
  RunThreads();
  if (options_.stop.stop_requested()) {
    return absl::CancelledError("the scan was stopped");
  }
  if (options_.progress) options_.progress(entries_.load());
  tree.classes = classes_.Take();
  tree.devices = classes_.TakeDevices();
  MutexLock lock(mu_);
  if (!failure_.ok()) return failure_;
  tree.unreadable = std::move(unreadable_);
  return tree;
}

}  // namespace

absl::StatusOr<Catalogue> Scan(const SourceDir& source,
                               const ScanOptions& options) {
  ASSIGN_OR_RETURN(ScannedTree tree, Scanner(source, options).Run());
  return Catalogue::FromTables(PackScannedTree(std::move(tree)));
}

}  // namespace shufflefs
