// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/file_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/splits.h"

namespace shufflefs {
namespace {

// torchvision.datasets.folder.IMG_EXTENSIONS.
constexpr std::array<absl::string_view, 9> kImages = {
    "jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp"};

bool IsBelow(const Catalogue& catalogue, DirId dir, DirId top) {
  return dir >= top && dir < catalogue.subtree_end(top);
}

DirId CommonDir(const Catalogue& catalogue, absl::Span<const EntryId> files) {
  DirId common = catalogue.parent(files.front());
  for (const EntryId file : files) {
    while (!IsBelow(catalogue, catalogue.parent(file), common)) {
      common = catalogue.parent(common);
    }
  }
  return common;
}

bool IsSplit(const Catalogue& catalogue, DirId dir) {
  const auto entry = catalogue.entry_of(dir);
  return entry && IsSplitName(catalogue.name(*entry));
}

// Returns whether `dir` looks like one class of several. It has siblings,
// neither it nor they have subdirectories, and none is a split.
bool IsOneOfClasses(const Catalogue& catalogue, DirId dir) {
  const DirId above = catalogue.parent(dir);
  uint32_t classes = 0;
  for (DirId d(above.value() + 1); d < catalogue.subtree_end(above);
       d = catalogue.subtree_end(d)) {
    const bool is_leaf = catalogue.subtree_end(d).value() == d.value() + 1;
    if (!is_leaf || IsSplit(catalogue, d)) return false;
    ++classes;
  }
  return classes >= 2;
}

}  // namespace

std::string ListedKindOf(absl::string_view name) {
  std::string extension = absl::AsciiStrToLower(ExtensionOf(name));
  if (absl::c_linear_search(kImages, extension)) return "images";
  return extension;
}

FileIndex FileIndex::Of(std::shared_ptr<const Catalogue> catalogue, DirId top,
                        absl::Span<const EntryId> opened) {
  DirId dir = CommonDir(*catalogue, opened);
  if (dir != top && IsOneOfClasses(*catalogue, dir)) {
    dir = catalogue->parent(dir);
  }
  std::string kind = ListedKindOf(catalogue->name(opened.front()));
  return FileIndex(std::move(catalogue), dir, std::move(kind));
}

// The entries of a subtree are adjacent, and already in the wanted order.
FileIndex::FileIndex(std::shared_ptr<const Catalogue> catalogue, DirId dir,
                     std::string kind)
    : catalogue_(std::move(catalogue)),
      dir_(dir),
      kind_(std::move(kind)),
      first_(catalogue_->first_entry(dir).value()) {
  const uint32_t end = catalogue_->entries_end(dir).value();
  index_.assign(end - first_, kNone);
  for (uint32_t entry = first_; entry < end; ++entry) {
    const EntryId file(entry);
    if (catalogue_->kind(file) != EntryKind::kFile ||
        ListedKindOf(catalogue_->name(file)) != kind_) {
      continue;
    }
    index_[entry - first_] = size();
    files_.push_back(entry);
    bytes_ += catalogue_->file_size(file);
  }
}

std::optional<uint32_t> FileIndex::IndexOf(EntryId file) const {
  const uint32_t place = file.value() - first_;
  if (file.value() < first_ || place >= index_.size() ||
      index_[place] == kNone) {
    return std::nullopt;
  }
  return index_[place];
}

bool FileIndex::Contains(const FileIndex& other) const {
  return kind_ == other.kind_ && IsBelow(*catalogue_, other.dir_, dir_);
}

}  // namespace shufflefs
