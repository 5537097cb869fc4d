// SPDX-License-Identifier: Apache-2.0
// ContainerSet is the container files of a view, and where their records are as
// far as that is known. The mount is already usable while the index is made.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_SET_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_SET_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/formats/table/record_rules.h"
#include "core/records/aligned/padded_dirs.h"
#include "core/records/containers/container_finder.h"
#include "core/records/containers/container_group.h"
#include "core/records/index/container_index.h"
#include "core/records/order/shuffled_file.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// For `status`.
struct ContainerReport {
  uint64_t containers = 0;  // are shuffled, or will be once indexed
  uint64_t indexed = 0;
  // Of these, those that had to be read for it: no saved index fitted, and no
  // header sufficed.
  uint64_t read_through = 0;
  // Files that are shown without their padding, shuffled or not.
  uint64_t padded = 0;
  // For indexed containers: the number of reordered units, and how many files
  // have which unit: records, row groups or record batches
  // (RecordFormat::units).
  uint64_t records = 0;
  std::map<std::string, uint64_t> levels;
  uint64_t index_bytes = 0;
  std::vector<UntouchedFile> untouched;
  // One line each, for containers that cannot mix, and rules without a file.
  std::vector<std::string> warnings;
};

// Thread-safe. Only Index blocks.
class ContainerSet {
 public:
  // See FindContainers. Uses only names and groups.
  ContainerSet(std::shared_ptr<const Dataset> dataset, RecordRules rules,
               const std::vector<std::string>& inside = {})
      : ContainerSet(std::move(dataset), std::move(rules),
                     ContainerSetOptions{inside, nullptr, false}) {}
  ContainerSet(std::shared_ptr<const Dataset> dataset, RecordRules rules,
               const ContainerSetOptions& options);

  bool empty() const { return places_.empty(); }
  // Containers that are shuffled, or may be. Excludes those that turned out to
  // be none or keep their order.
  uint64_t count() const;
  // Bytes of the largest container, or of the largest mixed group of
  // containers.
  uint64_t largest_bytes() const;
  // Bytes of all containers.
  uint64_t total_bytes() const;
  // All containers, by entry.
  std::vector<EntryId> files() const;
  // Bytes of the file.
  uint64_t bytes(EntryId file) const {
    return dataset_->catalogue().attributes(file).size;
  }
  bool Has(EntryId file) const { return places_.contains(file); }
  // Returns whether it is a container, or the index of one.
  bool Covers(EntryId file) const {
    return Has(file) || indexes_.contains(file);
  }
  // The container whose index this file is. Empty if it is none.
  absl::optional<EntryId> IndexedBy(EntryId file) const;
  // Returns whether a pass over the records includes this container. REQUIRES:
  // Has(file).
  bool IsShuffled(EntryId file) const;
  // Shown size of a container, or of its index. For a container of a family,
  // that in the source. Not final until Shape has a value: it may still grow.
  struct Shown {
    uint64_t bytes = 0;
    bool is_final = true;
  };
  Shown ShownBytes(EntryId file) const;
  // Why no pass over the containers ends by itself, so that one ends by hand
  // only. A ledger and tokens keep these bits, so none gets another meaning.
  enum ByHand : uint32_t {
    // A reader read the index of a container. Positions in an index are valid
    // for one epoch only.
    kIndexWasRead = 1,
    // A reader goes by positions that it keeps. The same is true of these.
    kPositionsKept = 2,
  };
  // Some containers have one order of their records. Who reads one of them and
  // then another needs both of one epoch.
  bool HasAligned() const;
  // Returns whether the next epoch may begin because all was read.
  bool PassesEnd() const { return by_hand() == 0 && !HasAligned(); }
  // All reasons, also those that a later version has noted. 0: none.
  uint32_t by_hand() const { return by_hand_; }
  void NoteByHand(uint32_t why) {
    if ((why & ~by_hand_.load()) != 0) by_hand_ |= why;
  }
  // Equal for a container of the same path in the view, on any machine, and for
  // containers aligned with it. REQUIRES: Has(file).
  uint64_t key(EntryId file) const;

  // Returns whether the file may show records of other files. Then its shown
  // size is known only with its Shape; otherwise it is the source's. REQUIRES:
  // Has(file).
  bool IsMixed(EntryId file) const;
  // The files whose records it may show, including itself. Empty if it is not
  // mixed.
  std::vector<EntryId> MixedWith(EntryId file) const;

  // Empty until it is known, for the file and for all that are aligned or mixed
  // with it. A shape without records if the file turned out to be no container.
  // REQUIRES: Has(file).
  absl::optional<ContainerShape> Shape(EntryId file) const;
  // Calls `ready` when Shape has a value: at once, or on the indexing thread.
  // Cancelled, which names the file: indexing was stopped, so there is no
  // shape. REQUIRES: Has(file).
  using Ready = std::function<void(const absl::Status&)>;
  void WhenReady(EntryId file, Ready ready);

