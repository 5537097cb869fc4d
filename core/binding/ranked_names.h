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
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/published.h"
#include "core/dataset/dataset.h"

namespace shufflefs {

// Thread-safe. Hashed names are collected once, by one pass over the view's
// files, when the first name that is not of the plain form is made or looked
// up. Who needs one meanwhile waits. Names of the plain form wait for nothing.
class RankedNames {
 public:
  // `waits` is called, with no lock held, on a thread that is about to collect
  // names, or to wait for them. May be empty.
  explicit RankedNames(std::shared_ptr<const Dataset> dataset,
                       std::function<void()> waits = {});

  std::string Name(uint64_t rank, EntryId file) const;
  // The file that a name shows. Empty if the form is wrong, or if the file is
  // no sample of the view (manifests, dot files, links and files of a split are
  // not ranked).
  absl::optional<EntryId> Find(absl::string_view name) const;

 private:
  struct Hashed {
    absl::flat_hash_map<std::string, EntryId> files;
    // Of files that have one.
    absl::flat_hash_map<EntryId, uint64_t> numbers;
  };
  std::string PathInView(EntryId file) const;
  // `key` is a name without its rank.
  absl::optional<EntryId> FindPlain(absl::string_view key) const;
  absl::optional<EntryId> FindHashed(absl::string_view key) const;
  std::string HashedName(EntryId file, absl::string_view path) const;
  std::shared_ptr<const Hashed> Collected() const
      ABSL_LOCKS_EXCLUDED(collecting_mu_);
  Hashed Collect() const;
  // The files with such a name, by entry.
  std::vector<EntryId> FilesToHash() const;
  // Gives `key` to `file` unless another file has it.
  bool Claim(const std::string& key, EntryId file, Hashed& hashed) const;

  // Constant after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const size_t prefix_bytes_;  // of the view's own path
  const std::function<void()> waits_;

  mutable Published<Hashed> collected_;  // self-synchronised
  // Held while one thread collects, and before the locks of collected_.
  mutable Mutex collecting_mu_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_RANKED_NAMES_H_
