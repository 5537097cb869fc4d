// SPDX-License-Identifier: Apache-2.0
// The index of a TFRecord file that lies beside it (tfrecord_index.h), as it is
// read while the file is indexed: it is compared with the records that were
// found, or tells where those of a padded file lie (aligned_manifest.h).
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_COMPANION_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_COMPANION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"
#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/records/aligned/aligned_manifest.h"
#include "core/records/order/family_table.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct IndexCompanion {
  std::string path;  // below the source
  FileAttributes expected;
  // Asked now and then; false ends the work. May be empty.
  std::function<bool()> goes_on;
};

// Cuts the text of an index into its lines, piece by piece. Not thread-safe.
class TfrecordIndexLines {
 public:
  using Take = std::function<absl::Status(const TfrecordSpan&)>;

  // The next piece of the text. InvalidArgument, naming the line, for one that
  // is none; the errors of `take`. Nothing is called again after one.
  absl::Status Feed(absl::string_view text, const Take& take);
  // The text is over: its last line may lack an end.
  absl::Status Finish(const Take& take);

 private:
  absl::Status Lines(absl::string_view text, const Take& take);

  std::string held_;  // the begin of a line
  uint64_t taken_ = 0;
};

// How the index of these records is to be written so that its size is the same
// in every order, and that of the source's (`source_bytes`) where this is
// enough.
class IndexLinesOf {
 public:
  void Add(uint64_t bytes);
  // REQUIRES: there are records.
  IndexLines Finish(uint64_t source_bytes) const;

 private:
  uint64_t count_ = 0;
  uint64_t all_ = 0;
  uint64_t largest_ = 0;
  uint64_t smallest_ = ~uint64_t{0};
};

// Holds some KiB. Blocks for the source. Errors, which do not name the file:
// FailedPrecondition unless it is the index of all of these records, in the
// order of the file; as CheckUnchanged, and what open and read give; Cancelled.
// REQUIRES: there are records.
absl::StatusOr<IndexLines> CheckIndexCompanion(const SourceDir& source,
                                               const IndexCompanion& companion,
                                               const RecordTable& records);

// The shape of a padded file by its index; the file itself is not read. As
// above, and DataLoss unless the index is the one that was written, and says
// what `file` does.
absl::StatusOr<ContainerShape> ReadPaddedRecords(
    const SourceDir& source, const IndexCompanion& companion,
    const AlignedFile& file);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_INDEX_COMPANION_H_
