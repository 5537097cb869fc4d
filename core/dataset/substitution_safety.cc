// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/substitution_safety.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/parallel.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/name_sequence.h"
#include "core/dataset/pairing.h"
#include "core/dataset/splits.h"
#include "core/dataset/tree_survey.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

using Reason = absl::optional<std::string>;

bool IsMedia(FileKind kind) {
  return kind == FileKind::kImage || kind == FileKind::kAudio ||
         kind == FileKind::kArray || kind == FileKind::kText;
}

// Returns whether a directory annotates another one, whatever it contains.
bool IsAnnotationName(absl::string_view name) {
  static constexpr const char* kNames[] = {"anno",
                                           "annos",
                                           "annotation",
                                           "annotations",
                                           "bboxes",
                                           "captions",
                                           "groundtruth",
                                           "ground_truth",
                                           "ground-truth",
                                           "gt",
                                           "gtcoarse",
                                           "gtfine",
                                           "imagesets",
                                           "label",
                                           "labels",
                                           "label_2",
                                           "labeltxt",
                                           "masks",
                                           "metadata",
                                           "segmentation",
                                           "segmentationclass",
                                           "segmentationobject",
                                           "segmentations",
                                           "trimap",
                                           "trimaps"};
  return std::any_of(
      std::begin(kNames), std::end(kNames),
      [&](const char* known) { return absl::EqualsIgnoreCase(name, known); });
}

// Returns whether the name of a text file among text files says that it is a
// list of them.
bool IsListName(absl::string_view name) {
  static constexpr const char* kStems[] = {
      "captions", "classes",  "cmds",  "filelist", "files",       "index",
      "labels",   "list",     "lists", "metadata", "names",       "synsets",
      "train",    "trainval", "urls",  "vocab",    "transcripts", "words"};
  std::string stem = absl::AsciiStrToLower(StemOf(name));
  return std::find(std::begin(kStems), std::end(kStems), stem) !=
             std::end(kStems) ||
         absl::EndsWith(stem, "list") || absl::EndsWith(stem, "_labels") ||
         absl::EndsWith(stem, ".trans");
}

// Returns whether the file may speak of files below its directory. Arrays and
// containers do if their names say so: labels.npy, targets.h5, labels.csv.gz.
bool ListsFilesBelow(absl::string_view name) {
  const FileKind kind = KindOfFile(name);
  if (kind == FileKind::kManifest || kind == FileKind::kText) return true;
  if (kind != FileKind::kContainer && kind != FileKind::kArray) return false;
  const absl::string_view stem = StemOf(name);
  const FileKind inner = KindOfFile(stem);
  const RecordFormat* const format = FormatByName(name);
  return (format != nullptr && format->may_list_files()) || IsListName(name) ||
         (inner == FileKind::kManifest && stem != StemOf(stem)) ||
         absl::StartsWithIgnoreCase(stem, "label") ||
         absl::StartsWithIgnoreCase(stem, "target") ||
         absl::StartsWithIgnoreCase(stem, "annot");
}

// Directories whose files have an identity in their names, not in a directory.
bool IsOfReidentification(absl::string_view name) {
  return absl::EqualsIgnoreCase(name, "query") ||
         absl::EqualsIgnoreCase(name, "gallery") ||
         absl::EqualsIgnoreCase(name, "probe");
}

// Returns whether the directory is one of the parts that a set was cut into,
// such as part1 or shard-07. Such a name says nothing about a sample.
bool IsPartName(absl::string_view name) {
  static constexpr const char* kWords[] = {
      "batch", "chunk", "dir",   "disk",   "fold", "folder", "part",
      "piece", "shard", "split", "subset", "vol",  "volume"};
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == name.size()) return false;
  absl::string_view word = name.substr(0, digits);
  while (!word.empty() && !absl::ascii_isalpha(word.back())) {
    word.remove_suffix(1);
  }
  return std::any_of(
      std::begin(kWords), std::end(kWords),
      [&](const char* known) { return absl::EqualsIgnoreCase(word, known); });
}

