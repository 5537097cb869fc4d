// SPDX-License-Identifier: Apache-2.0
// SeamMemory says how much memory it takes to read each block of a container
// once per epoch, although records cross from one block into the next.
//
// If blocks come at random, at most half of all borders between two blocks have
// a piece in memory, and a piece is half a record. So blocks of B bytes with
// records of R bytes keep at most R / 4B of the file. What is not kept is read
// again, in whole pages.
#ifndef SHUFFLEFS_CORE_RECORDS_EPOCH_SEAM_MEMORY_H_
#define SHUFFLEFS_CORE_RECORDS_EPOCH_SEAM_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "core/formats/record_table.h"
#include "core/policy/policy.h"
#include "core/records/containers/container_set.h"

namespace shufflefs {

struct SeamMemory {
  std::string path;  // of the container that takes the most; "": of a table
  RecordBlocks blocks;
  uint64_t record_bytes = 0;  // the mean
  double kept_share = 0;      // of the container's bytes, at most at a time
  uint64_t needed_bytes = 0;  // of memory, for that share
  uint64_t guarantee = 0;     // bytes of memory
  uint64_t room_bytes = 0;    // of these, for pieces of their mean size
  // How often the container is read in an epoch, estimated from some borders.
  // Neighbours that are on their way at the same time, and gaps that are read
  // through, count, too.
  double times_read = 1;
  // The least guaranteed memory that keeps all pieces, and the smallest larger
  // blocks with which the container is read about once. 0: there are none, or
  // they would save little.
  uint64_t enough_guarantee = 0;
  uint64_t enough_block = 0;

  bool reads_again() const { return times_read > kOnce; }
  // More is worth a warning.
  static constexpr double kOnce = 1.05;
};

// For a container whose records the table has, and a RecordProducer with so
// much guaranteed memory. Empty: the policy has no blocks, the container is
// read as a whole, or hardly anything would be read again even if nothing were
// kept.
absl::optional<SeamMemory> SeamMemoryOf(const RecordTable& table,
                                        const RecordBlocks& blocks,
                                        uint64_t guarantee);

// The same for the container that takes the most memory. Ignores columnar ones,
// and those whose order is not their own. Visits all containers, and some 2,000
// records.
absl::optional<SeamMemory> SeamMemoryOf(const ContainerSet& containers,
                                        const Catalogue& catalogue,
                                        const RecordBlocks& blocks,
                                        uint64_t guarantee);

// The rule and its figures, in one line.
std::string SeamLine(const SeamMemory& seams);
// What to do if much is read again; "" otherwise. `memory` is the value of the
// key `memory` that guarantees seams.enough_guarantee.
std::string SeamWarning(const SeamMemory& seams, uint64_t memory);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_EPOCH_SEAM_MEMORY_H_
