// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/suitability.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shufflefs {
namespace {

// Returns whether most of it is containers whose records may be shuffled.
bool RecordsMayMove(const DatasetFacts& facts) {
  return IsMostlyContainers(facts) && facts.passes_are_seen &&
         !facts.several_nodes;
}

}  // namespace

std::string BytesText(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB",
                                                 "PiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

bool FitsInMemory(const DatasetFacts& facts) {
  return facts.memory_bytes > 0 && facts.bytes <= facts.memory_bytes;
}

bool IsSlow(DeviceKind device) {
  return device == DeviceKind::kSeekBound ||
         device == DeviceKind::kLatencyBound;
}

bool IsMostlyContainers(const DatasetFacts& facts) {
  return facts.record_files > 0 && facts.record_bytes > facts.bytes / 2;
}

absl::optional<Suitability> SuitsRecords(const DatasetFacts& facts,
                                         absl::string_view policy, bool pays,
                                         absl::string_view how) {
  if (!RecordsMayMove(facts)) return absl::nullopt;
  if (pays && facts.memory_bytes > 0 &&
      facts.record_bytes > facts.memory_bytes) {
    return Suitability{
        .rank = kRecordsRank,
        .why =
            absl::StrCat(how, "; ", facts.record_files,
                         facts.record_files == 1 ? " container" : " containers",
                         ", whose records carry their labels")};
  }
  if (facts.under_way != policy) return absl::nullopt;
  return Suitability{.rank = kRecordsUnderWayRank, .why = kNotFinished};
}

}  // namespace shufflefs
