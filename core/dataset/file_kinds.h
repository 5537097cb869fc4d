// SPDX-License-Identifier: Apache-2.0
// The kind of a file, as far as its name tells. Pure functions of names.
#ifndef SHUFFLEFS_CORE_DATASET_FILE_KINDS_H_
#define SHUFFLEFS_CORE_DATASET_FILE_KINDS_H_

#include <cstring>

#include "absl/strings/string_view.h"

namespace shufflefs {

enum class FileKind {
  kHidden,     // begins with a dot, or belongs to a desktop (Thumbs.db, …)
  kDocument,   // README, LICENSE and the like
  kContainer,  // holds many records: tfrecord, tar, parquet, h5, npz, …
  kManifest,   // refers to other files by name or order: csv, json, xml, …
  kText,       // txt or no extension: a sample of text, or a list of samples
  kImage,
  kAudio,
  kArray,    // npy, pt, …
  kUnknown,  // any other extension
};

FileKind KindOfFile(absl::string_view name);

// Recognises directories that are one data set on disk (x.zarr) or hidden.
FileKind KindOfDirectoryName(absl::string_view name);

// The part after the last dot. Empty if nothing there looks like an extension:
// no dot, nothing before it, more than ten bytes, no letter (1.5, frame.0001),
// or a hash (00001.7c53336b37003a9286aba55d2945844c).
absl::string_view ExtensionOf(absl::string_view name);

// The name without its extension and the dot. The whole name if it has none.
absl::string_view StemOf(absl::string_view name);

// The same three, faster for the names of a directory, most of which end alike.
// Not thread-safe. The names outlive it.
class KindMemo {
 public:
  FileKind KindOf(absl::string_view name) {
    if (EndsAlike(name) && name[0] != '.') return kind_;
    const FileKind kind = KindOfFile(name);
    if (kind == FileKind::kImage || kind == FileKind::kAudio) {
      kind_ = kind;
      ending_ = name.substr(shufflefs::StemOf(name).size());
    }
    return kind;
  }
  absl::string_view ExtensionOf(absl::string_view name) const {
    return EndsAlike(name) ? name.substr(name.size() - ending_.size() + 1)
                           : shufflefs::ExtensionOf(name);
  }
  absl::string_view StemOf(absl::string_view name) const {
    return EndsAlike(name) ? name.substr(0, name.size() - ending_.size())
                           : shufflefs::StemOf(name);
  }

 private:
  bool EndsAlike(absl::string_view name) const {
    return !ending_.empty() && name.size() > ending_.size() &&
           std::memcmp(name.data() + name.size() - ending_.size(),
                       ending_.data(), ending_.size()) == 0;
  }

  // Of the last image or sound: nothing else of its name decides its kind.
  FileKind kind_ = FileKind::kUnknown;
  absl::string_view ending_;  // ".jpg"; empty at first
};

// "image", "audio", "array" or "text", for messages.
absl::string_view NameOfKind(FileKind kind);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_FILE_KINDS_H_
