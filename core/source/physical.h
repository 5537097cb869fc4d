// SPDX-License-Identifier: Apache-2.0
// Device addresses of files. Reading in this order moves a disk's head least
// and fills flash pages best.
#ifndef SHUFFLEFS_CORE_SOURCE_PHYSICAL_H_
#define SHUFFLEFS_CORE_SOURCE_PHYSICAL_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Answers of the file system from before, so that it is not asked again.
struct KnownAddresses {
  // The file has no address.
  static constexpr uint64_t kNoAddress = ~uint64_t{0};
  // The file system was not asked, or too early.
  static constexpr uint64_t kNotAsked = ~uint64_t{0} - 1;
  // All addresses are below.
  static constexpr uint64_t kAddresses = uint64_t{1} << 56;
  std::vector<uint64_t> by_entry;  // for a catalogue, by EntryId
};

struct PhysicalOptions {
  int threads = 0;  // 0 = two per core, at least 8
  // Treats the file system as if it could not tell. For tests and comparison.
  bool inode_order = false;
  // If not null, holds one value per entry of the catalogue. Known addresses
  // are not asked for; new ones are stored here.
  KnownAddresses* known = nullptr;
  std::stop_token stop;
};

struct DeviceLayout {
  // In bytes, by index in the span. Only compare and divide them. Files of
  // different devices are 2^56 bytes or more apart.
  std::vector<uint64_t> addresses;
  uint64_t mapped = 0;  // number of physical addresses
  uint64_t asked = 0;   // files that the file system was asked about
  std::string how;      // one clause: the method, and for how many files
};

// The physical address of each file's first extent, by FIEMAP. Ignores an
// extent whose location is unknown or means nothing (not yet allocated,
// compressed or encrypted, inside the inode). Files without an address follow
// those of their device in inode order, as if they were stored one after the
// other, each from a multiple of 4 KiB. The same holds for all files of a
// device whose file system cannot tell (tmpfs, NFS).
//
// Opens each file once. This takes a few microseconds per file if inodes are
// cached, else a seek per file. Call it off the reader's path. Errors:
// Cancelled. REQUIRES: entries are regular files of the catalogue.
absl::StatusOr<DeviceLayout> DeviceAddresses(const SourceDir& source,
                                             const Catalogue& catalogue,
                                             absl::Span<const EntryId> entries,
                                             const PhysicalOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_PHYSICAL_H_
