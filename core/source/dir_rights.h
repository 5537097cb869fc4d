// SPDX-License-Identifier: Apache-2.0
// DirRights answers what directories of the source allow now, if users other
// than the one who mounted are served. It never grants more than the catalogue
// knows. It grants nothing once a directory is gone or has another owner. So
// what is closed after mounting is closed in the mount a second later. What is
// opened waits for the next scan, because names and records were mixed by what
// the catalogue knew.
//
// Separate threads ask the source: one for each of its file systems, and more
// for one that is slow. Questions about few directories come before those about
// many, so whoever lists everything does not hold up who opens a file.
//
// How old an answer may be depends on whether the file system answers at all:
// * It hangs: a question waits for `patience`, and none that began later was
//   answered. The last answers count, however old, and no caller waits longer
//   than `patience`. The other file systems are asked as ever.
// * It answers, but not within `patience`. An answer counts until it is `limit`
//   old; one about many directories for as long as it takes to ask for all of
//   them one after the other. Until there is such an answer, the caller waits,
//   up to `limit`. Then nothing is granted. The question remains, so a later
//   call finds its answer.
// Until a directory is asked for, the scan's answer counts as one that was
// given when this object was made. So a mount that begins refuses nobody
// anything because a slow source cannot tell of all directories yet.
#ifndef SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_
#define SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/posix_acl.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Thread-safe.
class DirRights {
 public:
  using Duration = std::chrono::milliseconds;
  // Sees what the source says about a directory, on the thread that asked.
  // Returns what counts.
  using Tap = std::function<absl::StatusOr<RightsNow>(
      DirId dir, absl::StatusOr<RightsNow> now)>;
  struct Options {
    // An answer of the source is valid for this time. It is valid for as long
    // again for each further thousand directories that are asked for together.
    Duration fresh{1000};
    Duration patience{1000};
    // No older answer counts while the source answers. Nobody waits longer.
    Duration limit{10000};
    // Called without a lock by a call that waits for longer than a moment.
    std::function<void()> waits;
    Tap tap;  // for tests
  };
  // `source` and `catalogue` outlive the object. If no other user is served,
  // the source is not asked.
  DirRights(const SourceDir& source, const Catalogue& catalogue)
      : DirRights(source, catalogue, Options()) {}
  DirRights(const SourceDir& source, const Catalogue& catalogue,
            const Options& options);
  ~DirRights();

  // Returns whether the source is asked, so that answers may change.
  bool are_watched() const { return catalogue_.serves_others(); }
  // Type and permission bits. May wait for the source, as described above.
  mode_t ModeOf(DirId dir) ABSL_LOCKS_EXCLUDED(mu_);
  // The modes of several directories, in their order. Faster than one by one.
  std::vector<mode_t> ModesOf(const std::vector<DirId>& dirs)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Returns whether everybody may search these directories, and all above them,
  // at least as far as the catalogue knows.
  bool AreAsOpenAsKnown(const std::vector<DirId>& dirs)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  // One call that waits. It is woken when its last directory is answered.
  struct Asker {
    CondVar answered;
    size_t left = 0;
  };
  // The directories of one file system, and the threads that ask for them.
  struct Lane {
    explicit Lane(uint32_t its_number) : number(its_number) {}
    const uint32_t number;
    // Those that wait, by the size of the question. One that is in `few` may be
    // in `many`, too, where it is skipped.
    std::deque<DirId> few;
    std::deque<DirId> many;
    uint32_t turn = 0;
    CondVar wanted;
    size_t idle = 0;
    // When the running questions began, and the latest begin of one that was
    // answered.
    std::multiset<Time> running;
    Time answered;
    Clock::duration pace{0};  // how long a question takes, smoothed
    // Empty: the system gave none yet. Last, so that they end first.
    std::vector<std::jthread> threads;
  };
  struct Known {
    mode_t mode = 0;
    Time asked;   // when the question began; the clock's epoch: never
    Time asking;  // since when a thread asks; the clock's epoch: none does
    Lane* lane = nullptr;  // where it waits, or is asked for
    bool in_few = false;
    bool in_many = false;
    std::vector<Asker*> askers;
  };
  struct Task {
    DirId dir;
    mode_t last = 0;
    Time begun;
  };
  struct Question {
    const std::vector<DirId>& dirs;
    Time begun;
    // Fixed, so that anything asked since the call began is new enough.
    Time since;
    bool is_few = false;
  };
  // By Catalogue::device. What does not lie on the source's own mount, though
  // it did in the catalogue, has a lane of its own: whoever mounts something
  // over a directory must not hold up the others.
  static constexpr uint32_t kOwn = 0;
  static constexpr uint32_t kMountedOver = UINT32_MAX;

  void Watch(std::stop_token stop, Lane& lane) ABSL_LOCKS_EXCLUDED(mu_);
  absl::optional<Task> NextTask(std::stop_token stop, Lane& lane)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::optional<DirId> TakeNext(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Empty: the directory belongs to the lane kMountedOver.
  absl::optional<mode_t> AskLane(uint32_t number, const Task& task) const;
  mode_t Granted(const Task& task, absl::StatusOr<RightsNow> now) const;
  void NoteAnswer(Lane& lane, const Task& task, absl::optional<mode_t> mode)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Wake(Known& known);
  uint32_t LaneNumberOf(DirId dir) const;
  Lane& LaneOf(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts one more thread if the lane has none, or needs another one.
  void Reinforce(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Has the directory asked for, and soon if `is_few`.
  void Want(DirId dir, Known& known, bool is_few)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // From when on the file system counts as hanging if nothing is answered
  // meanwhile. REQUIRES: known.lane != nullptr.
  Time HangsFrom(const Known& known) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the answer counts without waiting for another one, if the
  // file system does (not) hang.
  bool IsNew(const Known& known, const Question& question) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsNewEnough(const Known& known, const Question& question) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for the directories that file systems which do not hang have not
  // answered, up to `until` or until one of these hangs. Returns whether there
  // was one. `all_new`: IsNew, not IsNewEnough.
  bool Await(const Question& question, bool all_new, Time until)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The answers, if there is nothing to wait for before `until`.
  absl::optional<std::vector<mode_t>> ModesBy(const Question& question,
                                              bool all_new, Time until)
      ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<mode_t> ModesNow(const Question& question)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Known& KnownOf(DirId dir) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const SourceDir& source_;
  const Catalogue& catalogue_;
  const Options options_;
  const Time made_ = Clock::now();

  Mutex mu_;
  bool ends_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<DirId, Known> known_ ABSL_GUARDED_BY(mu_);
  // Last member, so that the threads end first. A lane stays where it is.
  absl::flat_hash_map<uint32_t, std::unique_ptr<Lane>> lanes_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_
