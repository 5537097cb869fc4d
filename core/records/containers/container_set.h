// SPDX-License-Identifier: Apache-2.0
// The container files of a view, and where their records lie, as far as that
// is known: the index is made behind a mount that is usable already.
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
  uint64_t containers = 0;  // that are shuffled, or will be when indexed
  uint64_t indexed = 0;
  // Of those, that had to be read for it: no saved index was of them, and no
  // header told it.
  uint64_t read_through = 0;
  // Files that are shown without their padding, shuffled or not.
  uint64_t padded = 0;
  // Of those that are indexed: what comes in another order, and of how many
  // files it is records, row groups or record batches (RecordFormat::units).
  uint64_t records = 0;
  std::map<std::string, uint64_t> levels;
  uint64_t index_bytes = 0;
  std::vector<UntouchedFile> untouched;
  std::vector<std::string> warnings;  // of those that cannot mix; one line each
};

// Thread-safe. Nothing blocks but Index.
class ContainerSet {
 public:
  // As FindContainers; looks at names and groups alone.
  ContainerSet(std::shared_ptr<const Dataset> dataset, RecordRules rules,
               const std::vector<std::string>& inside = {})
      : ContainerSet(std::move(dataset), std::move(rules),
                     ContainerSetOptions{inside, nullptr, false}) {}
  ContainerSet(std::shared_ptr<const Dataset> dataset, RecordRules rules,
               const ContainerSetOptions& options);

  bool empty() const { return places_.empty(); }
  // Those that are shuffled, or may be: without those that were found to be
  // none, or keep their order.
  uint64_t count() const;
  // Of the largest container, or of those whose records are mixed.
  uint64_t largest_bytes() const;
  // Of all of them.
  uint64_t total_bytes() const;
  // All of them, by entry.
  std::vector<EntryId> files() const;
  // Of the file.
  uint64_t bytes(EntryId file) const {
    return dataset_->catalogue().attributes(file).size;
  }
  bool Has(EntryId file) const { return places_.contains(file); }
  // The container whose index the file is; nothing if it is none.
  absl::optional<EntryId> IndexedBy(EntryId file) const;
  // Whether a pass over the records is one over this container, too. REQUIRES:
  // Has(file).
  bool IsShuffled(EntryId file) const;
  // Of a container, or an index of one, as it is shown; in a family as it is
  // in the source. Not final: it may still grow, until Shape has a value.
  struct Shown {
    uint64_t bytes = 0;
    bool is_final = true;
  };
  Shown ShownBytes(EntryId file) const;
  // Somebody reads an index of a container: places in it are those of one
  // epoch.
  void NoteIndexRead() { index_was_read_ = true; }
  bool index_was_read() const { return index_was_read_; }
  // The same for a container of the same path in the view, on any machine, and
  // for those that are aligned with it.
  // REQUIRES: Has(file).
  uint64_t key(EntryId file) const;

  // Whether records of other files may come in its place: how large it is
  // shown is known with its Shape, else it is as large as its source.
  // REQUIRES: Has(file).
  bool IsMixed(EntryId file) const;
  // The files whose records may come in its place, itself included; none if it
  // is not mixed.
  std::vector<EntryId> MixedWith(EntryId file) const;

  // Nothing while it is not known, of it and of all that are aligned or mixed
  // with it; a shape without records if the file turned out to be none.
  // REQUIRES: Has(file).
  absl::optional<ContainerShape> Shape(EntryId file) const;
  // Calls `ready` when Shape has a value: at once, or by the thread that
  // indexes. Cancelled, which names the file: it has none, indexing was
  // stopped. REQUIRES: Has(file).
  using Ready = std::function<void(const absl::Status&)>;
  void WhenReady(EntryId file, Ready ready);

  struct IndexOptions {
    absl::optional<OwnedDir> saved;  // keeps indexes
    std::stop_token stop;
    // Bytes done and in all; may be empty, may be called by several threads.
    // What need not be read counts as done when that is known.
    std::function<void(uint64_t, uint64_t)> progress;
    // Told of an index that could not be saved, by several threads; empty: the
    // log is.
    std::function<void(const absl::Status&)> not_saved;
    // How long after an error of the source that may pass a file is tried
    // again; twice as long each time, kMostTries in all.
    std::chrono::milliseconds retry{1000};
    // What finds the records of one file; another in tests.
    std::function<absl::StatusOr<ContainerShape>(const SourceDir&,
                                                 const IndexRequest&)>
        find = IndexContainer;
  };
  static constexpr int kMostTries = 4;
  // Finds the records of all containers, several at a time, those that readers
  // wait for first. A file that cannot be read is tried again, and its readers
  // wait for that; after the last time it is shown as it is, as one that is no
  // container. Blocks for the source; call it once.
  void Index(const SourceDir& source, const IndexOptions& options);

  ContainerReport Report() const;
  const RecordRules& rules() const { return rules_; }

 private:
  // What is known of the container of the same place in found_.
  struct State {
    bool begun = false;
    int tries = 0;      // that failed, but may not the next time
    uint64_t read = 0;  // bytes, to find its records
    absl::optional<ContainerShape> shape;
    std::string why_not;  // "" if it is one
    std::vector<Ready> waiters;
  };
  static constexpr size_t kNone = ~size_t{0};

  const FoundContainer& At(size_t place) const {
    return found_.containers[place];
  }
  // Null: it is in no group whose records are mixed.
  const ContainerGroup* FamilyOf(EntryId file) const;
  // The next to be indexed; kNone when all were begun.
  size_t TakeNext();
  IndexRequest RequestFor(size_t place, const IndexOptions& options) const;
  // Up to `count` files, several at a time; adds to the bytes that are done.
  void IndexNext(const SourceDir& source, const IndexOptions& options,
                 uint64_t count, std::atomic<uint64_t>& done);
  // Whether the file is to be tried again; then it is in again_.
  bool TriesAgain(size_t place, const absl::Status& error);
  // Makes those of again_ the next; their number.
  uint64_t TakeAgain();
  // `read`: bytes of it that were.
  void Settle(size_t place, absl::StatusOr<ContainerShape> shape,
              uint64_t read);
  // The same for one of a group: when the last comes, all are known.
  void SettleInGroup(size_t place, absl::StatusOr<ContainerShape> shape);
  void Publish(size_t place, absl::StatusOr<ContainerShape> shape);
  absl::Status Stopped(EntryId file) const;
  // Who waits for what is not to come any more is told.
  void Stop();

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const RecordRules rules_;
  const std::shared_ptr<const PaddedDirs> padded_;  // may be null
  const FoundContainers found_;
  absl::flat_hash_map<EntryId, size_t> places_;    // in found_.containers
  absl::flat_hash_map<EntryId, EntryId> indexes_;  // the containers they are of

  // Self-synchronised.
  std::atomic<bool> index_was_read_{false};

  mutable Mutex mu_;
  std::vector<State> states_ ABSL_GUARDED_BY(mu_);  // its size is constant
  // What was found of groups of which not all is known yet, by group.
  std::map<size_t, MemberShapes> joining_ ABSL_GUARDED_BY(mu_);
  uint64_t none_ ABSL_GUARDED_BY(mu_) = 0;  // of them are none
  uint64_t kept_ ABSL_GUARDED_BY(mu_) = 0;  // keep their order, and are no none
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;    // all before it were begun
  std::deque<size_t> wanted_ ABSL_GUARDED_BY(mu_);  // readers wait for them
  std::vector<size_t> again_ ABSL_GUARDED_BY(mu_);  // that failed for now
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_SET_H_
