// SPDX-License-Identifier: Apache-2.0
// TFRecord files whose records do not cross page boundaries, as `shufflectl
// pack --align page` writes them. The manifest says which files of a directory
// are such.
//
// A padded file NAME holds whole records (tfrecord_scanner.h), laid out by
// PagePacker (page_packer.h). Between them, but never before the first or after
// the last, are zeros. Beside it is NAME.idx, with one line "offset size\n" per
// record (tfrecord_index.h), in file order. The file without its padding is a
// TFRecord file with the records of the source file, in the same order if the
// fit is next.
//
// The manifest, `aligned.manifest`. Numbers are little-endian, signed ones in
// two's complement:
//     0  8  magic "SHUFALN\n"
//     8  4  version, 2
//    12  4  bytes of this header, 56
//    16  8  XXH3, 64 bits, of everything from byte 24 to the end
//    24  8  bytes of a page, a power of two
//    32  4  fit: 0 next, 1 best
//    36  4  0
//    40  8  number of files
//    48  8  bytes of all names
//    56     files, by their names (as bytes), 72 bytes each:
//             0  8  bytes of the padded file
//             8  8  bytes without padding, which is the size of the source
//            16  8  records
//            24  8  XXH3, 64 bits, of the lasting identity of the source
//            32  8  number of pages that contain a part of a record, added up
//                   over all records, in the source
//            40  8  the same in the padded file
//            48  8  bytes of NAME.idx
//            56  8  XXH3, 64 bits, of NAME.idx
//            64  4  bytes of the name
//            68  4  0
//           names, without gaps
// While the files are written, it is called `aligned.manifest.part` and has
// those that are finished.
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_MANIFEST_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/records/aligned/page_packer.h"

namespace shufflefs {

inline constexpr char kAlignedManifest[] = "aligned.manifest";
inline constexpr char kAlignedPart[] = "aligned.manifest.part";
inline constexpr char kIndexSuffix[] = ".idx";
// Maximum length of a name in it, because NAME.idx.tmp must be a name too.
inline constexpr size_t kMostAlignedNameBytes = 247;
// A manifest of about 800,000 files.
inline constexpr uint64_t kMostAlignedManifest = uint64_t{256} << 20;

struct AlignedFile {
  std::string name;
  uint64_t padded_bytes = 0;
  uint64_t stripped_bytes = 0;
  uint64_t records = 0;
  uint64_t source_identity = 0;  // core/catalogue/file_identity.h
  uint64_t source_pages = 0;
  uint64_t padded_pages = 0;
  uint64_t idx_bytes = 0;
  uint64_t idx_checksum = 0;

  std::string idx_name() const { return name + kIndexSuffix; }
  bool operator==(const AlignedFile&) const = default;
};

// A plain value. Any thread may call const methods.
class AlignedManifest {
 public:
  AlignedManifest(uint64_t page_bytes, PageFit fit)
      : page_bytes_(page_bytes), fit_(fit) {}

  // Opens the manifest of a directory. Checks the files, but reads none of
  // them. Errors, naming the file: the errno (ENOENT if there is no manifest);
  // FailedPrecondition if it was not finished; InvalidArgument and DataLoss as
  // for Parse; DataLoss if a file has the wrong size.
  static absl::StatusOr<AlignedManifest> Open(const std::string& directory);
  // InvalidArgument if it is no manifest or has another version; DataLoss if it
  // is cut off, damaged or invalid.
  static absl::StatusOr<AlignedManifest> Parse(absl::string_view bytes);
  std::string Serialize() const;

  uint64_t page_bytes() const { return page_bytes_; }
  PageFit fit() const { return fit_; }
  const std::vector<AlignedFile>& files() const { return files_; }
  // Null if there is none of that name.
  const AlignedFile* Find(absl::string_view name) const;
  // REQUIRES: there is none of that name, and the name is valid
  // (IsAlignedName).
  void Add(AlignedFile file);

 private:
  absl::Status AddRows(absl::string_view rows, absl::string_view names);

  uint64_t page_bytes_;
  PageFit fit_;
  std::vector<AlignedFile> files_;  // sorted by name
};

// DataLoss unless the file and its index have the right sizes; the errno.
// Errors name the file.
absl::Status CheckAlignedFile(const std::string& directory,
                              const AlignedFile& file);

// Returns whether a file of that name can be in a manifest.
bool IsAlignedName(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_ALIGNED_MANIFEST_H_
