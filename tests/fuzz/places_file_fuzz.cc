// SPDX-License-Identifier: Apache-2.0
// A file of places with any bytes at all: it is refused, or every place in it
// is an address or one of the two words. Every input gets a checksum that
// fits, as an attacker would give it one; the rest of its header says for
// which catalogue it is, so it is taken for that one.
#include <stdint.h>
#include <stdlib.h>

#include <cstring>
#include <string>

#include "core/scan/places_file.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

using testing_support::kCovered;
constexpr size_t kHeader = kCovered + 2 * sizeof(uint64_t);

void Require(bool holds) {
  if (!holds) abort();
}

void Run(std::string bytes) {
  uint64_t identity = 0;
  uint64_t entries = 0;
  if (bytes.size() >= kHeader) {
    std::memcpy(&identity, bytes.data() + kCovered, sizeof identity);
    std::memcpy(&entries, bytes.data() + kCovered + 8, sizeof entries);
    testing_support::SealSeeded(bytes, kHeader);
  }
  const absl::StatusOr<KnownAddresses> places =
      ParsePlaces(bytes, identity, entries);
  if (!places.ok()) return;
  Require(places->by_entry.size() == entries);
  for (const uint64_t place : places->by_entry) {
    Require(place < KnownAddresses::kAddresses ||
            place == KnownAddresses::kNoAddress ||
            place == KnownAddresses::kNotAsked);
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
