// SPDX-License-Identifier: Apache-2.0
// The index beside a TFRecord file (tfrecord_index.h), as it is read while the
// file is indexed. It is compared with the records found, or says where those
// of a padded file are (aligned_manifest.h).
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_SIDECAR_INDEX_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_SIDECAR_INDEX_H_

#include <array>
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

struct SidecarIndex {
  std::string path;  // relative to the source
  FileAttributes expected;
  // Called now and then. Returning false stops the work. May be empty.
  std::function<bool()> goes_on;
};

// Splits the text of an index into its lines, piece by piece. Not thread-safe.
class TfrecordIndexLines {
 public:
  using Take = std::function<absl::Status(const TfrecordSpan&)>;

  // Takes the next piece of the text. Errors: InvalidArgument, which names the
  // line, for a malformed one, and one of more than 256 bytes; of the first,
  // more than 1 MiB. Those of `take`. After an error nothing is
  // called again.
  absl::Status Feed(absl::string_view text, const Take& take);
  // The text has ended. Its last line may lack a line end.
  absl::Status Finish(const Take& take);

 private:
  absl::Status Lines(absl::string_view text, const Take& take);

  std::string held_;  // the beginning of a line
  uint64_t taken_ = 0;
};

// Computes how to write the index of these records so that its size is the same
// in every order. It is the size of the source's (`source_bytes`) if that
// suffices.
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

// Compares the lines of an index with a table, which it reads in large steps.
class IndexComparison {
 public:
  // The table outlives it.
  explicit IndexComparison(const RecordTable& table) : table_(table) {}

  // Takes the next line. Returns whether it is that of the next record.
  bool Take(const TfrecordSpan& span);
  // Returns whether there was a line for each record.
  bool all() const { return next_ == table_.count(); }
  const IndexLinesOf& lines() const { return lines_; }

 private:
  void Fill();

  const RecordTable& table_;
  IndexLinesOf lines_;
  std::array<uint64_t, 1025> begins_ = {};
  uint64_t next_ = 0;
  uint64_t first_ = 0;  // of begins_
  uint64_t held_ = 0;   // records in it
};

// Takes a few KiB of memory. Blocks on the source. Errors do not name the file.
// FailedPrecondition unless it is the index of all of these records, in file
// order. Also those of CheckUnchanged, open and read; Cancelled. REQUIRES:
// there are records.
absl::StatusOr<IndexLines> CheckSidecarIndex(const SourceDir& source,
                                             const SidecarIndex& sidecar,
                                             const RecordTable& records);

// The shape of a padded file from its index. Of the file itself, which `fd`
// reads, only some of the padding is read: bytes there would be lost. Errors as
// above, and DataLoss unless the index is the written one and agrees with
// `file`, and that padding is zeros.
absl::StatusOr<ContainerShape> ReadPaddedRecords(const SourceDir& source,
                                                 int fd,
                                                 const SidecarIndex& sidecar,
                                                 const AlignedFile& file);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_SIDECAR_INDEX_H_
