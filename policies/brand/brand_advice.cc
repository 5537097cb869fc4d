// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/brand_advice.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "policies/auto/gain_estimate.h"
#include "policies/auto/suitability.h"
#include "policies/brand/brand.h"

namespace shufflefs {
namespace {

// Empty if it cannot be estimated.
std::vector<PolicyGain> ChunkGains(const DatasetFacts& facts) {
  const PoolFacet pool = BrandOptions::Of(facts.options).pool;
  std::vector<PolicyGain> gains;
  for (const int readers : {kUsualReaders, kManyReaders}) {
    const auto gain = EstimateChunks(facts, pool, readers);
    if (gain) gains.push_back(*gain);
  }
  return gains;
}

bool BrandIsSafe(const DatasetFacts& facts) {
  return facts.names_may_move && facts.has_validation_split &&
         facts.held_back.empty();
}

bool IsWorthwhile(const std::vector<PolicyGain>& gains) {
  return !gains.empty() && gains.front().gain() >= kWorthwhileGain;
}

// Why brand is not chosen on a slow source that is larger than memory, and what
// the user could ask for.
std::string AgainstBrand(const DatasetFacts& facts) {
  if (!facts.held_back.empty()) {
    return absl::StrCat("not brand because of ", facts.held_back);
  }
  const std::vector<PolicyGain> gains = ChunkGains(facts);
  if (gains.empty()) {
    return "what brand would gain could not be measured (-o policy=brand)";
  }
  if (!IsWorthwhile(gains)) {
    return absl::StrCat("brand would gain too little with ",
                        BytesText(facts.pool_bytes),
                        " of memory: ", TimesClause(gains));
  }
  return absl::StrCat("-o policy=brand may give ", TimesClause(gains),
                      ", if the job does not split by name");
}

}  // namespace

absl::optional<Suitability> BrandSuits(const DatasetFacts& facts) {
  if (!BrandIsSafe(facts)) return absl::nullopt;
  const std::vector<PolicyGain> gains = ChunkGains(facts);
  if (facts.memory_bytes > 0 && !FitsInMemory(facts) && IsWorthwhile(gains)) {
    return Suitability{
        .rank = kOnDemandRank,
        .why = absl::StrCat("expect ", TimesClause(gains),
                            "; names show samples of their class, of ",
                            facts.classes,
                            ", with a validation split of its own beside "
                            "them")};
  }
  if (facts.under_way != "brand") return absl::nullopt;
  return Suitability{.rank = kOnDemandRank, .why = kNotFinished};
}

PolicyAdvice BrandAdvises(const DatasetFacts& facts, bool /*is_faster*/) {
  if (!IsSlow(facts.device) || FitsInMemory(facts) || !facts.names_may_move) {
    return {};
  }
  return {.rank = 40, .clause = AgainstBrand(facts)};
}

std::vector<PolicyGain> BrandGains(const DatasetFacts& facts) {
  return facts.names_may_move ? ChunkGains(facts) : std::vector<PolicyGain>();
}

std::vector<PolicySuggestion> BrandSuggests(const DatasetFacts& facts) {
  if (FitsInMemory(facts) || !IsWorthwhile(BrandGains(facts))) return {};
  return {{.rank = 40,
           .options = "policy=brand",
           .when = "for clients that draw files at random, if the job does not "
                   "split by name: there is no validation split beside these "
                   "classes"}};
}

}  // namespace shufflefs
