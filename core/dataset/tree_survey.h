// SPDX-License-Identifier: Apache-2.0
// TreeSurvey counts what a subtree of the catalogue holds, by directory and
// kind. core/dataset/substitution_safety.h judges from these facts. Splits,
// hidden files and documents are not counted. Thread-safe, as nothing changes
// after construction. The catalogue outlives it.
#ifndef SHUFFLEFS_CORE_DATASET_TREE_SURVEY_H_
#define SHUFFLEFS_CORE_DATASET_TREE_SURVEY_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/dataset/file_kinds.h"

namespace shufflefs {

class TreeSurvey {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(FileKind::kUnknown) + 1;

  // The files directly in one directory.
  struct Contents {
    std::array<uint32_t, kKinds> count = {};  // files, by kind
    std::array<EntryId, kKinds> example;      // the first file, if count > 0
    uint32_t files = 0;
    bool above_others = false;  // has files in directories below it

    uint32_t of(FileKind kind) const {
      return count[static_cast<size_t>(kind)];
    }
    EntryId example_of(FileKind kind) const {
      return example[static_cast<size_t>(kind)];
    }
  };

  TreeSurvey(const Catalogue& catalogue, DirId root);

  // The directories with files at or below the root, in path order.
  const std::map<DirId, Contents>& dirs() const { return dirs_; }
  // Those that have none of dirs() below them.
  std::vector<DirId> Leaves() const;
  // Directories that are one data set on disk, such as x.zarr.
  const std::vector<DirId>& containers() const { return containers_; }
  // By DirId, for the whole catalogue: splits and hidden directories.
  const std::vector<bool>& excluded() const { return excluded_; }
  // A file that is in a split by its own name and yet refers to other files,
  // such as testing_list.txt.
  absl::optional<EntryId> list_named_as_split() const {
    return list_named_as_split_;
  }

  uint64_t Total(FileKind kind) const;
  // A file of that kind. REQUIRES: Total(kind) > 0.
  EntryId ExampleOf(FileKind kind) const;
  // Returns whether there is only text: then text files are the samples.
  bool IsAllText() const;
  // Returns whether a validation split that holds files is below the root,
  // beside it, or beside a directory above it.
  bool HasValidationSplit() const;
  // For example "60000 files in 10 directories, all of kind image".
  std::string Describe() const;

 private:
  // What was found in one directory.
  struct Found {
    Contents contents;
    absl::optional<EntryId> list_named_as_split;
  };

  void MarkDirectories();
  void CountFiles();
  Found CountFilesOf(DirId dir) const;
  bool Validates(DirId dir) const;

  const Catalogue& catalogue_;
  const DirId root_;
  // Constant after construction.
  std::vector<bool> excluded_;
  std::vector<DirId> containers_;
  std::map<DirId, Contents> dirs_;
  absl::optional<EntryId> list_named_as_split_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_TREE_SURVEY_H_