class Judgement {
 public:
  Judgement(const Catalogue& catalogue, DirId root,
            const SubstitutionSafetyOptions& options)
      : catalogue_(catalogue),
        root_(root),
        options_(options),
        survey_(catalogue, root) {}

  SubstitutionSafety Run();

 private:
  // The rules, in the header's order. Empty: the rule does not refuse.
  Reason RefuseSplit() const;
  Reason RefuseContainer() const;
  Reason RefuseManifest() const;
  Reason RefuseManifestAbove() const;
  Reason RefuseAnnotation() const;
  Reason RefuseLink() const;
  Reason RefuseMedia() const;
  Reason RefuseShape() const;
  Reason RefuseSequence() const;
  Reason RefusePairs() const;

  bool IsSequence(DirId dir) const;
  Reason RefuseSiblings(const std::map<DirId, uint32_t>& leaves_of) const;

  // For messages of one line, whatever bytes the names contain.
  std::string Path(EntryId entry) const {
    return absl::Utf8SafeCHexEscape(catalogue_.path(entry));
  }
  std::string Path(DirId dir) const {
    std::string path = catalogue_.path(dir);
    return path.empty() ? "the source"
                        : absl::StrCat(absl::Utf8SafeCHexEscape(path), "/");
  }

  const Catalogue& catalogue_;
  const DirId root_;
  const SubstitutionSafetyOptions& options_;
  const TreeSurvey survey_;
};

Reason Judgement::RefuseSplit() const {
  if (survey_.excluded()[root_.value()]) {
    return absl::StrCat(Path(root_), " is in a split or hidden");
  }
  if (survey_.dirs().empty() && survey_.containers().empty()) {
    return std::string("nothing outside splits could move");
  }
  return absl::nullopt;
}

Reason Judgement::RefuseContainer() const {
  if (!survey_.containers().empty()) {
    return absl::StrCat(Path(survey_.containers()[0]), " is one container");
  }
  if (survey_.Total(FileKind::kContainer) == 0) return absl::nullopt;
  return absl::StrCat(Path(survey_.ExampleOf(FileKind::kContainer)),
                      " is a container of many records");
}

Reason Judgement::RefuseManifest() const {
  if (survey_.Total(FileKind::kManifest) > 0) {
    return absl::StrCat(Path(survey_.ExampleOf(FileKind::kManifest)),
                        " may refer to files by name");
  }
  bool text_view = survey_.IsAllText();
  for (const auto& [dir, contents] : survey_.dirs()) {
    if (contents.of(FileKind::kText) == 0) continue;
    if (!text_view || contents.above_others) {
      return absl::StrCat(Path(contents.example_of(FileKind::kText)),
                          " may be a list of files");
    }
    uint32_t first = catalogue_.first_entry(dir).value();
    for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
      if (catalogue_.kind(EntryId(e)) == EntryKind::kFile &&
          IsListName(catalogue_.name(EntryId(e)))) {
        return absl::StrCat(Path(EntryId(e)), " is a list by its name");
      }
    }
  }
  absl::optional<EntryId> split_list = survey_.list_named_as_split();
  if (split_list && !text_view) {
    return absl::StrCat(Path(*split_list), " may refer to files by name");
  }
  return absl::nullopt;
}

Reason Judgement::RefuseManifestAbove() const {
  for (DirId dir = root_; dir != DirId(0);) {
    dir = catalogue_.parent(dir);
    uint32_t first = catalogue_.first_entry(dir).value();
    for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
      EntryId entry(e);
      const EntryKind kind = catalogue_.kind(entry);
      // A link without an extension may lead to a directory.
      const bool counts = kind == EntryKind::kFile ||
                          (kind == EntryKind::kLink &&
                           !ExtensionOf(catalogue_.name(entry)).empty());
      if (counts && ListsFilesBelow(catalogue_.name(entry))) {
        return absl::StrCat(Path(entry), " may refer to files by name");
      }
    }
  }
  return absl::nullopt;
}

