// SPDX-License-Identifier: Apache-2.0
#include "policies/lirs.h"

#include "core/policy/permutation_order.h"
#include "policies/page_order.h"

namespace shufflefs {
namespace {

PageOrderKeys KeysOf(const Stratum& stratum, Seed seed, Epoch epoch) {
  const auto key = [&](Purpose purpose) {
    return DeriveKey(seed, epoch, stratum.key, purpose);
  };
  return {.blocks = key(Purpose::kBlockOrder),
          .inside = key(Purpose::kInsideBlock),
          .rotation = key(Purpose::kRotation)};
}

}  // namespace

bool LirsPolicy::wants_blocks() const {
  return options_.lirs_unit == PolicyOptions::Unit::kPage;
}

uint64_t LirsPolicy::block_bytes() const {
  return wants_blocks() ? options_.lirs_page : 0;
}

RecordBlocks LirsPolicy::record_blocks() const {
  return {block_bytes(), std::max<uint64_t>(options_.lirs_batch, 1)};
}

std::unique_ptr<const Order> LirsPolicy::MakeOrder(const Stratum& stratum,
                                                   Seed seed,
                                                   Epoch epoch) const {
  if (wants_blocks()) {
    return std::make_unique<PageOrder>(stratum, options_.lirs_batch,
                                       KeysOf(stratum, seed, epoch));
  }
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kOrder));
}

std::unique_ptr<const Order> LirsPolicy::MakeListing(const Stratum& stratum,
                                                     Seed seed,
                                                     Epoch epoch) const {
  if (wants_blocks()) {
    return std::make_unique<PageListing>(stratum, options_.lirs_batch,
                                         KeysOf(stratum, seed, epoch));
  }
  return std::make_unique<PermutationOrder>(
      stratum.size, DeriveKey(seed, epoch, stratum.key, Purpose::kListing));
}

}  // namespace shufflefs
