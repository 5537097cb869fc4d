// SPDX-License-Identifier: Apache-2.0
// The tail of a part of the performance tier, with any bytes at all: it is
// refused, or what it says is safe to use. It gets a checksum that fits, as an
// attacker would give it one; what passes comes back the same when it is
// written, but for bytes that mean nothing.
#include <stdint.h>
#include <stdlib.h>
#include <xxhash.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "core/staging/tier/tier_part.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

void Try(std::string tail, uint64_t data_bytes) {
  if (tail.size() >= sizeof(uint64_t)) {
    const uint64_t sum =
        XXH3_64bits(tail.data(), tail.size() - sizeof(uint64_t));
    std::memcpy(tail.data() + tail.size() - sizeof sum, &sum, sizeof sum);
  }
  const auto table = ParseTierTail(tail, data_bytes + tail.size());
  if (!table.ok()) return;
  uint64_t end = 0;
  uint64_t checks = 0;
  std::set<std::pair<EntryId, uint64_t>> beginnings;
  for (const auto& [range, offset] : table->ranges) {
    Require(offset >= end && offset < data_bytes);
    Require(range.length > 0 && range.length <= data_bytes - offset);
    Require(range.from % kTierPage == 0 && range.end() > range.from);
    Require(beginnings.emplace(range.file, range.from).second);
    end = offset + range.length;
    checks += TierChecksOf(range.length);
  }
  Require(checks == table->checks.size());
  const std::string again = SerializeTierTail(*table, data_bytes);
  const auto same = ParseTierTail(again, data_bytes + again.size());
  Require(same.ok() && same->checks == table->checks &&
          same->ranges.size() == table->ranges.size());
  for (size_t i = 0; i < same->ranges.size(); ++i) {
    Require(same->ranges[i].range == table->ranges[i].range &&
            same->ranges[i].offset == table->ranges[i].offset);
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shufflefs;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // As if the ranges took what the footer says, or a few pages.
  if (size >= kTierFooterBytes) {
    uint64_t claimed = 0;
    std::memcpy(&claimed, data + size - kTierFooterBytes, sizeof claimed);
    if (claimed < (uint64_t{1} << 62)) Try(bytes, claimed);
  }
  Try(bytes, 4 * kTierPage);
  (void)ParseTierName(bytes);
  return 0;
}
