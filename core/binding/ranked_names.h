// SPDX-License-Identifier: Apache-2.0
// The names of the ranked layout: `%09d~<path below the view, '/' as '~'>`.
// Sorting the names gives the epoch's order. If this form would be longer than
// 255 bytes or ambiguous, the name is `%09d~<16 hex digits>~<tail with the
// extension>`. The rank is only a sort key: a name with a stale rank still
// resolves to the file of its path part.
//
// XXH3 keeps nobody from making a path of the same hash. Files whose names
// would be equal are numbered: `%09d~<16 hex digits>~2~<tail>` and so on.
#ifndef SHUFFLEFS_CORE_BINDING_RANKED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_RANKED_NAMES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/dataset/dataset.h"

namespace shufflefs {

// Thread-safe. Hashed names are collected once, by one pass over the view's
// files, when the first name that is not of the plain form is made or looked
// up.
class RankedNames {
 public:
  explicit RankedNames(std::shared_ptr<const Dataset> dataset);

  std::string Name(uint64_t rank, EntryId file) const;
  // The file that a name shows. Empty if the form is wrong, or if the file is
  // no sample of the view (manifests, dot files, links and files of a split are
  // not ranked).
  absl::optional<EntryId> Find(absl::string_view name) const;

 private:
  std::string PathInView(EntryId file) const;
  // `key` is a name without its rank.
  absl::optional<EntryId> FindPlain(absl::string_view key) const;
  absl::optional<EntryId> FindHashed(absl::string_view key) const;
  std::string HashedName(EntryId file, absl::string_view path) const;
  void CollectHashed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives `key` to `file` unless another file has it.
  bool Claim(const std::string& key, EntryId file) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const size_t prefix_bytes_;  // of the view's own path

  mutable Mutex mu_;
  mutable bool collected_ ABSL_GUARDED_BY(mu_) = false;
  mutable absl::flat_hash_map<std::string, EntryId> hashed_
      ABSL_GUARDED_BY(mu_);
  // Of files that have one.
  mutable absl::flat_hash_map<EntryId, uint64_t> numbers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_RANKED_NAMES_H_
