// SPDX-License-Identifier: Apache-2.0
#include "core/source/dir_rights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

constexpr mode_t kNothing = S_IFDIR;
constexpr mode_t kSearch = 0111;
constexpr size_t kAtOnce = 1000;    // directories that one period is enough for
constexpr size_t kFewDirs = 100;    // directories that come before many others
constexpr uint32_t kManyShare = 4;  // of this many questions, one is about many
constexpr size_t kThreadsEach = 8;  // of one file system
// A file system that takes longer gains from several threads. Those that answer
// from memory take some 10 us.
constexpr std::chrono::microseconds kSlowAnswer{200};
constexpr std::chrono::milliseconds kShortWait{1};

// Returns whether the source says that the directory is gone or closed to us.
// Other errors say nothing about its rights.
bool IsClosedBy(const absl::Status& error) {
  const int code = ErrnoOf(error).value_or(EIO);
  return code == ENOENT || code == ENOTDIR || code == ELOOP || code == EACCES ||
         code == EPERM;
}

// Inode numbers that do not last are 0 in the catalogue.
bool IsStill(const FileAttributes& known, const struct stat& now) {
  return now.st_dev == known.device &&
         (known.inode == 0 || now.st_ino == known.inode) &&
         now.st_uid == known.uid && now.st_gid == known.gid;
}

constexpr RightsQuestion kRightsAsked{.list = true, .server = true};

}  // namespace

DirRights::DirRights(const SourceDir& source, const Catalogue& catalogue,
                     const Options& options)
    : source_(source), catalogue_(catalogue), options_(options) {}

DirRights::~DirRights() {
  MutexLock lock(mu_);
  ends_ = true;
  for (auto& [number, lane] : lanes_) {
    for (std::jthread& thread : lane->threads) thread.request_stop();
    lane->wanted.SignalAll();
  }
}

uint32_t DirRights::LaneNumberOf(DirId dir) const {
  const absl::optional<EntryId> entry = catalogue_.entry_of(dir);
  return entry ? catalogue_.device(*entry) : kOwn;
}

DirRights::Lane& DirRights::LaneOf(uint32_t number) {
  std::unique_ptr<Lane>& lane = lanes_[number];
  if (lane == nullptr) lane = std::make_unique<Lane>(number);
  return *lane;
}

void DirRights::Reinforce(Lane& lane) {
  if (ends_ || lane.idle > 0 || lane.threads.size() >= kThreadsEach) return;
  const bool is_slow = lane.pace > kSlowAnswer ||
                       (!lane.running.empty() &&
                        Clock::now() - *lane.running.begin() > kSlowAnswer);
  if (!lane.threads.empty() && !is_slow) return;
  absl::optional<std::jthread> thread = TryStartThread(
      "sfs-rights",
      [this, its = &lane](std::stop_token stop) { Watch(stop, *its); });
  if (thread) lane.threads.push_back(*std::move(thread));
}

void DirRights::Want(DirId dir, Known& known, bool is_few) {
  if (known.lane == nullptr) known.lane = &LaneOf(LaneNumberOf(dir));
  Lane& lane = *known.lane;
  if (known.asking != Time()) return;
  if (!known.in_few && (is_few || !known.in_many)) {
    (is_few ? lane.few : lane.many).push_back(dir);
    (is_few ? known.in_few : known.in_many) = true;
    lane.wanted.SignalOne();
  }
  // Also while it waits: what is asked for before it may hang.
  Reinforce(lane);
}

DirRights::Time DirRights::HangsFrom(const Known& known) const {
  const Lane& lane = *known.lane;
  if (lane.threads.empty()) return Time::min();
  Time silent = Time::max();
  if (known.asking != Time()) silent = known.asking;
  const auto unanswered = lane.running.upper_bound(lane.answered);
  if (unanswered != lane.running.end()) silent = std::min(silent, *unanswered);
  return silent == Time::max() ? silent : silent + options_.patience;
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

bool DirRights::IsNew(const Known& known, const Question& question) const {
  return known.asked >= question.since;
}

bool DirRights::IsNewEnough(const Known& known,
                            const Question& question) const {
  Time oldest = question.begun - options_.limit;
  if (!question.is_few) {
    const Clock::duration pace =
        known.lane == nullptr ? Clock::duration(0) : known.lane->pace;
    const auto count = static_cast<int64_t>(question.dirs.size());
    oldest = std::min(oldest, question.since - pace * count);
  }
  return std::max(known.asked, made_) >= oldest;
}

bool DirRights::Await(const Question& question, bool all_new, Time until) {
  Asker asker;
  const Time now = Clock::now();
  for (const DirId dir : question.dirs) {
    Known& known = KnownOf(dir);
    if (IsNew(known, question)) continue;
    Want(dir, known, question.is_few);
    if (!all_new && IsNewEnough(known, question)) continue;
    const Time hangs = HangsFrom(known);
    if (hangs <= now) continue;
    until = std::min(until, hangs);
    known.askers.push_back(&asker);
    ++asker.left;
  }
  if (asker.left == 0) return false;
  for (Time at = now; asker.left > 0 && at < until; at = Clock::now()) {
    asker.answered.WaitFor(mu_, std::chrono::ceil<Duration>(until - at));
  }
  if (asker.left == 0) return true;
  for (const DirId dir : question.dirs) {
    std::erase(KnownOf(dir).askers, &asker);
  }
  return true;
}

absl::optional<std::vector<mode_t>> DirRights::ModesBy(const Question& question,
                                                       bool all_new,
                                                       Time until) {
  // Looks again before a file system would count as hanging. If just one
  // directory hangs, another thread then asks for the others.
  const Duration longest =
      std::max(options_.patience / (question.is_few ? 4 : 2), kShortWait);
  Duration step = kShortWait;
  MutexLock lock(mu_);
  for (Time now = Clock::now();;) {
    if (!Await(question, all_new, std::min(until, now + step))) {
      return ModesNow(question);
    }
    now = Clock::now();
    if (now >= until) return absl::nullopt;
    step = std::min(step * 4, longest);
  }
}

std::vector<mode_t> DirRights::ModesNow(const Question& question) {
  std::vector<mode_t> modes;
  modes.reserve(question.dirs.size());
  const Time now = Clock::now();
  for (const DirId dir : question.dirs) {
    const Known& known = KnownOf(dir);
    const bool counts = IsNew(known, question) ||
                        IsNewEnough(known, question) ||
                        (known.lane != nullptr && HangsFrom(known) <= now);
    modes.push_back(counts ? known.mode : kNothing);
  }
  return modes;
}

std::vector<mode_t> DirRights::ModesOf(const std::vector<DirId>& dirs) {
  if (!are_watched()) {
    std::vector<mode_t> modes;
    for (const DirId dir : dirs) modes.push_back(ModeOf(dir));
    return modes;
  }
  const Time begun = Clock::now();
  const auto periods = static_cast<int64_t>(1 + dirs.size() / kAtOnce);
  const Question question{dirs, begun, begun - options_.fresh * periods,
                          dirs.size() <= kFewDirs};
  auto modes = ModesBy(question, /*all_new=*/true,
                       begun + std::min(kShortWait, options_.patience));
  if (modes) return *std::move(modes);
  if (options_.waits) options_.waits();
  modes = ModesBy(question, /*all_new=*/true, begun + options_.patience);
  if (!modes) {
    modes = ModesBy(question, /*all_new=*/false, begun + options_.limit);
  }
  if (modes) return *std::move(modes);
  MutexLock lock(mu_);
  return ModesNow(question);
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
    return Granted(task, ReadRights(source_, path, kRightsAsked));
  }
  const absl::StatusOr<UniqueFd> held = source_.HoldOnOwnMount(path);
  if (!held.ok()) {
    if (ErrnoOf(held.status()) == EXDEV) return absl::nullopt;
    return Granted(task, held.status());
  }
  return Granted(task, ReadRights(source_, *held, kRightsAsked));
}