  struct IndexOptions {
    absl::optional<OwnedDir> saved;  // directory for indexes
    std::stop_token stop;
    // Called with bytes done and in total. May be empty. Several threads may
    // call it. Bytes that need not be read count as done once that is known.
    std::function<void(uint64_t, uint64_t)> progress;
    // Called by several threads with the reason if an index could not be saved.
    // Empty: it is logged.
    std::function<void(const absl::Status&)> not_saved;
    // The delay before a file is tried again after a transient error of the
    // source. It doubles each time, for kMostTries tries in total.
    std::chrono::milliseconds retry{1000};
    // Finds the records of one file. Tests replace it.
    std::function<absl::StatusOr<ContainerShape>(const SourceDir&,
                                                 const IndexRequest&)>
        find = IndexContainer;
  };
  static constexpr int kMostTries = 4;
  // Finds the records of all containers, several at a time. Containers that
  // readers wait for come first. A file that cannot be read is tried again, and
  // its readers wait meanwhile. After the last try it is shown unchanged, like
  // a file that is no container. Blocks on the source. Call it once.
  // TakeIndexing returns true to the first who is about to.
  bool TakeIndexing() { return !indexing_.exchange(true); }
  void Index(const SourceDir& source, const IndexOptions& options);

  ContainerReport Report() const;
  const RecordRules& rules() const { return rules_; }

 private:
  // The state of the container with the same index in found_.
  struct State {
    bool begun = false;
    bool wanted = false;  // it is in wanted_
    int tries = 0;        // that failed with a transient error
    uint64_t read = 0;    // bytes read to find its records
    absl::optional<ContainerShape> shape;
    std::string why_not;  // "" if it is a container
    std::vector<Ready> waiters;
  };
  static constexpr size_t kNone = ~size_t{0};

  const FoundContainer& At(size_t place) const { return found_.At(place); }
  // Null: it is in no group whose records are mixed.
  const ContainerGroup* FamilyOf(EntryId file) const;
  // A reader waits for it.
  void Want(size_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The next container to index. kNone when all have begun.
  size_t TakeNext();
  IndexRequest RequestFor(size_t place, const IndexOptions& options) const;
  // Indexes up to `count` files, several at a time. Adds to the bytes done.
  void IndexNext(const SourceDir& source, const IndexOptions& options,
                 uint64_t count, std::atomic<uint64_t>& done);
  // Returns whether the file will be tried again. If so, it is in again_.
  bool TriesAgain(size_t place, const absl::Status& error);
  // Queues the containers of again_ for another try. Returns their number.
  uint64_t TakeAgain();
  // Finds the rows of a file that is no container, by its number.
  using FindRows = std::function<absl::StatusOr<ContainerShape>(size_t)>;
  absl::StatusOr<ContainerShape> RowsOf(size_t number, const SourceDir& source,
                                        const IndexOptions& options) const;
  // `read`: bytes of it that were read. `rows` is called for the files beside a
  // group.
  void Settle(size_t place, absl::StatusOr<ContainerShape> shape, uint64_t read,
              const FindRows& rows);
  // The same for a member of a group. When the last one comes, all become
  // known.
  void SettleInGroup(size_t place, absl::StatusOr<ContainerShape> shape,
                     const FindRows& rows);
  void Publish(size_t place, absl::StatusOr<ContainerShape> shape);
  absl::Status Stopped(EntryId file) const;
  // Notifies all waiters whose container will never be known.
  void Stop();

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const RecordRules rules_;
  const std::shared_ptr<const PaddedDirs> padded_;  // may be null
  const FoundContainers found_;
  absl::flat_hash_map<EntryId, size_t> places_;  // index in found_.containers
  // Index file -> its container.
  absl::flat_hash_map<EntryId, EntryId> indexes_;

  // Self-synchronised.
  std::atomic<uint32_t> by_hand_{0};
  std::atomic<bool> indexing_{false};

  mutable Mutex mu_;
  std::vector<State> states_ ABSL_GUARDED_BY(mu_);  // its size is constant
  // By group: what was found for groups that are not completely known yet.
  std::map<size_t, MemberShapes> joining_ ABSL_GUARDED_BY(mu_);
  // By group: the line on files that are not mixed with the rest of it.
  std::map<size_t, std::string> unmixed_ ABSL_GUARDED_BY(mu_);
  uint64_t none_ ABSL_GUARDED_BY(mu_) = 0;  // turned out to be no containers
  uint64_t kept_ ABSL_GUARDED_BY(mu_) = 0;  // containers that keep their order
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;    // all before it have begun
  std::deque<size_t> wanted_ ABSL_GUARDED_BY(mu_);  // readers wait for them
  std::vector<size_t> again_ ABSL_GUARDED_BY(mu_);  // transient failures
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_SET_H_
