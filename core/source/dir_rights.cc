// SPDX-License-Identifier: Apache-2.0
#include "core/source/dir_rights.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

constexpr mode_t kNothing = S_IFDIR;
constexpr mode_t kSearch = 0111;
constexpr size_t kAtOnce = 1000;  // directories that one period is enough for

// Returns whether the source says that the directory is gone or closed to us.
// Other errors say nothing about its rights.
bool IsClosedBy(const absl::Status& error) {
  const int code = ErrnoOf(error).value_or(EIO);
  return code == ENOENT || code == ENOTDIR || code == ELOOP || code == EACCES ||
         code == EPERM;
}

// Opens a directory of the source's own mount, by a path that leads through no
// other. EXDEV if there is none, or if the kernel cannot tell.
absl::StatusOr<UniqueFd> OpenOnOwnMount(const SourceDir& source,
                                        const std::string& path) {
  open_how how = source.HowToRead();
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve |= RESOLVE_NO_XDEV;
  const char* const name = path.empty() ? "." : path.c_str();
  const int fd = static_cast<int>(
      syscall(SYS_openat2, source.fd(), name, &how, sizeof how));
  if (fd >= 0) return UniqueFd(fd);
  const bool is_unsure = errno == EAGAIN || errno == ENAMETOOLONG;
  return ErrnoStatus(is_unsure ? EXDEV : errno, path);
}

}  // namespace

DirRights::DirRights(const SourceDir& source, const Catalogue& catalogue,
                     const Options& options)
    : source_(source), catalogue_(catalogue), options_(options) {}

DirRights::~DirRights() {
  MutexLock lock(mu_);
  ends_ = true;
  for (auto& [number, lane] : lanes_) {
    if (lane->thread) lane->thread->request_stop();
    lane->wanted.SignalAll();
  }
}

uint32_t DirRights::LaneNumberOf(DirId dir) const {
  const absl::optional<EntryId> entry = catalogue_.entry_of(dir);
  return entry ? catalogue_.device(*entry) : kOwn;
}

DirRights::Lane& DirRights::LaneOf(uint32_t number) {
  std::unique_ptr<Lane>& lane = lanes_[number];
  if (lane == nullptr) lane = std::make_unique<Lane>();
  if (!lane->thread) {
    lane->thread = TryStartThread(
        "sfs-rights", [this, number, its = lane.get()](std::stop_token stop) {
          Watch(stop, number, *its);
        });
  }
  return *lane;
}

void DirRights::QueueIn(uint32_t number, DirId dir) {
  Lane& lane = LaneOf(number);
  lane.queue.push_back(dir);
  lane.wanted.SignalAll();
  KnownOf(dir).queued = &lane;
}

bool DirRights::Hangs(const Lane& lane) const {
  if (!lane.thread) return true;
  return lane.asking_since != Clock::time_point() &&
         Clock::now() - lane.asking_since > options_.patience;
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
  size_t awaited = 0;
  for (const DirId dir : dirs) {
    if (KnownOf(dir).asked >= since) continue;
    if (KnownOf(dir).queued == nullptr) QueueIn(LaneNumberOf(dir), dir);
    if (!Hangs(*KnownOf(dir).queued)) ++awaited;
  }
  return awaited;
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
    const Clock::time_point now = Clock::now();
    if (now >= until) break;
    asked_.WaitFor(
        mu_, std::chrono::duration_cast<Duration>(until - now) + Duration(1));
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

absl::optional<mode_t> DirRights::AskLane(uint32_t number,
                                          const Task& task) const {
  const std::string path = catalogue_.path(task.dir);
  if (number != kOwn || source_.lookup() != SourceDir::Lookup::kKernel) {
    return Granted(task.dir, task.last,
                   ReadRights(source_, path, /*reads_list=*/true));
  }
  const absl::StatusOr<UniqueFd> held = OpenOnOwnMount(source_, path);
  if (!held.ok()) {
    if (ErrnoOf(held.status()) == EXDEV) return absl::nullopt;
    return Granted(task.dir, task.last, held.status());
  }
  return Granted(task.dir, task.last,
                 ReadRights(source_, *held, /*reads_list=*/true));
}

mode_t DirRights::Granted(DirId dir, mode_t last,
                          const absl::StatusOr<RightsNow>& now) const {
  if (!now.ok()) return IsClosedBy(now.status()) ? kNothing : last;
  const FileAttributes known = catalogue_.dir_attributes(dir);
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
absl::optional<DirRights::Task> DirRights::NextTask(std::stop_token stop,
                                                    Lane& lane) {
  MutexLock lock(mu_);
  while (lane.queue.empty() && !stop.stop_requested()) lane.wanted.Wait(mu_);
  if (stop.stop_requested()) return absl::nullopt;
  const DirId dir = lane.queue.front();
  lane.queue.pop_front();
  lane.asking_since = Clock::now();
  return Task{dir, KnownOf(dir).mode, lane.asking_since};
}

void DirRights::Watch(std::stop_token stop, uint32_t number, Lane& lane) {
  while (const absl::optional<Task> task = NextTask(stop, lane)) {
    const absl::optional<mode_t> mode = AskLane(number, *task);
    MutexLock lock(mu_);
    lane.asking_since = Clock::time_point();
    if (!mode) {
      // A new lane would outlive the destructor's request to end.
      if (!ends_) QueueIn(kMountedOver, task->dir);
    } else {
      Known& known = KnownOf(task->dir);
      known.mode = *mode;
      known.asked = task->begun;
      known.queued = nullptr;
    }
    if (lane.queue.empty()) asked_.SignalAll();
  }
}

}  // namespace shufflefs