mode_t DirRights::Granted(const Task& task,
                          absl::StatusOr<RightsNow> now) const {
  if (options_.tap) now = options_.tap(task.dir, std::move(now));
  if (!now.ok()) return IsClosedBy(now.status()) ? kNothing : task.last;
  const FileAttributes known = catalogue_.dir_attributes(task.dir);
  const struct stat& st = now->source;
  if (!IsStill(known, st)) return kNothing;
  // The list of rights may be unknown for a moment. The mode of a file with a
  // list never gives less than the list does.
  if (!now->list.ok() && !IsClosedBy(now->list)) return task.last & st.st_mode;
  return known.mode & now->mode;
}

absl::optional<DirId> DirRights::TakeNext(Lane& lane) {
  // Some of many come between the few. Otherwise readers could keep a listing
  // waiting for ever.
  while (!lane.many.empty() &&
         (lane.few.empty() || ++lane.turn % kManyShare == 0)) {
    const DirId dir = lane.many.front();
    lane.many.pop_front();
    Known& known = KnownOf(dir);
    known.in_many = false;
    const bool waits = known.lane == &lane && known.asking == Time();
    if (waits && !known.in_few) return dir;
  }
  if (lane.few.empty()) return absl::nullopt;
  const DirId dir = lane.few.front();
  lane.few.pop_front();
  KnownOf(dir).in_few = false;
  return dir;
}

// Empty when the thread must end.
absl::optional<DirRights::Task> DirRights::NextTask(std::stop_token stop,
                                                    Lane& lane) {
  MutexLock lock(mu_);
  while (!stop.stop_requested()) {
    if (const absl::optional<DirId> dir = TakeNext(lane)) {
      Known& known = KnownOf(*dir);
      known.asking = Clock::now();
      lane.running.insert(known.asking);
      if (!lane.few.empty() || !lane.many.empty()) Reinforce(lane);
      return Task{*dir, known.mode, known.asking};
    }
    ++lane.idle;
    lane.wanted.Wait(mu_);
    --lane.idle;
  }
  return absl::nullopt;
}

void DirRights::Wake(Known& known) {
  for (Asker* const asker : known.askers) {
    if (--asker->left == 0) asker->answered.SignalOne();
  }
  known.askers.clear();
}

void DirRights::NoteAnswer(Lane& lane, const Task& task,
                           absl::optional<mode_t> mode) {
  lane.running.erase(lane.running.find(task.begun));
  lane.answered = std::max(lane.answered, task.begun);
  const Clock::duration took =
      std::min<Clock::duration>(Clock::now() - task.begun, options_.patience);
  lane.pace += lane.pace == Clock::duration(0) ? took : (took - lane.pace) / 16;
  Known& known = KnownOf(task.dir);
  known.asking = Time();
  known.lane = nullptr;
  if (mode) {
    known.mode = *mode;
    known.asked = task.begun;
    return Wake(known);
  }
  // A new lane would outlive the destructor's request to end.
  if (ends_) return Wake(known);
  known.lane = &LaneOf(kMountedOver);
  Want(task.dir, known, /*is_few=*/true);
  if (HangsFrom(known) <= Clock::now()) Wake(known);
}

void DirRights::Watch(std::stop_token stop, Lane& lane) {
  while (const absl::optional<Task> task = NextTask(stop, lane)) {
    const absl::optional<mode_t> mode = AskLane(lane.number, *task);
    MutexLock lock(mu_);
    NoteAnswer(lane, *task, mode);
  }
}

}  // namespace shufflefs
