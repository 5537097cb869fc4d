// SPDX-License-Identifier: Apache-2.0
// Which files of a view are containers, and which of those get one order of
// their records, as far as names, groups and rules say.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FINDER_H_
#define SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FINDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/dataset/dataset.h"
#include "core/formats/table/record_rules.h"
#include "core/records/aligned/padded_dirs.h"
#include "core/records/containers/container_group.h"

namespace shufflefs {

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

struct UntouchedFile {
  std::string path;  // below the source, or a rule
  std::string why;
};

struct FoundContainer {
  static constexpr size_t kAlone = ~size_t{0};

  EntryId file;
  const RecordFormat* format = nullptr;
  // The same for a container of the same path in the view, on any machine, and
  // for those of its group.
  uint64_t key = 0;
  size_t group = kAlone;  // in FoundContainers::groups
  // The index beside it that must be the one of its records.
  absl::optional<EntryId> index;
  const AlignedFile* padded = nullptr;  // of ContainerSetOptions::padded
  bool keeps_order = false;
};

struct FoundContainers {
  std::vector<FoundContainer> containers;
  std::vector<ContainerGroup> groups;
  std::vector<UntouchedFile> untouched;  // that look like containers
  // Why files are mixed apart: not all who may read some may read others.
  std::string parted;
};

// What stands in a split, is hidden, or moves between names is no container;
// what has a companion, or belongs to a table, is untouched, and so are files
// that are to be aligned, unless all of them can be. With record.scope = set
// files are untouched, too, whose set is not whole, or that cannot be mixed
// with the rest of it: not all may be read by the same users, for one. With
// record.scope = view those are mixed that the same users may read.
FoundContainers FindContainers(const Dataset& dataset, const RecordRules& rules,
                               const ContainerSetOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FINDER_H_
