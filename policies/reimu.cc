// SPDX-License-Identifier: Apache-2.0
#include "policies/reimu.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policies/auto/gain_estimate.h"
#include "policies/auto/suitability.h"

namespace shufflefs {
namespace {

constexpr PolicyOption kReimuKeys[] = {
    {.key = "reimu.block",
     .default_text = "1MiB",
     .values = "a size from 4KiB to 1GiB",
     .help = "bytes of a container whose records are read together",
     .kind = PolicyOption::Kind::kBytes,
     .initial = uint64_t{1} << 20,
     .min = uint64_t{4} << 10,
     .max = uint64_t{1} << 30,
     .binds = true,
     .place = 11},
    {.key = "reimu.window",
     .default_text = "64",
     .values = "a number of blocks from 1 to 1048576",
     .help = "blocks whose records are mixed together",
     .initial = 64,
     .min = 1,
     .max = uint64_t{1} << 20,
     .binds = true,
     .place = 12},
};

// For the current and next windows of two readers, and one more.
uint64_t MemoryOfBlocks(const DatasetFacts& facts) {
  const RecordBlocks blocks = ReimuBlocks(facts.options);
  return 5 * blocks.window * blocks.bytes;
}

std::vector<PolicyGain> ReimuGains(const DatasetFacts& facts) {
  if (facts.record_files == 0) return {};
  const absl::optional<PolicyGain> gain =
      EstimateBlocks(facts, ReimuBlocks(facts.options).bytes, kUsualReaders);
  return gain ? std::vector<PolicyGain>{*gain} : std::vector<PolicyGain>();
}

absl::optional<Suitability> ReimuSuits(const DatasetFacts& facts) {
  const bool pays =
      IsSlow(facts.device) && facts.record_memory >= MemoryOfBlocks(facts);
  std::string how = absl::StrCat("records come shuffled in blocks of ",
                                 BytesText(ReimuBlocks(facts.options).bytes),
                                 " that are read whole");
  for (const PolicyGain& gain : ReimuGains(facts)) {
    absl::StrAppend(&how, ", expect ", AboutTimes(gain.gain()), " what ",
                    gain.readers, " plain readers get that draw records of ",
                    BytesText(gain.record_bytes), " at random");
  }
  return SuitsRecords(facts, "reimu", pays, how);
}

// Why records of containers stay in place. "" if there are none.
PolicyAdvice ReimuAdvises(const DatasetFacts& facts, bool /*is_faster*/) {
  if (facts.record_files == 0 || FitsInMemory(facts)) return {};
  if (!facts.passes_are_seen) {
    return {.records = "records stay where they are because of open = unseen"};
  }
  if (facts.several_nodes) {
    return {.records =
                "records stay where they are, because another node might "
                "choose otherwise: -o policy=reimu, on all nodes, shuffles "
                "them"};
  }
  if (IsSlow(facts.device) && facts.record_memory < MemoryOfBlocks(facts)) {
    const RecordBlocks blocks = ReimuBlocks(facts.options);
    return {.records = absl::StrCat(
                "not reimu for its records: ", blocks.window, " blocks of ",
                BytesText(blocks.bytes), " need ",
                BytesText(MemoryOfBlocks(facts)), " of memory, there are ",
                BytesText(facts.record_memory))};
  }
  return {.records = "-o policy=reimu shuffles the records of its containers"};
}

}  // namespace

constinit const PolicyEntry kReimuEntry = {
    .name = "reimu",
    .help = "blocks of records at random, mixed in memory",
    .keys = kReimuKeys,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<ReimuPolicy>(ReimuBlocks(options));
    },
    .advice = {.suits = ReimuSuits,
               .advises = ReimuAdvises,
               .gains = ReimuGains,
               .rows_rank =
                   [](const DatasetFacts& facts) {
                     return IsSlow(facts.device) && !FitsInMemory(facts) ? 2
                                                                         : 0;
                   },
               .benched = {.containers = true}},
};

RecordBlocks ReimuBlocks(const PolicyOptions& options) {
  return {options.number(kReimuKeys[0]), options.number(kReimuKeys[1]),
          kReimuKeys[0].key};
}

}  // namespace shufflefs
