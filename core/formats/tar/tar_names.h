// SPDX-License-Identifier: Apache-2.0
// Checks by their names whether the members of a tar archive may be reordered.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_TAR_NAMES_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_TAR_NAMES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/formats/record_scanner.h"
#include "core/formats/tar/tar_header.h"

namespace shufflefs {

// TarNames holds the keys of an archive's records, and the names of its files
// without a key. Each must occur once. Otherwise another order could join two
// records, or change which of two files remains after unpacking. It stores
// 64-bit hashes; two names with the same hash count as equal. An archive of
// more than `most` names is refused, because each takes 10 to 20 bytes of
// memory.
//
// The same holds for archives whose records are mixed, so the hashes can be
// taken out and compared with those of others. Files before the first record
// are left out. They stay in place, and only archives with the same bytes there
// are mixed. Files behind the last record stay in place, too, so two archives
// may have the same ones. Their names must not be those of files that move.
// Not thread-safe.
class TarNames {
 public:
  // Fits into a table of 300 MiB. A record takes at least 512 bytes, so a
  // larger archive has 15 GB.
  static constexpr uint64_t kMost = uint64_t{7} << 22;
  explicit TarNames(uint64_t most = kMost) : most_(most) {}

  // FailedPrecondition for a name or a size on which readers disagree.
  static absl::Status Check(const TarHeader& member);

  // FailedPrecondition if the key of a new record, or the name of a file
  // without a key, occurred before, leaves its directory, or is one too many.
  absl::Status RememberKey(absl::string_view key);
  absl::Status RememberName(absl::string_view name);

  // What was remembered until now stays in front of all records.
  void EndHead();
  // What was remembered until now is part of a record, so it moves.
  void EndRecord() { behind_.clear(); }
  // The hashes of all names behind the head. Those that were remembered since
  // EndRecord stay. There are none afterwards.
  NameHashes Take();

 private:
  // Returns whether the name is new.
  absl::Status Insert(absl::string_view name, bool is_key);

  const uint64_t most_;
  absl::flat_hash_set<uint64_t> head_;  // together at most most_
  absl::flat_hash_set<uint64_t> seen_;
  std::vector<uint64_t> behind_;  // of seen_: names since the last record
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_TAR_NAMES_H_
