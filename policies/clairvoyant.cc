// SPDX-License-Identifier: Apache-2.0
#include "policies/clairvoyant.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policies/auto/gain_estimate.h"
#include "policies/auto/suitability.h"

namespace shufflefs {
namespace {

constexpr PolicyOption kClairvoyantKeys[] = {
    {.key = "clairvoyant.seeds",
     .default_text = "none",
     .values =
         "at most 64 whole numbers from 0 to 18446744073709551615, separated "
         "by ;",
     .help = "seeds of the job's samplers, besides common ones",
     .kind = PolicyOption::Kind::kNumbers,
     .max = 64},
    {.key = "clairvoyant.cores",
     .default_text = "1",
     .values = "a whole number from 0 to 1024",
     .help = "idle cores that search all seeds; 0: no search",
     .initial = 1,
     .max = 1024,
     .run_time = false,
     .whole_mount = true},
};

// With fewer files an order is not recognised soon enough to gain from it.
constexpr uint64_t kLeastFiles = 1000;

// Empty if it was not measured.
std::vector<PolicyGain> PrefetchGains(const DatasetFacts& facts) {
  const auto usual = EstimatePrefetch(facts, kUsualReaders);
  const auto many = EstimatePrefetch(facts, kManyReaders);
  return usual && many ? std::vector<PolicyGain>{*usual, *many}
                       : std::vector<PolicyGain>();
}

// Why opens are not predicted, for names that keep their samples on a slow
// source that, as far as is known, is larger than memory. "" if nothing speaks
// against it.
std::string AgainstPrefetch(const DatasetFacts& facts) {
  if (!facts.not_foreseen.empty()) {
    return absl::StrCat("not clairvoyant because of ", facts.not_foreseen);
  }
  if (IsMostlyContainers(facts)) {
    return "clairvoyant is for files, not for records";
  }
  if (facts.files < kLeastFiles) {
    return absl::StrCat("clairvoyant needs at least ", kLeastFiles, " files");
  }
  if (facts.memory_bytes == 0) {
    return "-o policy=clairvoyant reads ahead of a client that draws names at "
           "random";
  }
  const std::vector<PolicyGain> gains = PrefetchGains(facts);
  if (gains.empty() || gains.front().gain() >= kWorthwhileGain) return "";
  return absl::StrCat("clairvoyant would gain too little: ",
                      TimesClause(gains));
}

// Returns whether names keep their samples and a prediction of opens may gain.
bool PrefetchPays(const DatasetFacts& facts) {
  return !(facts.names_may_move && facts.has_validation_split) &&
         facts.memory_bytes > 0 && !FitsInMemory(facts) &&
         IsSlow(facts.device) && AgainstPrefetch(facts).empty();
}

absl::optional<Suitability> ClairvoyantSuits(const DatasetFacts& facts) {
  if (!PrefetchPays(facts)) return absl::nullopt;
  const std::vector<PolicyGain> gains = PrefetchGains(facts);
  return Suitability{
      .rank = kReadAheadRank,
      .why = absl::StrCat("the order of a stock PyTorch sampler is recognised "
                          "from its first opens and read ahead, ",
                          gains.empty()
                              ? "no gain in speed can be promised"
                              : absl::StrCat("expect ", TimesClause(gains))),
      .takes_advice = true};
}

PolicyAdvice ClairvoyantAdvises(const DatasetFacts& facts, bool /*is_faster*/) {
  if (!IsSlow(facts.device) || FitsInMemory(facts) || facts.names_may_move) {
    return {};
  }
  return {.rank = 20, .clause = AgainstPrefetch(facts)};
}

}  // namespace

constinit const PolicyEntry kClairvoyantEntry = {
    .name = "clairvoyant",
    .help = "your program's order, predicted and read ahead (PyTorch)",
    .keys = kClairvoyantKeys,
    .keys_rank = 1,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<ClairvoyantPolicy>(PrefetchFacet{
          .seeds = options.numbers(kClairvoyantKeys[0]),
          .search_cores =
              static_cast<uint32_t>(options.number(kClairvoyantKeys[1]))});
    },
    .advice = {
        .suits = ClairvoyantSuits,
        .advises = ClairvoyantAdvises,
        .gains =
            [](const DatasetFacts& facts) {
              return PrefetchPays(facts) ? PrefetchGains(facts)
                                         : std::vector<PolicyGain>();
            },
        .expects =
            [](const DatasetFacts&) {
              return std::string(
                  "No gain in speed can be promised; clairvoyant reads "
                  "ahead.");
            },
        .use = "safe for every client, reads ahead of stock PyTorch samplers",
        .benched = {.own_programs = true}},
    .not_simulated = "not graded, because your program decides the order",
};

}  // namespace shufflefs
