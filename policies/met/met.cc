// SPDX-License-Identifier: Apache-2.0
#include "policies/met/met.h"

#include "core/policy/permutation_order.h"
#include "policies/met/met_binder.h"
#include "policies/met/met_plan.h"
#include "policies/met/met_rank_binder.h"

namespace shufflefs {

std::unique_ptr<const Order> MetPolicy::MakeOrder(const Stratum& stratum,
                                                  Seed seed,
                                                  Epoch epoch) const {
  if (stratum.grouping != nullptr) {
    return std::make_unique<MetOrder>(
        options_, MetPlanInput{stratum.grouping, stratum.key, seed}, epoch);
  }
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kOrder));
}

std::unique_ptr<const Order> MetPolicy::MakeListing(const Stratum& stratum,
                                                    Seed seed,
                                                    Epoch epoch) const {
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kListing));
}

std::unique_ptr<Binder> MetPolicy::MakeBinder(const BinderInput& input) const {
  return std::make_unique<MetBinder>(options_, input);
}

RecordRepeats MetPolicy::record_repeats(Epoch epoch) const {
  const MetEpoch of = MetEpochOf(options_, epoch);
  RecordRepeats repeats;
  repeats.pass = of.pass;
  repeats.mini_epochs = options_.met_mini_epochs;
  repeats.factor = of.factor;
  repeats.part = of.part;
  repeats.most_bytes = options_.met_record_bytes;
  return repeats;
}

std::unique_ptr<Binder> MetPolicy::MakeRankBinder(
    const BinderInput& input) const {
  return std::make_unique<MetRankBinder>(options_, input);
}

}  // namespace shufflefs
