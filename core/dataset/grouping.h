// SPDX-License-Identifier: Apache-2.0
// Grouping holds the samples of one view and the groups inside which they may
// stand in for each other. If names do not move, the groups are the same, and
// are only the strata in which listings are shuffled.
//
// A sample is a file, or (pair = stem) the files of one directory that share a
// name up to the last dot, if they have a dot: a.jpg and a.json. But x.seg.png
// belongs to x.seg. All samples of a group have the same set of extensions
// (upper and lower case are equal). They are in one directory, or with
// substitute = tree in any directory. With a groups file they also have the
// same label. The same users may read all files of one column
// (core/catalogue/access.h). So a name that a user may open never shows what is
// closed to that user.
//
// Some files are in no group, and so always show themselves (fixed):
// * everything in a split, below a hidden directory or outside the view;
// * dot files, links, special files and empty files;
// * files that the scanning user may not read;
// * if names move: documents and manifests that are neither paired with a
//   sample nor the samples themselves.
//
// A pair with such a member is fixed as a whole.
//
// Thread-safe: nothing changes after construction. No method does I/O. Ids
// depend only on the catalogue and the options.
#ifndef SHUFFLEFS_CORE_DATASET_GROUPING_H_
#define SHUFFLEFS_CORE_DATASET_GROUPING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/config/config.h"

namespace shufflefs {

struct GroupingOptions {
  DirId root{0};  // root of the view
  // Roots of views below it. Nothing in them moves here.
  std::vector<DirId> other_views;
  Substitute substitute = Substitute::kAuto;
  bool proven = false;  // SubstitutionSafety::moves; used for kAuto only
  PairMode pair = PairMode::kStem;
  // Names are sorted by rank. Only samples have one, although nothing moves.
  bool ranked = false;
  // Lines `path TAB group`; the path is relative to the view. "" = none.
  std::string groups_text;
  std::string groups_name;  // name of that file, for messages
};

class Grouping {
 public:
  struct Group {
    uint64_t first_sample = 0;  // its samples have consecutive ids
    uint32_t samples = 0;
    uint32_t columns = 0;  // files per sample: 1, or more for pairs
    // Stable name: a hash of the directory's path in the view, the set of
    // extensions, and the groups file's label. If not everybody may read its
    // samples, the hash includes who may.
    uint64_t key = 0;
    DirId dir;                // the view's root for substitute = tree
    uint32_t first_slot = 0;  // internal
  };
  struct Place {
    GroupId group;
    uint32_t index = 0;   // of the sample in its group, in path order
    uint32_t column = 0;  // of the file in its sample, by extension
    friend bool operator==(const Place&, const Place&) = default;
  };
  // The samples [first, first + count) of a group are in one directory.
  struct Piece {
    GroupId group;
    uint32_t first = 0;
    uint32_t count = 0;
  };

  // Errors: InvalidArgument, which names the groups file and its line: no tab,
  // no such file in the view, two labels for one sample.
  static absl::StatusOr<Grouping> Make(const Catalogue& catalogue,
                                       const GroupingOptions& options);
  // Groups with these numbers of samples but without files, for simulations. Do
  // not call a method that takes or returns an entry.
  static Grouping WithoutFiles(absl::Span<const uint32_t> sizes);
  Grouping(Grouping&&) = default;
  Grouping& operator=(Grouping&&) = default;

  // Returns whether names show other samples than their own.
  bool moves() const { return moves_; }

  uint32_t group_count() const { return static_cast<uint32_t>(groups_.size()); }
  uint64_t sample_count() const { return sample_count_; }
  const Group& group(GroupId group) const { return groups_[group.value()]; }

  // The position of a file. Empty if the file is fixed.
  absl::optional<Place> place(EntryId entry) const;
  // Prefetches the memory that place() will read, for callers that visit many
  // entries in random order.
  void Prefetch(EntryId entry) const {
    const uint32_t row = entry.value() - first_entry_;
    if (row < slot_.size()) __builtin_prefetch(&slot_[row]);
  }
  // REQUIRES: index < samples, column < columns.
  EntryId member(GroupId group, uint32_t index, uint32_t column) const;
  // REQUIRES: place(entry) has a value.
  SampleId sample(EntryId entry) const;
  // The number of files of a sample, and each of them. REQUIRES: sample <
  // sample_count(), column < columns.
  uint32_t columns(SampleId sample) const;
  EntryId member(SampleId sample, uint32_t column) const;
  // The group of a sample. REQUIRES: sample < sample_count().
  GroupId group_of(SampleId sample) const;
  // The sample's file in column 0.
  EntryId first_member(SampleId sample) const;
  // The pieces in a directory of the view, by group. The directory's files that
  // are in no piece are fixed. Empty outside the view.
  absl::Span<const Piece> groups_in(DirId dir) const;

  uint64_t memory_bytes() const;

 private:
  friend class GroupingBuilder;
  Grouping() = default;
  // Of the group that has this place in members_.
  uint32_t GroupAt(uint32_t slot) const;

  // Constant after Make. Tables by entry begin at first_entry_.
  bool moves_ = false;
  uint32_t first_entry_ = 0;
  DirId first_dir_;
  uint64_t sample_count_ = 0;
  std::vector<Group> groups_;
  std::vector<uint32_t> slot_;     // by entry: index in members_, or kFixed
  std::vector<uint32_t> members_;  // entries, by group, sample and column
  // By group: Group::first_slot. To search it saves 4 bytes an entry.
  std::vector<uint32_t> first_slots_;
  std::vector<Piece> pieces_;       // by directory
  std::vector<uint32_t> piece_of_;  // by directory, and one more at the end
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_GROUPING_H_
