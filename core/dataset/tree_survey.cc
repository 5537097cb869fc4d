// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/tree_survey.h"

#include "absl/strings/str_cat.h"
#include "core/base/parallel.h"
#include "core/dataset/splits.h"

namespace shufflefs {

TreeSurvey::TreeSurvey(const Catalogue& catalogue, DirId root)
    : catalogue_(catalogue), root_(root) {
  MarkDirectories();
  CountFiles();
  for (const auto& [dir, contents] : dirs_) {
    for (DirId up = dir; up != root_;) {
      up = catalogue_.parent(up);
      auto at = dirs_.find(up);
      if (at != dirs_.end()) at->second.above_others = true;
    }
  }
}

void TreeSurvey::MarkDirectories() {
  excluded_ = SplitDirs(catalogue_);
  for (uint32_t d = 1; d < catalogue_.dir_count(); ++d) {
    DirId dir(d);
    bool below = dir > root_ && dir < catalogue_.subtree_end(root_);
    FileKind kind =
        KindOfDirectoryName(catalogue_.name(*catalogue_.entry_of(dir)));
    if (excluded_[catalogue_.parent(dir).value()]) excluded_[d] = true;
    if (excluded_[d]) continue;
    if (kind == FileKind::kHidden) excluded_[d] = true;
    if (kind == FileKind::kContainer && below) containers_.push_back(dir);
  }
}

void TreeSurvey::CountFiles() {
  const uint32_t first = root_.value();
  std::vector<Found> found(catalogue_.subtree_end(root_).value() - first);
  ParallelFor(found.size(), ParallelOptions::ToCompute("survey"),
              [&](uint64_t begin, uint64_t end) {
                for (uint64_t i = begin; i < end; ++i) {
                  const DirId dir(first + static_cast<uint32_t>(i));
                  if (!excluded_[dir.value()]) found[i] = CountFilesOf(dir);
                }
                return true;
              });
  for (uint32_t i = 0; i < found.size(); ++i) {
    if (!list_named_as_split_) {
      list_named_as_split_ = found[i].list_named_as_split;
    }
    if (found[i].contents.files == 0) continue;
    dirs_.emplace_hint(dirs_.end(), DirId(first + i), found[i].contents);
  }
}

TreeSurvey::Found TreeSurvey::CountFilesOf(DirId dir) const {
  Found found;
  KindMemo kinds;
  const uint32_t first = catalogue_.first_entry(dir).value();
  for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
    const EntryId entry(e);
    if (catalogue_.kind(entry) != EntryKind::kFile) continue;
    const absl::string_view name = catalogue_.name(entry);
    const FileKind kind = kinds.KindOf(name);
    if (kind == FileKind::kHidden || kind == FileKind::kDocument) continue;
    if (IsSplitName(name)) {
      // The file stays fixed, but testing_list.txt refers to the others.
      const bool list = kind == FileKind::kText && !ExtensionOf(name).empty();
      if ((kind == FileKind::kManifest || list) && !found.list_named_as_split) {
        found.list_named_as_split = entry;
      }
      continue;
    }
    const auto k = static_cast<size_t>(kind);
    if (found.contents.count[k]++ == 0) found.contents.example[k] = entry;
    ++found.contents.files;
  }
  return found;
}

uint64_t TreeSurvey::Total(FileKind kind) const {
  uint64_t total = 0;
  for (const auto& [dir, contents] : dirs_) {
    total += contents.count[static_cast<size_t>(kind)];
  }
  return total;
}

EntryId TreeSurvey::ExampleOf(FileKind kind) const {
  auto k = static_cast<size_t>(kind);
  for (const auto& [dir, contents] : dirs_) {
    if (contents.count[k] > 0) return contents.example[k];
  }
  return EntryId(0);
}

// Text files are the samples if there is nothing else. Otherwise they describe
// other files.
bool TreeSurvey::IsAllText() const {
  for (const auto& [dir, contents] : dirs_) {
    if (contents.count[static_cast<size_t>(FileKind::kText)] !=
        contents.files) {
      return false;
    }
  }
  return true;
}

std::vector<DirId> TreeSurvey::Leaves() const {
  std::vector<DirId> leaves;
  for (const auto& [dir, contents] : dirs_) {
    if (!contents.above_others) leaves.push_back(dir);
  }
  return leaves;
}

bool TreeSurvey::Validates(DirId dir) const {
  absl::string_view name = catalogue_.name(*catalogue_.entry_of(dir));
  if (SplitOf(name) != SplitKind::kValidation) return false;
  uint32_t end = catalogue_.entries_end(dir).value();
  for (uint32_t e = catalogue_.first_entry(dir).value(); e < end; ++e) {
    const EntryId entry(e);
    if (catalogue_.kind(entry) != EntryKind::kFile) continue;
    // Those that keep an empty directory, or tell of it, are no samples.
    const FileKind kind = KindOfFile(catalogue_.name(entry));
    if (kind != FileKind::kHidden && kind != FileKind::kDocument) return true;
  }
  return false;
}

bool TreeSurvey::HasValidationSplit() const {
  uint32_t end = catalogue_.subtree_end(root_).value();
  for (uint32_t d = root_.value() + 1; d < end; ++d) {
    if (Validates(DirId(d))) return true;
  }
  for (DirId at = root_; at != DirId(0);) {
    at = catalogue_.parent(at);
    end = catalogue_.subtree_end(at).value();
    // Walks from child to child.
    for (uint32_t d = at.value() + 1; d < end;
         d = catalogue_.subtree_end(DirId(d)).value()) {
      if (Validates(DirId(d))) return true;
    }
  }
  return false;
}

std::string TreeSurvey::Describe() const {
  uint64_t files = 0;
  FileKind most = FileKind::kUnknown;
  for (size_t k = 0; k < kKinds; ++k) {
    uint64_t total = Total(static_cast<FileKind>(k));
    if (total > Total(most)) most = static_cast<FileKind>(k);
    files += total;
  }
  std::string text = absl::StrCat(
      files, files == 1 ? " file" : " files", " in ", dirs_.size(),
      dirs_.size() == 1 ? " directory" : " directories");
  if (files > 0) {
    const bool every = Total(most) == files;
    absl::StrAppend(&text, every ? ", all" : ", most", " of kind ",
                    NameOfKind(most));
  }
  return text;
}

}  // namespace shufflefs
