// SPDX-License-Identifier: Apache-2.0
// What directories of the source allow now, where others than who mounted are
// served: never more than the catalogue knows, and nothing once a directory is
// gone or another owner's. So what is closed after mounting is closed in the
// mount, a second later; what is opened waits for the next scan, because names
// and records were mixed by what the catalogue knew.
//
// A thread of its own asks the source, so that a source that hangs holds nobody
// up for longer than `patience`: then what was known last counts.
#ifndef SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_
#define SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Thread-safe.
class DirRights {
 public:
  using Duration = std::chrono::milliseconds;
  struct Options {
    // What was asked of the source counts so long, and for each further
    // thousand directories that are asked for together as long again.
    Duration fresh{1000};
    Duration patience{1000};
  };
  // Both outlive the object. Where nobody else is served nothing is asked.
  DirRights(const SourceDir& source, const Catalogue& catalogue)
      : DirRights(source, catalogue, Options()) {}
  DirRights(const SourceDir& source, const Catalogue& catalogue,
            const Options& options);
  ~DirRights();

  // Whether anything is asked, and so may change.
  bool are_watched() const { return catalogue_.serves_others(); }
  // Type and permission bits. May wait for the source, see above.
  mode_t ModeOf(DirId dir) ABSL_LOCKS_EXCLUDED(mu_);
  // Of several, in their order: quicker than one by one.
  std::vector<mode_t> ModesOf(const std::vector<DirId>& dirs)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Whether nobody may search less in these directories, or in one above, than
  // the catalogue knows.
  bool AreAsOpenAsKnown(const std::vector<DirId>& dirs)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    mode_t mode = 0;
    Clock::time_point asked;  // the epoch of the clock: never
    bool is_queued = false;
  };
  struct Task {
    DirId dir;
    mode_t last = 0;
    Clock::time_point begun;
  };
  void Watch(std::stop_token stop) ABSL_LOCKS_EXCLUDED(mu_);
  absl::optional<Task> NextTask(std::stop_token stop) ABSL_LOCKS_EXCLUDED(mu_);
  mode_t AskSource(DirId dir, mode_t last) const;
  // How many of `dirs` the source was not asked for `since`; queues these.
  size_t Queue(const std::vector<DirId>& dirs, Clock::time_point since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Known& KnownOf(DirId dir) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const SourceDir& source_;
  const Catalogue& catalogue_;
  const Options options_;

  Mutex mu_;
  CondVar asked_;
  CondVar wanted_;
  absl::flat_hash_map<DirId, Known> known_ ABSL_GUARDED_BY(mu_);
  std::deque<DirId> queue_ ABSL_GUARDED_BY(mu_);
  // Since when the source has been asked for one; the clock's epoch: it is not.
  Clock::time_point asking_since_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // the last, so that it ends first
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_DIR_RIGHTS_H_
