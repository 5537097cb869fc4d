// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/auto_choice.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

// Whether names could show other samples, and why auto does not use that.
std::string NamesClause(const DatasetFacts& facts, absl::string_view option) {
  if (!facts.names_may_move) return "names keep their own samples";
  std::string clause = absl::StrCat("samples could move inside ", facts.classes,
                                    facts.classes == 1 ? " class" : " classes");
  if (!option.empty()) {
    absl::StrAppend(&clause, " (", option, "), which auto leaves to you");
  }
  if (!facts.has_validation_split) {
    absl::StrAppend(&clause,
                    ": no validation split beside them, so a client may split "
                    "by name");
  }
  return clause;
}

// What the other policies say to the user, behind the reason of `chosen`.
std::vector<std::string> AdviceOfOthers(const DatasetFacts& facts,
                                        const PolicyEntry& chosen,
                                        bool is_faster) {
  std::vector<PolicyAdvice> advice;
  for (const PolicyEntry* entry : Policies()) {
    if (entry == &chosen || entry->advice.advises == nullptr) continue;
    advice.push_back(entry->advice.advises(facts, is_faster));
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const PolicyAdvice& a, const PolicyAdvice& b) {
                     return a.rank > b.rank;
                   });
  std::vector<std::string> clauses;
  std::string moves_names;
  std::string records;
  for (PolicyAdvice& each : advice) {
    if (!each.clause.empty()) clauses.push_back(std::move(each.clause));
    if (moves_names.empty()) moves_names = std::move(each.moves_names);
    if (records.empty()) records = std::move(each.records);
  }
  clauses.push_back(NamesClause(facts, moves_names));
  if (!records.empty()) clauses.push_back(std::move(records));
  return clauses;
}

}  // namespace

AutoChoice ChooseAuto(const DatasetFacts& facts) {
  const PolicyEntry* chosen = nullptr;
  Suitability best;
  for (const PolicyEntry* entry : Policies()) {
    if (entry->advice.suits == nullptr) continue;
    absl::optional<Suitability> suits = entry->advice.suits(facts);
    if (!suits || suits->rank <= best.rank) continue;
    chosen = entry;
    best = *std::move(suits);
  }
  AutoChoice choice{.policy = std::string(chosen->name)};
  if (facts.files == 0) {
    choice.why =
        absl::StrCat("no files: ", chosen->name, ", nothing to shuffle");
    return choice;
  }
  std::vector<std::string> clauses;
  if (!best.why.empty()) clauses.push_back(std::move(best.why));
  if (best.takes_advice) {
    for (std::string& clause : AdviceOfOthers(facts, *chosen, best.is_faster)) {
      clauses.push_back(std::move(clause));
    }
  }
  choice.why = absl::StrCat(Found(facts), ", ", AgainstMemory(facts), "; ",
                            DeviceClause(facts.device), ": ", chosen->name,
                            ", ", absl::StrJoin(clauses, "; "));
  return choice;
}

}  // namespace shufflefs
