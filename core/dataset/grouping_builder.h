// SPDX-License-Identifier: Apache-2.0
// GroupingBuilder makes a Grouping in one pass over the view's directories in
// path order. Internal to core/dataset.
#ifndef SHUFFLEFS_CORE_DATASET_GROUPING_BUILDER_H_
#define SHUFFLEFS_CORE_DATASET_GROUPING_BUILDER_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"
#include "core/dataset/extension_sets.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/grouping.h"
#include "core/dataset/groups_file.h"

namespace shufflefs {

class GroupingBuilder {
 public:
  static constexpr uint32_t kFixed = 0xFFFFFFFF;

  GroupingBuilder(const Catalogue& catalogue, const GroupingOptions& options,
                  GroupLabels labels)
      : catalogue_(catalogue), options_(options), labels_(std::move(labels)) {}

  absl::StatusOr<Grouping> Build();

 private:
  struct File {
    absl::string_view stem;
    uint32_t extension = 0;
    uint32_t entry = 0;
    bool pairs = false;     // it has an extension, and pairing is on
    bool fixed = false;     // and so is everything paired with it
    bool manifest = false;  // moves only together with another file
    bool container = false;
  };
  // Filling::alone, set, label, access
  using FillingKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
  // A group that is being filled.
  struct Filling {
    // If a container is the only sample of the group: its entry + 1.
    uint32_t alone = 0;
    uint32_t set = 0;
    uint32_t label = 0;
    uint32_t access = 0;  // index in accesses_
    uint32_t columns = 0;
    DirId dir;
    std::vector<uint32_t> members;
  };

  // Of a directory's files. Containers are others, too.
  struct Kinds {
    uint64_t text = 0;
    uint64_t others = 0;
    uint64_t containers = 0;
  };

  void MarkDirectories();
  void CountFiles();
  Kinds KindsIn(DirId dir) const;
  absl::Status AddDirectory(DirId dir);
  void CollectFiles(DirId dir);
  File Describe(EntryId entry, bool text_is_sample);
  absl::Status AddSample(DirId dir, File* begin, File* end);
  absl::StatusOr<uint32_t> LabelOf(const File* begin, const File* end);
  // A number for each combination of users who may read a sample's files.
  uint32_t AccessOf(const File* begin, const File* end);
  Filling& FillingOf(DirId dir, const Filling& wanted);
  void NotePieces(DirId dir);
  void Flush();
  uint64_t KeyOf(const Filling& filling) const;

  const Catalogue& catalogue_;
  const GroupingOptions& options_;
  const GroupLabels labels_;
  Grouping result_;
  ExtensionSets sets_;
  KindMemo kinds_;
  // By DirId: split, hidden, a container or of another view.
  std::vector<bool> fixed_dirs_;
  // Files that describe others, and documents, are no samples.
  bool sorts_out_ = false;
  bool text_view_ = false;            // the text files are the samples
  bool containers_stay_ = false;      // other files are the samples
  std::vector<File> files_;           // of the current directory
  std::vector<uint32_t> extensions_;  // of the current sample
  std::vector<Filling> filling_;      // of the directory, or of the tree
  // By filling: members before the current directory.
  std::vector<uint32_t> noted_;
  absl::flat_hash_map<FillingKey, uint32_t> filling_of_;
  // The last that was asked for, because most samples have that of the one
  // before. Valid if filling_ is not empty.
  FillingKey last_key_;
  uint32_t last_filling_ = 0;
  // As text; the first means everybody.
  std::vector<std::string> accesses_ = {""};
  absl::flat_hash_map<std::string, uint32_t> access_of_;
  // From this index on, the group of a piece is still an index in filling_.
  size_t open_pieces_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_GROUPING_BUILDER_H_
