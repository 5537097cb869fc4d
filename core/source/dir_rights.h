// SPDX-License-Identifier: Apache-2.0
// DirRights answers what directories of the source allow now, if users other
// than the one who mounted are served. It never grants more than the catalogue
// knows. It grants nothing once a directory is gone or has another owner. So
// what is closed after mounting is closed in the mount a second later. What is
// opened waits for the next scan, because names and records were mixed by what
// the catalogue knew.
//
// Separate threads ask the source, one for each of its file systems. If one of
// them hangs, no caller waits longer than `patience`; the last known answer of
// its directories then counts. The others are asked as ever.
#ifndef SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_
#define SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
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
  struct Options {
    // An answer of the source is valid for this time. It is valid for as long
    // again for each further thousand directories that are asked for together.
    Duration fresh{1000};
    Duration patience{1000};
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
  // Type and permission bits. May wait for the source for up to `patience`.
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
  // The directories of one file system, and the thread that asks for them.
  struct Lane {
    std::deque<DirId> queue;
    CondVar wanted;
    // When the thread began to ask the source for a directory. The clock's
    // epoch: it is not asking.
    Clock::time_point asking_since;
    absl::optional<std::jthread> thread;  // empty: the system gave none yet
  };
  struct Known {
    mode_t mode = 0;
    Clock::time_point asked;       // the clock's epoch: never
    const Lane* queued = nullptr;  // where it waits, or is asked for
  };
  struct Task {
    DirId dir;
    mode_t last = 0;
    Clock::time_point begun;
  };
  // By Catalogue::device. What does not lie on the source's own mount, though
  // it did in the catalogue, has a lane of its own: whoever mounts something
  // over a directory must not hold up the others.
  static constexpr uint32_t kOwn = 0;
  static constexpr uint32_t kMountedOver = UINT32_MAX;

  void Watch(std::stop_token stop, uint32_t number, Lane& lane)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::optional<Task> NextTask(std::stop_token stop, Lane& lane)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Empty: the directory belongs to the lane kMountedOver.
  absl::optional<mode_t> AskLane(uint32_t number, const Task& task) const;
  mode_t Granted(DirId dir, mode_t last,
                 const absl::StatusOr<RightsNow>& now) const;
  uint32_t LaneNumberOf(DirId dir) const;
  Lane& LaneOf(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void QueueIn(uint32_t number, DirId dir) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Hangs(const Lane& lane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Queues those of `dirs` that the source was not asked for since `since`.
  // Returns how many of them are in lanes that do not hang.
  size_t Queue(const std::vector<DirId>& dirs, Clock::time_point since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Known& KnownOf(DirId dir) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const SourceDir& source_;
  const Catalogue& catalogue_;
  const Options options_;

  Mutex mu_;
  CondVar asked_;
  bool ends_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<DirId, Known> known_ ABSL_GUARDED_BY(mu_);
  // Last member, so that the threads end first. A lane stays where it is.
  absl::flat_hash_map<uint32_t, std::unique_ptr<Lane>> lanes_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_
