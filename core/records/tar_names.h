// SPDX-License-Identifier: Apache-2.0
// Whether the members of a tar archive may come in another order, as far as
// their names say.
#ifndef SHUFFLEFS_CORE_RECORDS_TAR_NAMES_H_
#define SHUFFLEFS_CORE_RECORDS_TAR_NAMES_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/records/tar_header.h"

namespace shufflefs {

// The keys of the records of one archive, and the names of its files without
// a key: each comes once, or another order could join two records, or change
// which of two files is the one that stays where they are unpacked. Holds the
// hash of each, 64 bits: two with the same are taken for one. Not thread-safe.
class TarNames {
 public:
  // FailedPrecondition for a name or a size that readers take differently.
  static absl::Status Check(const TarHeader& member);

  // FailedPrecondition if the key of a new record, or the name of a file
  // without a key, was there before, or leaves its directory.
  absl::Status RememberKey(absl::string_view key);
  absl::Status RememberName(absl::string_view name);

 private:
  // Whether it is new.
  absl::Status Insert(absl::string_view name, bool is_key);

  absl::flat_hash_set<uint64_t> seen_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_TAR_NAMES_H_
