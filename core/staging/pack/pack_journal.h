// SPDX-License-Identifier: Apache-2.0
// The journal of a pack that is being written. It records which chunks are
// finished, and the checksums of their files. With it the next run continues
// wherever this run was interrupted.
//
// The file is an AppendLog. Its header names the dataset and the composition.
// Then there is one record per chunk, sealed with its place in bytes. Bytes
// after the last whole record are unfinished and are ignored.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACK_JOURNAL_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACK_JOURNAL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace shufflefs {

inline constexpr char kPackJournal[] = "manifest.part";

// A pack can be continued only if all of these are equal.
struct PackIdentity {
  uint64_t fingerprint = 0;  // of the dataset
  uint64_t state = 0;        // and of its exact files
  uint64_t seed = 0;
  uint64_t chunk_size = 0;
  uint64_t composition = 0;  // PackLayout::composition

  friend bool operator==(const PackIdentity&, const PackIdentity&) = default;
};

struct PackJournal {
  struct Finished {
    uint32_t chunk = 0;
    std::vector<uint64_t> checks;  // of its files, in their order
  };
  PackIdentity identity;
  std::vector<Finished> finished;  // in the order of the records
  uint64_t words = 0;              // of the file, up to the last whole record
};

std::vector<uint64_t> JournalHeader(const PackIdentity& identity);
// `at`: number of words before this record in the file.
std::vector<uint64_t> JournalRecord(uint32_t chunk,
                                    absl::Span<const uint64_t> checks,
                                    uint64_t at);

// Errors: InvalidArgument if it is no journal or has another version, or if its
// header is damaged.
absl::StatusOr<PackJournal> ParseJournal(absl::string_view bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACK_JOURNAL_H_
