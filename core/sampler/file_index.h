// SPDX-License-Identifier: Apache-2.0
// FileIndex has the files that a job reads, numbered as its loader numbers
// them. These are the files of one kind below one directory, in sorted order,
// directory after directory. ImageFolder of torchvision and a sorted listing
// use the same order.
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

// Returns the kind of files that loaders list together. The images that
// ImageFolder knows are one kind. The kind of any other file is its extension
// in lower case (file_kinds.h).
std::string ListedKindOf(absl::string_view name);

class FileIndex {
 public:
  // 4 bytes per file, and 4 bytes per entry below the directory, if most of
  // these are such files.
  static constexpr uint64_t kBytesPerFile = 8;

  // Makes the index from the first files that the job opened, all of one kind
  // and below `top`. It covers their common directory. If this may be one class
  // by chance, it covers the directory above. REQUIRES: opened is not empty.
  static FileIndex Of(std::shared_ptr<const Catalogue> catalogue, DirId top,
                      absl::Span<const EntryId> opened);

  std::string path() const { return catalogue_->path(dir_); }
  uint32_t size() const { return static_cast<uint32_t>(files_.size()); }
  uint64_t bytes() const { return bytes_; }  // of all files
  uint64_t memory_bytes() const { return 4 * (files_.size() + index_.size()); }
  // REQUIRES: index < size().
  EntryId file(uint32_t index) const { return EntryId(files_[index]); }
  std::optional<uint32_t> IndexOf(EntryId file) const;
  // Returns whether every file of `other` is in this index.
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
  std::vector<uint32_t> index_;  // by entry - first_
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_FILE_INDEX_H_
