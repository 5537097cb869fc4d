// SPDX-License-Identifier: Apache-2.0
// Finds the reason why a file that looks like a container must be left alone:
// it is in a split, or another file says where its records are.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_SIDECARS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_SIDECARS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"

namespace shufflefs {

// Immutable. Uses names only.
class Sidecars {
 public:
  // The dataset outlives it.
  explicit Sidecars(const Dataset& dataset);

  // The one file beside a container, with the ending `suffix`, that may be an
  // index of its records. Empty if there is another one.
  absl::optional<EntryId> IndexOf(EntryId file, absl::string_view suffix) const;
  // Why the file must not be changed; "" if it may be. `asked`: the user
  // declares it a container. `index`: a file beside it that is no obstacle.
  std::string Objection(EntryId file, bool asked,
                        const absl::optional<EntryId>& index) const;

 private:
  std::string SidecarOf(EntryId file,
                        const absl::optional<EntryId>& index) const;

  // Constant after construction.
  const Dataset& dataset_;
  const std::vector<absl::string_view> index_suffixes_;
  // Indexes of offsets that are in another directory than their file: by their
  // name without extension, the path of one of them.
  absl::flat_hash_map<std::string, std::string> lone_indexes_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_SIDECARS_H_
