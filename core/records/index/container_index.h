// SPDX-License-Identifier: Apache-2.0
// Finds the records of one container file.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_CONTAINER_INDEX_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_CONTAINER_INDEX_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/catalogue.h"
#include "core/config/record_options.h"
#include "core/formats/record_format.h"
#include "core/records/index/index_companion.h"
#include "core/records/order/shuffled_file.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct IndexRequest {
  std::string path;  // below the source
  FileAttributes expected;
  const RecordFormat* format = nullptr;
  const RecordOptions* options = nullptr;  // outlives the call
  // The file that keeps the index of a format whose records are found by a
  // pass; a saved one that does not fit is replaced. Empty: none.
  FilePlace saved;
  bool wants_head_hash = false;
  // The index beside it, which must be the one of its records.
  absl::optional<IndexCompanion> index;
  // Not null: a padded file, whose records this index tells. Outlives the call.
  const AlignedFile* padded = nullptr;
  // Told of bytes that were read or passed over, now and then; false stops the
  // work. May be empty.
  std::function<bool(uint64_t bytes)> progress;
  // Told why the index could not be saved, which is no error of the call;
  // empty: the log is.
  std::function<void(const absl::Status&)> not_saved;
};

// Reads the header of formats of fixed size, the footer of Parquet and Arrow
// files, the index of padded ones, and others from end to end.
// Blocks for the source. Errors, which do not name the file: FailedPrecondition
// or DataLoss: it is no such container, or not to be shuffled, and why; as
// CheckUnchanged, and what open and read give; Cancelled.
absl::StatusOr<ContainerShape> IndexContainer(const SourceDir& source,
                                              const IndexRequest& request);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_CONTAINER_INDEX_H_