Reason Judgement::RefuseAnnotation() const {
  auto annotates = [this](DirId dir) {
    return !survey_.excluded()[dir.value()] &&
           IsAnnotationName(catalogue_.name(*catalogue_.entry_of(dir)));
  };
  absl::optional<DirId> found;
  for (const auto& [dir, contents] : survey_.dirs()) {
    for (DirId up = dir; up != root_ && !found; up = catalogue_.parent(up)) {
      if (annotates(up)) found = up;
    }
  }
  // Searches beside the view, and beside each directory above it.
  for (DirId at = root_; at != DirId(0) && !found;) {
    at = catalogue_.parent(at);
    uint32_t end = catalogue_.subtree_end(at).value();
    for (uint32_t d = at.value() + 1; d < end && !found;
         d = catalogue_.subtree_end(DirId(d)).value()) {
      bool above =
          root_ >= DirId(d) && root_ < catalogue_.subtree_end(DirId(d));
      if (!above && annotates(DirId(d))) found = DirId(d);
    }
  }
  if (!found) return absl::nullopt;
  return absl::StrCat(Path(*found), " annotates other files by its name");
}

// The client follows links, and gets what their targets' names show.
Reason Judgement::RefuseLink() const {
  const std::vector<bool> splits = SplitDirs(catalogue_);
  for (uint32_t d = 0; d < catalogue_.dir_count(); ++d) {
    const DirId dir(d);
    const bool below = dir >= root_ && dir < catalogue_.subtree_end(root_);
    const bool split = splits[d];
    if (survey_.excluded()[d] && !split) continue;
    const uint32_t first = catalogue_.first_entry(dir).value();
    for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
      const EntryId entry(e);
      if (catalogue_.kind(entry) != EntryKind::kLink) continue;
      const absl::string_view name = catalogue_.name(entry);
      const FileKind kind = KindOfFile(name);
      const bool is_list =
          kind == FileKind::kManifest ||
          (kind == FileKind::kText && !ExtensionOf(name).empty());
      if (below && !split && is_list) {
        return absl::StrCat(Path(entry), " may refer to files by name");
      }
      if (!split && IsAnnotationName(name)) {
        return absl::StrCat(Path(entry), " annotates other files by its name");
      }
      if (!IsMedia(kind) || ExtensionOf(name).empty()) continue;
      if (split || IsSplitName(name)) {
        return absl::StrCat(Path(entry),
                            " is in a split and a link, perhaps to a sample");
      }
      if (!survey_.dirs().contains(dir) && below) {
        return absl::StrCat(Path(dir), " holds links, perhaps to samples");
      }
    }
  }
  return absl::nullopt;
}

Reason Judgement::RefuseMedia() const {
  if (survey_.Total(FileKind::kUnknown) > 0) {
    return absl::StrCat(Path(survey_.ExampleOf(FileKind::kUnknown)),
                        " is not a known media type");
  }
  absl::optional<FileKind> found;
  for (size_t k = 0; k < TreeSurvey::kKinds; ++k) {
    auto kind = static_cast<FileKind>(k);
    if (!IsMedia(kind) || survey_.Total(kind) == 0) continue;
    if (found) {
      return absl::StrCat("a mix of media: ", Path(survey_.ExampleOf(*found)),
                          " and ", Path(survey_.ExampleOf(kind)));
    }
    found = kind;
  }
  return absl::nullopt;
}

Reason Judgement::RefuseShape() const {
  std::map<DirId, uint32_t> leaves_of;
  bool exchange = false;
  for (const auto& [dir, contents] : survey_.dirs()) {
    if (contents.above_others) {
      for (size_t k = 0; k < TreeSurvey::kKinds; ++k) {
        if (contents.count[k] == 0) continue;
        return absl::StrCat(Path(contents.example[k]),
                            " lies beside directories of samples");
      }
    }
    if (dir != root_) ++leaves_of[catalogue_.parent(dir)];
    exchange |= contents.files > 1;
  }
  bool siblings = std::any_of(leaves_of.begin(), leaves_of.end(),
                              [](const auto& at) { return at.second > 1; });
  if (!siblings) {
    if (survey_.Leaves().size() == 1) {
      return std::string("no class folders: all samples are in one folder");
    }
    return absl::StrCat("no class folders: ", Path(survey_.Leaves()[0]),
                        " has no sibling");
  }
  if (!exchange) return std::string("no directory holds two samples");
  return RefuseSiblings(leaves_of);
}

