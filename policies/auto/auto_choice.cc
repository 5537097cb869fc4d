// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/auto_choice.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "policies/auto/suitability.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

std::string Found(const DatasetFacts& facts) {
  return absl::StrCat(
      facts.layout.empty() ? "" : absl::StrCat(facts.layout, "; "), facts.files,
      facts.files == 1 ? " file, " : " files, ", BytesText(facts.bytes));
}

std::string AgainstMemory(const DatasetFacts& facts) {
  if (facts.memory_bytes == 0) return "the size of memory is not known";
  return absl::StrCat(
      FitsInMemory(facts) ? "fits in memory (" : "larger than memory (",
      BytesText(facts.memory_bytes), ")");
}

std::string DeviceClause(DeviceKind device) {
  switch (device) {
    case DeviceKind::kMemory:
      return "source is in memory";
    case DeviceKind::kFlash:
      return "source is on flash, where random reads are fast";
    case DeviceKind::kSeekBound:
      return "source seeks at each random read";
    case DeviceKind::kLatencyBound:
      return "source has a high latency for each read";
    case DeviceKind::kUnknown:
      break;
  }
  return "device not recognised";
}

}  // namespace

AutoChoice ChooseAuto(const DatasetFacts& facts) {
  if (facts.files == 0) {
    return {.policy = "native", .why = "no files: native, nothing to shuffle"};
  }
  const PolicyEntry* chosen = nullptr;
  Suitability best;
  for (const PolicyEntry* entry : Policies()) {
    if (entry->suits == nullptr) continue;
    absl::optional<Suitability> suits = entry->suits(facts);
    if (!suits || suits->rank <= best.rank) continue;
    chosen = entry;
    best = *std::move(suits);
  }
  return {.policy = std::string(chosen->name),
          .why = absl::StrCat(Found(facts), ", ", AgainstMemory(facts), "; ",
                              DeviceClause(facts.device), ": ", chosen->name,
                              ", ", best.why)};
}

}  // namespace shufflefs
