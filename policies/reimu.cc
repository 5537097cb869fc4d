// SPDX-License-Identifier: Apache-2.0
#include "policies/reimu.h"

#include <cstdint>

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

}  // namespace

constinit const PolicyEntry kReimuEntry = {
    .name = "reimu",
    .help = "blocks of records at random, mixed in memory",
    .keys = kReimuKeys,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<ReimuPolicy>(ReimuBlocks(options));
    },
    .suits =
        [](const DatasetFacts& facts) { return SuitsRecords(facts, "reimu"); },
};

RecordBlocks ReimuBlocks(const PolicyOptions& options) {
  return {options.number(kReimuKeys[0]), options.number(kReimuKeys[1])};
}

}  // namespace shufflefs