// Refuses directories whose names are no labels. `leaves_of` has the number of
// directories by their parent.
Reason Judgement::RefuseSiblings(
    const std::map<DirId, uint32_t>& leaves_of) const {
  std::map<DirId, uint32_t> parts_of;
  for (const auto& [dir, contents] : survey_.dirs()) {
    if (dir == root_) continue;
    const DirId parent = catalogue_.parent(dir);
    const uint32_t siblings = leaves_of.at(parent);
    if (siblings < 2) continue;
    const absl::string_view name = catalogue_.name(*catalogue_.entry_of(dir));
    if (IsOfReidentification(name)) {
      return absl::StrCat(Path(dir), " is of a set with labels in its names");
    }
    if (IsPartName(name) && ++parts_of[parent] == siblings) {
      return absl::StrCat(Path(dir),
                          " is a part of a set by its name, no class");
    }
  }
  return absl::nullopt;
}

Reason Judgement::RefuseSequence() const {
  std::vector<DirId> dirs;
  for (const auto& [dir, contents] : survey_.dirs()) dirs.push_back(dir);
  const uint64_t found =
      ParallelFirst(dirs.size(), ParallelOptions::ToCompute("sequence"),
                    [&](uint64_t i) { return IsSequence(dirs[i]); });
  if (found == dirs.size()) return absl::nullopt;
  return absl::StrCat("the names in ", Path(dirs[found]),
                      " are one sequence of numbers, as frames have");
}

bool Judgement::IsSequence(DirId dir) const {
  std::vector<absl::string_view> stems;
  KindMemo kinds;
  const uint32_t first = catalogue_.first_entry(dir).value();
  for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
    const absl::string_view name = catalogue_.name(EntryId(e));
    if (catalogue_.kind(EntryId(e)) == EntryKind::kFile &&
        IsMedia(kinds.KindOf(name)) && !IsSplitName(name)) {
      // Each frame may have several files.
      const absl::string_view stem = kinds.StemOf(name);
      if (stems.empty() || stems.back() != stem) stems.push_back(stem);
    }
  }
  return IsOneSequence(stems, options_.min_frames);
}

Reason Judgement::RefusePairs() const {
  PairingOptions options;
  options.root = root_;
  options.excluded = &survey_.excluded();
  options.percent = options_.pair_percent;
  return FindPairedDirectories(catalogue_, options);
}

SubstitutionSafety Judgement::Run() {
  SubstitutionSafety result;
  result.classes = survey_.Leaves().size();
  result.has_validation_split = survey_.HasValidationSplit();
  result.layout = survey_.Describe();
  for (auto rule : {&Judgement::RefuseSplit, &Judgement::RefuseContainer,
                    &Judgement::RefuseManifest, &Judgement::RefuseManifestAbove,
                    &Judgement::RefuseAnnotation, &Judgement::RefuseLink,
                    &Judgement::RefuseMedia, &Judgement::RefuseShape,
                    &Judgement::RefuseSequence, &Judgement::RefusePairs}) {
    Reason reason = (this->*rule)();
    if (!reason) continue;
    result.reason = *std::move(reason);
    return result;
  }
  result.moves = true;
  result.layout =
      absl::StrCat(result.classes, " class folders: ", result.layout);
  result.reason = "class folders: the directory is the label";
  return result;
}

}  // namespace

SubstitutionSafety Judge(const Catalogue& catalogue, DirId root,
                         const SubstitutionSafetyOptions& options) {
  return Judgement(catalogue, root, options).Run();
}

}  // namespace shufflefs
