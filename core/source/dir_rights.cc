// SPDX-License-Identifier: Apache-2.0
#include "core/source/dir_rights.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/container/flat_hash_set.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

constexpr mode_t kNothing = S_IFDIR;
constexpr mode_t kSearch = 0111;
constexpr size_t kAtOnce = 1000;  // directories that one period is enough for

// Returns whether the source says that the directory is gone or closed to us.
// Other errors say nothing about its rights.
bool IsClosedBy(const absl::Status& error) {
  const int code = ErrnoOf(error).value_or(EIO);
  return code == ENOENT || code == ENOTDIR || code == ELOOP ||
         code == EACCES || code == EPERM;
}

}  // namespace

DirRights::DirRights(const SourceDir& source, const Catalogue& catalogue,
                     const Options& options)
    : source_(source), catalogue_(catalogue), options_(options) {
  if (!are_watched()) return;
  thread_ = StartThread("sfs-rights",
                        [this](std::stop_token stop) { Watch(stop); });
}

DirRights::~DirRights() {
  MutexLock lock(mu_);
  thread_.request_stop();
  wanted_.SignalAll();
}

DirRights::Known& DirRights::KnownOf(DirId dir) {
  auto [at, fresh] = known_.try_emplace(dir);
  if (fresh) at->second.mode = catalogue_.dir_attributes(dir).mode;
  return at->second;
}

mode_t DirRights::ModeOf(DirId dir) {
  if (!are_watched()) return catalogue_.dir_attributes(dir).mode;
  return ModesOf({dir}).front();
}

size_t DirRights::Queue(const std::vector<DirId>& dirs,
                        Clock::time_point since) {
  size_t old = 0;
  for (const DirId dir : dirs) {
    Known& known = KnownOf(dir);
    if (known.asked >= since) continue;
    ++old;
    if (known.is_queued) continue;
    known.is_queued = true;
    queue_.push_back(dir);
  }
  return old;
}

std::vector<mode_t> DirRights::ModesOf(const std::vector<DirId>& dirs) {
  std::vector<mode_t> modes;
  if (!are_watched()) {
    for (const DirId dir : dirs) modes.push_back(ModeOf(dir));
    return modes;
  }
  // Computed once, so that anything asked since this call began is new enough.
  const Clock::time_point since =
      Clock::now() -
      options_.fresh * static_cast<int64_t>(1 + dirs.size() / kAtOnce);
  const Clock::time_point until = Clock::now() + options_.patience;
  MutexLock lock(mu_);
  while (Queue(dirs, since) > 0) {
    wanted_.SignalAll();
    const Clock::time_point now = Clock::now();
    const bool hangs = asking_since_ != Clock::time_point() &&
                       now - asking_since_ > options_.patience;
    if (hangs || now >= until) break;
    asked_.WaitFor(mu_, std::chrono::duration_cast<Duration>(until - now) +
                            Duration(1));
  }
  for (const DirId dir : dirs) modes.push_back(KnownOf(dir).mode);
  return modes;
}

bool DirRights::AreAsOpenAsKnown(const std::vector<DirId>& dirs) {
  if (!are_watched()) return true;
  absl::flat_hash_set<DirId> seen;
  std::vector<DirId> all;
  for (const DirId dir : dirs) {
    for (DirId d = dir; seen.insert(d).second; d = catalogue_.parent(d)) {
      all.push_back(d);
    }
  }
  const std::vector<mode_t> modes = ModesOf(all);
  for (size_t i = 0; i < all.size(); ++i) {
    const mode_t known = catalogue_.dir_attributes(all[i]).mode;
    if ((known & ~modes[i] & kSearch) != 0) return false;
  }
  return true;
}

mode_t DirRights::AskSource(DirId dir, mode_t last) const {
  const FileAttributes known = catalogue_.dir_attributes(dir);
  const absl::StatusOr<RightsNow> now =
      ReadRights(source_, catalogue_.path(dir), /*reads_list=*/true);
  if (!now.ok()) return IsClosedBy(now.status()) ? kNothing : last;
  const CatalogueTables& t = catalogue_.tables();
  const absl::optional<EntryId> entry = catalogue_.entry_of(dir);
  const uint64_t ino = entry ? t.ino[entry->value()] : t.root.ino;
  const struct stat& st = now->source;
  if (st.st_ino != ino || st.st_uid != known.uid || st.st_gid != known.gid) {
    return kNothing;
  }
  return known.mode & now->mode;
}

// Empty when the thread must end.
absl::optional<DirRights::Task> DirRights::NextTask(std::stop_token stop) {
  MutexLock lock(mu_);
  while (queue_.empty() && !stop.stop_requested()) wanted_.Wait(mu_);
  if (stop.stop_requested()) return absl::nullopt;
  const DirId dir = queue_.front();
  queue_.pop_front();
  asking_since_ = Clock::now();
  return Task{dir, KnownOf(dir).mode, asking_since_};
}

void DirRights::Watch(std::stop_token stop) {
  while (const absl::optional<Task> task = NextTask(stop)) {
    const mode_t mode = AskSource(task->dir, task->last);
    MutexLock lock(mu_);
    asking_since_ = Clock::time_point();
    Known& known = KnownOf(task->dir);
    known.mode = mode;
    known.asked = task->begun;
    known.is_queued = false;
    if (queue_.empty()) asked_.SignalAll();
  }
}

}  // namespace shufflefs
