// SPDX-License-Identifier: Apache-2.0
#include "policies/clairvoyant.h"

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
    .suits = SuitsReadAhead,
    .use = "safe for every client, reads ahead of stock PyTorch samplers",
    .not_simulated = "not graded, because your program decides the order",
};

}  // namespace shufflefs
