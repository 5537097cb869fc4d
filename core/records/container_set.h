// SPDX-License-Identifier: Apache-2.0
// The container files of a view, and where their records lie, as far as that
// is known: the index is made behind a mount that is usable already.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINER_SET_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINER_SET_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/dataset.h"
#include "core/io/source_dir.h"
#include "core/mutex.h"
#include "core/records/container_index.h"
#include "core/records/record_rules.h"
#include "core/records/shuffled_file.h"
#include "core/types.h"

namespace shufflefs {

// For `status`.
struct ContainerReport {
  uint64_t containers = 0;  // that are shuffled, or will be when indexed
  uint64_t indexed = 0;
  uint64_t records = 0;  // of those that are indexed
  uint64_t index_bytes = 0;
  struct Untouched {
    std::string path;  // below the source
    std::string why;
  };
  std::vector<Untouched> untouched;  // that look like containers
};

// Thread-safe. Nothing blocks but Index.
class ContainerSet {
 public:
  // Looks at names and groups alone. What stands in a split, is hidden, or
  // moves between names is no container; what has a companion is untouched.
  ContainerSet(std::shared_ptr<const Dataset> dataset, RecordRules rules);

  bool empty() const { return places_.empty(); }
  // Those that are shuffled, or may be: without those that were found to be
  // none.
  uint64_t count() const;
  // Of the largest container.
  uint64_t largest_bytes() const;
  // Of the file.
  uint64_t bytes(EntryId file) const {
    return dataset_->catalogue().attributes(file).size;
  }
  bool Has(EntryId file) const { return places_.contains(file); }
  // The same for a container of the same path in the view, on any machine.
  // REQUIRES: Has(file).
  uint64_t key(EntryId file) const;

  // Nothing while it is not known; a shape without records if the file turned
  // out to be none. REQUIRES: Has(file).
  absl::optional<ContainerShape> Shape(EntryId file) const;
  // Calls `ready` when Shape has a value: at once, or by the thread that
  // indexes. Cancelled, which names the file: it has none, indexing was
  // stopped. REQUIRES: Has(file).
  using Ready = std::function<void(const absl::Status&)>;
  void WhenReady(EntryId file, Ready ready);

  struct IndexOptions {
    std::string saved;  // a directory that keeps indexes; "" = none
    std::stop_token stop;
    // Bytes done and in all; may be empty, may be called by several threads.
    std::function<void(uint64_t, uint64_t)> progress;
  };
  // Finds the records of all containers, several at a time, those that readers
  // wait for first. Blocks for the source; call it once.
  void Index(const SourceDir& source, const IndexOptions& options);

  ContainerReport Report() const;
  const RecordRules& rules() const { return rules_; }

 private:
  struct Container {
    EntryId file;
    RecordFormat format = RecordFormat::kFixed;
    uint64_t key = 0;
    bool begun = false;
    absl::optional<ContainerShape> shape;
    std::string why_not;  // "" if it is one
    std::vector<Ready> waiters;
  };

  // Of the constructor, which needs no lock.
  void Consider(EntryId file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Why a file that looks like a container is not to be touched; "" if it is.
  std::string Objection(EntryId file, bool asked) const;
  // The next to be indexed; null when all were begun.
  Container* TakeNext();
  IndexRequest RequestFor(const Container& container,
                          const IndexOptions& options) const;
  void Settle(Container& container, absl::StatusOr<ContainerShape> shape);
  absl::Status Stopped(EntryId file) const;
  // Who waits for what is not to come any more is told.
  void Stop();

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const RecordRules rules_;
  absl::flat_hash_map<EntryId, size_t> places_;  // in containers_
  std::vector<ContainerReport::Untouched> objections_;

  mutable Mutex mu_;
  // Its size is constant, and so are file, format and key.
  std::vector<Container> containers_ ABSL_GUARDED_BY(mu_);
  uint64_t none_ ABSL_GUARDED_BY(mu_) = 0;          // of them are none
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;            // all before it were begun
  std::deque<size_t> wanted_ ABSL_GUARDED_BY(mu_);  // readers wait for them
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINER_SET_H_
