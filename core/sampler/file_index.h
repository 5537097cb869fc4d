// SPDX-License-Identifier: Apache-2.0
// The files that a job draws from, numbered as its loader numbers them: those
// below one directory that are of one kind, in sorted order, directory after
// directory. So do torchvision's ImageFolder and a sorted listing.
//
// Immutable; any thread may call. No call does I/O.
#ifndef SHUFFLEFS_CORE_SAMPLER_FILE_INDEX_H_
#define SHUFFLEFS_CORE_SAMPLER_FILE_INDEX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// What loaders list together: the images that ImageFolder knows are one kind,
// all other files are told apart by their extension (file_kinds.h), in lower
// case.
std::string ListedKindOf(absl::string_view name);

class FileIndex {
 public:
  // 4 bytes each, and 4 for every entry below the directory.
  static constexpr uint64_t kBytesPerFile = 8;

  // Told from the first files that the job opened, all of one kind and below
  // `top`: those below the directory that they have in common, or below the one
  // above it where they may all be of one class by chance.
  // REQUIRES: opened is not empty.
  static FileIndex Of(std::shared_ptr<const Catalogue> catalogue, DirId top,
                      absl::Span<const EntryId> opened);

  std::string path() const { return catalogue_->path(dir_); }
  uint32_t size() const { return static_cast<uint32_t>(files_.size()); }
  uint64_t bytes() const { return bytes_; }  // of all files together
  // REQUIRES: index < size().
  EntryId file(uint32_t index) const { return EntryId(files_[index]); }
  std::optional<uint32_t> IndexOf(EntryId file) const;
  // Whether every file of the other is one of these.
  bool Contains(const FileIndex& other) const;

 private:
  FileIndex(std::shared_ptr<const Catalogue> catalogue, DirId dir,
            std::string kind);

  static constexpr uint32_t kNone = ~uint32_t{0};

  // Constant after construction.
  std::shared_ptr<const Catalogue> catalogue_;
  DirId dir_;
  std::string kind_;
  uint32_t first_ = 0;  // entry of index_[0]
  uint64_t bytes_ = 0;
  std::vector<uint32_t> files_;  // entries
  std::vector<uint32_t> index_;  // by entry, from first_
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_FILE_INDEX_H_
