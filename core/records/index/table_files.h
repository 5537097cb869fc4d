// SPDX-License-Identifier: Apache-2.0
// Recognises directories of columnar files that are one table with its own
// metadata (Delta Lake, Iceberg, Hudi, or summaries of Dask and Spark). That
// metadata may refer to rows by their positions in the files: which are
// deleted, where a row group is.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_TABLE_FILES_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_TABLE_FILES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

// Not thread-safe.
class TableFiles {
 public:
  // The catalogue outlives this object.
  explicit TableFiles(const Catalogue& catalogue) : catalogue_(catalogue) {}

  // Why the files of a directory belong to a table, from the contents of this
  // directory or one above it, as a clause that names it. "" if they do not.
  std::string WhyOf(DirId dir);

 private:
  // From the contents of the directory itself.
  std::string Sign(DirId dir) const;
  bool IsIceberg(DirId metadata) const;

  const Catalogue& catalogue_;
  absl::flat_hash_map<DirId, std::string> known_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_TABLE_FILES_H_
