// SPDX-License-Identifier: Apache-2.0
// Decides from names, groups and rules which files of a view are containers,
// and which of these get one order of their records.
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
  // Paths, relative to the source, of views inside this one. Files below them
  // belong to those views and are ignored here.
  std::vector<std::string> inside;
  // Padded files are containers whose padding is not shown. Null: they are
  // ordinary files. A padded file that is in a split, or has another sidecar
  // file, keeps the order of its records.
  std::shared_ptr<const PaddedDirs> padded;
  // Only padded files are containers, and all keep their order.
  bool only_padded = false;
  // Another view has the same rules, so one may be for a file of that view.
  bool rules_are_shared = false;
};

struct UntouchedFile {
  std::string path;  // relative to the source, or a rule
  std::string why;
};

struct FoundContainer {
  static constexpr size_t kAlone = ~size_t{0};

  EntryId file;
  const RecordFormat* format = nullptr;
  // Equal for a container of the same path in the view, on any machine, and for
  // the containers of its group.
  uint64_t key = 0;
  size_t group = kAlone;  // index in FoundContainers::groups
  // The index beside it, which must match its records.
  absl::optional<EntryId> index;
  const AlignedFile* padded = nullptr;  // from ContainerSetOptions::padded
  bool keeps_order = false;
};

struct FoundContainers {
  std::vector<FoundContainer> containers;
  // Files that are no containers, but whose rows may be those of some. They are
  // shown as they are. Their numbers follow those of the containers.
  std::vector<FoundContainer> beside;
  std::vector<ContainerGroup> groups;
  std::vector<UntouchedFile> untouched;  // files that look like containers
  // Why files are mixed in separate sets: some users may read only a part of
  // them.
  std::string parted;
  // The rules of record.as that decide no file.
  std::vector<std::string> unmatched;

  const FoundContainer& At(size_t number) const {
    return number < containers.size() ? containers[number]
                                      : beside[number - containers.size()];
  }
};

// A file's path relative to the view, for the rules.
std::string PathInView(const Catalogue& catalogue, DirId root, EntryId file);

// Files in a split, hidden files and files that move between names are no
// containers. Left untouched are:
// * files that have a sidecar file, or an index that another may have, too, or
//   belong to a table;
// * files to be aligned, unless all of them can be;
// * with record.scope = set: files whose set is incomplete, or that cannot be
//   mixed with the rest of it, for example because other users may read them.
//
// With record.scope = view, files are mixed that the same users may read.
FoundContainers FindContainers(const Dataset& dataset, const RecordRules& rules,
                               const ContainerSetOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTAINERS_CONTAINER_FINDER_H_
