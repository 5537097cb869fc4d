// SPDX-License-Identifier: Apache-2.0
// Where files lie on the device: the order in which reading them moves the
// head, or fills a flash page, least.
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

// What a file system said of files before, so that it is not asked again.
struct KnownPlaces {
  static constexpr uint64_t kNoAddress = ~uint64_t{0};     // it has none
  static constexpr uint64_t kNotAsked = ~uint64_t{0} - 1;  // or asked too early
  static constexpr uint64_t kAddresses = uint64_t{1} << 56;  // all are below
  std::vector<uint64_t> by_entry;  // of a catalogue, by EntryId
};

struct PhysicalOptions {
  int threads = 0;  // 0 = two a core, at least 8
  // As if the file system could not tell; for tests and for comparison.
  bool inode_order = false;
  // Not null: holds one value for each entry of the catalogue. What is known
  // there is not asked; what is asked is put there.
  KnownPlaces* known = nullptr;
  std::stop_token stop;
};

struct DeviceLayout {
  // By index in the span: bytes. Compare and divide them, nothing else. Files
  // of different devices are 2^56 bytes or more apart.
  std::vector<uint64_t> addresses;
  uint64_t mapped = 0;  // how many are physical addresses
  uint64_t asked = 0;   // of how many files the file system was asked
  std::string how;      // one clause: which way was used, and for how many
};

// The physical address of each file's first extent, by FIEMAP. An extent whose
// place is not known or means nothing (unknown, not yet allocated, compressed
// or encrypted, inside the inode) is not trusted. Files without an address
// follow behind the others of their device in inode order, as if they lay
// there one after the other, each from a multiple of 4 KiB; so does a whole
// device whose file system cannot tell (tmpfs, NFS).
//
// Opens each file once: some microseconds each when inodes are cached, a seek
// each when they are not; call it off the reader's path. Errors: Cancelled.
// REQUIRES: entries are regular files of the catalogue.
absl::StatusOr<DeviceLayout> DeviceAddresses(const SourceDir& source,
                                             const Catalogue& catalogue,
                                             absl::Span<const EntryId> entries,
                                             const PhysicalOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_PHYSICAL_H_
