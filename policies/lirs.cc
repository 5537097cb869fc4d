// SPDX-License-Identifier: Apache-2.0
#include "policies/lirs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policies/auto/suitability.h"
#include "policies/page_order.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kLirsUnits[] = {"instance", "page"};
constexpr PolicyOption kLirsKeys[] = {
    {.key = "lirs.unit",
     .default_text = "instance",
     .values = "instance or page",
     .help = "unit that lirs permutes: samples, or pages of the device",
     .kind = PolicyOption::Kind::kWord,
     .words = kLirsUnits,
     .binds = true,
     .place = 2},
    {.key = "lirs.page",
     .default_text = "4KiB",
     .values = "a power of two from 4KiB to 16MiB",
     .help = "bytes of the device that lirs.unit=page reads together",
     .kind = PolicyOption::Kind::kBytes,
     .initial = uint64_t{4} << 10,
     .min = uint64_t{4} << 10,
     .max = uint64_t{16} << 20,
     .power_of_two = true,
     .binds = true,
     .place = 3},
    {.key = "lirs.batch",
     .default_text = "0",
     .values = "a whole number of pages from 0 to 1099511627776",
     .help = "pages whose samples are mixed together; 0: one page",
     .max = uint64_t{1} << 40,
     .binds = true,
     .place = 4},
};

PageOrderKeys KeysOf(const Stratum& stratum, Seed seed, Epoch epoch) {
  const auto key = [&](Purpose purpose) {
    return DeriveKey(seed, epoch, stratum.key, purpose);
  };
  return {.blocks = key(Purpose::kBlockOrder),
          .inside = key(Purpose::kInsideBlock),
          .rotation = key(Purpose::kRotation)};
}

absl::optional<Suitability> LirsSuits(const DatasetFacts& facts) {
  return SuitsRecords(
      facts, "lirs", facts.device == DeviceKind::kFlash,
      "a full shuffle of the records of each file, by a random read each");
}

PolicyAdvice LirsAdvises(const DatasetFacts& facts, bool is_faster) {
  PolicyAdvice advice{.rank = 30,
                      .moves_names = "-o policy=lirs,substitute=directory"};
  if (is_faster || facts.device == DeviceKind::kMemory || FitsInMemory(facts)) {
    return advice;
  }
  advice.clause = IsSlow(facts.device)
                      ? "readers in name order gain by "
                        "-o policy=lirs,lirs.unit=page,layout=ranked"
                      : "-o policy=lirs,layout=ranked gives readers in name "
                        "order a full shuffle";
  return advice;
}

std::vector<PolicySuggestion> LirsSuggests(const DatasetFacts& facts) {
  if (IsMostlyContainers(facts)) {
    return {
        {.options = "policy=lirs",
         .when = "for a full shuffle of the records inside each container"}};
  }
  const std::string lirs = !FitsInMemory(facts) && IsSlow(facts.device)
                               ? "policy=lirs,lirs.unit=page"
                               : "policy=lirs";
  std::vector<PolicySuggestion> suggestions = {
      {.options = absl::StrCat(lirs, ",layout=ranked"),
       .when =
           "for readers that take names in sorted order and do not shuffle"}};
  if (facts.names_may_move) {
    suggestions.push_back(
        {.options = lirs,
         .when = facts.has_validation_split
                     ? "for readers that take the label from the directory"
                     : "the same, if the job does not split by name: there is "
                       "no validation split beside these classes"});
  }
  return suggestions;
}

}  // namespace

constinit const PolicyEntry kLirsEntry = {
    .name = "lirs",
    .help = "full random shuffle of samples, or of pages of the device",
    .keys = kLirsKeys,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<LirsPolicy>(LirsOptions::Of(options));
    },
    .advice = {.suits = LirsSuits,
               .advises = LirsAdvises,
               .suggests = LirsSuggests,
               .rows_rank = [](const DatasetFacts&) { return 1; },
               .benched = {.containers = true, .classes = true}},
};

LirsOptions LirsOptions::Of(const PolicyOptions& options) {
  return {.unit = options.word<Unit>(kLirsKeys[0]),
          .page = options.number(kLirsKeys[1]),
          .batch = options.number(kLirsKeys[2])};
}

bool LirsPolicy::wants_blocks() const {
  return options_.unit == LirsOptions::Unit::kPage;
}

uint64_t LirsPolicy::block_bytes() const {
  return wants_blocks() ? options_.page : 0;
}

RecordBlocks LirsPolicy::record_blocks() const {
  return {block_bytes(), std::max<uint64_t>(options_.batch, 1),
          kLirsKeys[1].key};
}

std::unique_ptr<const Order> LirsPolicy::MakeOrder(const Stratum& stratum,
                                                   Seed seed,
                                                   Epoch epoch) const {
  if (wants_blocks()) {
    return std::make_unique<PageOrder>(stratum, options_.batch,
                                       KeysOf(stratum, seed, epoch));
  }
  return Policy::MakeOrder(stratum, seed, epoch);
}

std::unique_ptr<const Order> LirsPolicy::MakeListing(const Stratum& stratum,
                                                     Seed seed,
                                                     Epoch epoch) const {
  if (wants_blocks()) {
    return std::make_unique<PageListing>(stratum, options_.batch,
                                         KeysOf(stratum, seed, epoch));
  }
  return Policy::MakeListing(stratum, seed, epoch);
}

}  // namespace shufflefs
