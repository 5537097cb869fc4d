// SPDX-License-Identifier: Apache-2.0
// Directories of columnar files that are one table, kept by metadata of its
// own (Delta Lake, Iceberg, Hudi, or summaries of Dask and Spark). That
// metadata may speak of rows by their places in the files: which are deleted,
// where a row group is.
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
  // The catalogue outlives this.
  explicit TableFiles(const Catalogue& catalogue) : catalogue_(catalogue) {}

  // Why the files of a directory belong to a table, by what lies in it or in
  // one above it: a clause that names it. "" if they do not.
  std::string WhyOf(DirId dir);

 private:
  // Of what lies in the directory itself.
  std::string Sign(DirId dir) const;
  bool IsIceberg(DirId metadata) const;

  const Catalogue& catalogue_;
  absl::flat_hash_map<DirId, std::string> known_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_TABLE_FILES_H_
