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
#include "core/records/index/sidecar_index.h"
#include "core/records/order/shuffled_file.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct IndexRequest {
  std::string path;  // relative to the source
  FileAttributes expected;
  const RecordFormat* format = nullptr;
  const RecordOptions* options = nullptr;  // outlives the call
  // The file with the saved index, for formats whose records are found by a
  // pass. A saved index that does not fit is replaced. Empty: none.
  FilePlace saved;
  bool wants_head_hash = false;
  // Its records may be mixed with those of other files. So its names are
  // wanted, if its format has_names().
  bool may_mix = false;
  // The index beside the file, which must match its records.
  absl::optional<SidecarIndex> index;
  // Not null: a padded file, whose index says where its records are. Outlives
  // the call.
  const AlignedFile* padded = nullptr;
  // Called now and then with the number of bytes read or skipped, 0 for those
  // that were counted before. Returning false stops the work. May be empty.
  std::function<bool(uint64_t bytes)> progress;
  // Called with the reason if the index could not be saved, which is no error
  // of the call. Empty: it is logged.
  std::function<void(const absl::Status&)> not_saved;
};

// Why a file of lines is not shuffled by itself.
inline constexpr char kOpenCrLf[] =
    "its lines end in CR LF, but the last line does not end";
// Returns whether the record that comes last would have to give up a CR LF.
// This works only if all lines end so, which is not known.
bool MayLoseHalfAnEnd(const ContainerShape& shape);

// Reads the header of formats of fixed size, the footer of Parquet and Arrow
// files, and the index of padded files. Reads all others from end to end.
// Blocks on the source. Errors do not name the file. FailedPrecondition or
// DataLoss: it is no such container or must not be shuffled, and why. Also
// those of CheckUnchanged, open and read; Cancelled.
absl::StatusOr<ContainerShape> IndexContainer(const SourceDir& source,
                                              const IndexRequest& request);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_CONTAINER_INDEX_H_
