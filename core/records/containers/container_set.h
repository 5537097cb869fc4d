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
#include "core/formats/record_rules.h"
#include "core/records/aligned/padded_dirs.h"
#include "core/records/index/container_index.h"
#include "core/records/index/table_files.h"
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
  // files it is records, row groups or record batches (RecordLevelName).
  uint64_t records = 0;
  std::map<std::string, uint64_t> levels;
  uint64_t index_bytes = 0;
  struct Untouched {
    std::string path;  // below the source
    std::string why;
  };
  std::vector<Untouched> untouched;   // that look like containers
  std::vector<std::string> warnings;  // of those that cannot mix; one line each
};

struct ContainerSetOptions {
  // The paths, below the source, of views inside this one; what is below them
  // is theirs, and not spoken of here.
  std::vector<std::string> inside;
  // Padded files are containers whose padding is not shown; null: they are
  // files like others. One that stands in a split, or has another companion,
  // keeps the order of its records.
  std::shared_ptr<const PaddedDirs> padded;
  // Containers are these alone, and all keep their order.
  bool only_padded = false;
};

// Thread-safe. Nothing blocks but Index.
class ContainerSet {
 public:
  // Looks at names and groups alone. What stands in a split, is hidden, or
  // moves between names is no container; what has a companion, or belongs to
  // a table, is untouched, and so are files that are to be aligned, unless all
  // of them can be. With record.scope = set files are untouched, too, whose set
  // is not whole, or that cannot be mixed with the rest of it: not all
  // may be read by the same users, for one. With record.scope = view those are
  // mixed that the same users may read.
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
  struct Container {
    EntryId file;
    RecordFormat format = RecordFormat::kFixed;
    uint64_t key = 0;
    size_t alignment = kAlone;  // in alignments_
    // The index beside it that must be the one of its records.
    absl::optional<EntryId> index;
    const AlignedFile* padded = nullptr;  // of padded_
    bool keeps_order = false;
    bool begun = false;
    int tries = 0;      // that failed, but may not the next time
    uint64_t read = 0;  // bytes, to find its records
    absl::optional<ContainerShape> shape;
    std::string why_not;  // "" if it is one
    std::vector<Ready> waiters;
  };

  static constexpr size_t kAlone = ~size_t{0};
  // Containers with one order of their records, each or together; what they
  // are is told when that of all is known.
  struct Alignment {
    bool is_family = false;
    std::string why_not;          // "" if it may be one, as far as names say
    std::vector<size_t> members;  // in containers_
    std::map<size_t, absl::StatusOr<ContainerShape>> found;
  };
  // Files that are to be aligned, by rule and path of the first.
  struct Wished {
    std::vector<std::string> paths;
    std::vector<absl::optional<EntryId>> files;
    std::string why_not;  // "" if they may be, as far as is known
  };
  using Wishes = std::map<std::pair<size_t, std::string>, Wished>;

  // Files of the source that another view shows, [begin, end).
  using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;
  Ranges RangesOf(const std::vector<std::string>& views) const;
  // Of the constructor, which needs no lock.
  void FindLoneIndexes();
  void Consider(EntryId file, Wishes& wishes, TableFiles& tables)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes families of what was added.
  void Group() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Align(const Wished& wished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteUnmatched(const Wishes& wishes);
  // Why files cannot be aligned; "" if they may.
  std::string AlignObjection(const Wished& wished) const;
  absl::optional<RecordFormat> AlignedFormat(absl::string_view path) const;
  void Add(EntryId file, RecordFormat format, absl::string_view keyed_by)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddPadded(EntryId file, const PaddedDirs::Padded& padded,
                 const std::string& path, Wishes& wishes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of the container that was added last.
  void SetIndex(EntryId index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The one file beside a TFRecord file that may be an index of its records,
  // if there is no other; it counts as no companion.
  absl::optional<EntryId> IndexOf(EntryId file) const;
  // Why a file that looks like a container is not to be touched; "" if it is.
  // `index`: a file beside it that is not in the way.
  std::string Objection(EntryId file, bool asked,
                        const absl::optional<EntryId>& index) const;
  std::string CompanionOf(EntryId file,
                          const absl::optional<EntryId>& index) const;
  // The next to be indexed; null when all were begun.
  Container* TakeNext();
  IndexRequest RequestFor(const Container& container,
                          const IndexOptions& options) const;
  // Up to `count` files, several at a time; adds to the bytes that are done.
  void IndexNext(const SourceDir& source, const IndexOptions& options,
                 uint64_t count, std::atomic<uint64_t>& done);
  // Whether the file is to be tried again; then it is in again_.
  bool TriesAgain(Container& container, const absl::Status& error);
  // Makes those of again_ the next; their number.
  uint64_t TakeAgain();
  // `read`: bytes of it that were.
  void Settle(Container& container, absl::StatusOr<ContainerShape> shape,
              uint64_t read);
  // The same for one that is aligned.
  void SettleAligned(Container& container,
                     absl::StatusOr<ContainerShape> shape);
  // Gives all of an alignment one order, or the reason why there is none.
  void MatchUp(Alignment& alignment) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes one of a set, or refuses all of it.
  void JoinSet(Alignment& set) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same of those of a view that can be, by their headers.
  void JoinView(Alignment& view) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeFamily(Alignment& of, const std::vector<size_t>& members) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why not all of a set can be mixed, by who may read them; "" if they may.
  std::string WhyNotShared(const std::map<uint64_t, size_t>& members) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why the file's records cannot be mixed with others; "" if they may.
  std::string ScopeObjection(EntryId file, RecordFormat format) const;
  void Publish(Container& container, absl::StatusOr<ContainerShape> shape);
  absl::Status Stopped(EntryId file) const;
  // Who waits for what is not to come any more is told.
  void Stop();

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const RecordRules rules_;
  const std::shared_ptr<const PaddedDirs> padded_;  // may be null
  const bool only_padded_;
  absl::flat_hash_map<EntryId, size_t> places_;    // in containers_
  absl::flat_hash_map<EntryId, EntryId> indexes_;  // the containers they are of
  std::vector<ContainerReport::Untouched> objections_;
  // Where files are mixed apart, for not all who may read some may read others.
  std::string parted_;
  // Indexes of offsets that lie in another directory than their file, by what
  // they are called without their extension; where one of them lies.
  absl::flat_hash_map<std::string, std::string> lone_indexes_;

  // Self-synchronised.
  std::atomic<bool> index_was_read_{false};

  mutable Mutex mu_;
  // Its size is constant, and so are the fields from file to keeps_order.
  std::vector<Container> containers_ ABSL_GUARDED_BY(mu_);
  std::vector<Alignment> alignments_ ABSL_GUARDED_BY(mu_);
  uint64_t none_ ABSL_GUARDED_BY(mu_) = 0;  // of them are none
  uint64_t kept_ ABSL_GUARDED_BY(mu_) = 0;  // keep their order, and are no none
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;    // all before it were begun
  std::deque<size_t> wanted_ ABSL_GUARDED_BY(mu_);  // readers wait for them
  std::vector<size_t> again_ ABSL_GUARDED_BY(mu_);  // that failed for now
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_SET_H_
