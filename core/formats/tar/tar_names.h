// SPDX-License-Identifier: Apache-2.0
// Whether the members of a tar archive may come in another order, as far as
// their names say.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_TAR_NAMES_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_TAR_NAMES_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/formats/tar/tar_header.h"

namespace shufflefs {

// The keys of the records of one archive, and the names of its files without
// a key: each comes once, or another order could join two records, or change
// which of two files is the one that stays where they are unpacked. Holds the
// hash of each, 64 bits: two with the same are taken for one. An archive of more
// than `most` of them is not understood: to tell them apart takes 10 to 20 bytes
// of memory each. Not thread-safe.
class TarNames {
 public:
  // What fits into a table of 300 MiB. A record takes 512 bytes at least, so
  // an archive of more has 15 GB.
  static constexpr uint64_t kMost = uint64_t{7} << 22;
  explicit TarNames(uint64_t most = kMost) : most_(most) {}

  // FailedPrecondition for a name or a size that readers take differently.
  static absl::Status Check(const TarHeader& member);

  // FailedPrecondition if the key of a new record, or the name of a file
  // without a key, was there before, or leaves its directory, or if it is one
  // too many.
  absl::Status RememberKey(absl::string_view key);
  absl::Status RememberName(absl::string_view name);

 private:
  // Whether it is new.
  absl::Status Insert(absl::string_view name, bool is_key);

  const uint64_t most_;
  absl::flat_hash_set<uint64_t> seen_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_TAR_NAMES_H_
