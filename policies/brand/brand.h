// SPDX-License-Identifier: Apache-2.0
// BrandPolicy is the policy `brand`. It reads whole chunks into memory. A
// reader that asks for a name gets a sample of the name's group that is in
// memory. After Li, Shi, Zhao, Zhou, Hua, Qian, "Brand: Managing Training Data
// with Batched Random Access", arXiv:2505.16280 (2025).
//
// Guarantees: within an epoch names and samples of a group are one to one. A
//   reader that draws names at random sees an order that is random too.
//   Which sample a name shows depends on what is in memory when the reader
//   asks, so an epoch is not reproducible; the ledger is its record.
// Read pattern: chunks of up to brand.chunk_files files in random order, each
// read
//   once per epoch. If memory cannot hold something of every group, also single
//   samples.
// Containers beside the class folders: as under reimu (policies/reimu.h).
// Binding: policies/brand/group_binder.h (any sample of the group), or the
//   paper's own protocol, policies/brand/location_binder.h.
// If the order must be known in advance (ranked names, epochs by path): an
//   independent uniform-looking permutation per epoch, as lirs by instance.
// Listing: a permutation.
#ifndef SHUFFLEFS_POLICIES_BRAND_BRAND_H_
#define SHUFFLEFS_POLICIES_BRAND_BRAND_H_

#include <memory>
#include <utility>

#include "core/policy/policy_entry.h"

namespace shufflefs {

extern const PolicyEntry kBrandEntry;

struct BrandOptions {
  enum class Binding { kGroup, kLocation };
  Binding binding = Binding::kGroup;
  double locality = 0;
  PoolFacet pool = {.chunk_files = 64, .packed_key = "brand.packed"};
  RecordBlocks blocks;

  static BrandOptions Of(const PolicyOptions& options);
};

class BrandPolicy : public Policy {
 public:
  explicit BrandPolicy(BrandOptions options) : options_(std::move(options)) {}

  absl::string_view name() const override { return "brand"; }
  Consumption consumption() const override { return Consumption::kReactive; }
  std::unique_ptr<Binder> MakeBinder(const BinderInput& input) const override;
  absl::string_view instead_on_nodes() const override {
    return shares_names() ? "lirs"
                          : "lirs, or with peers brand without brand.packed,";
  }
  bool shares_names() const override { return options_.pool.packed.empty(); }
  double locality() const override { return options_.locality; }
  const PoolFacet* pool() const override { return &options_.pool; }
  bool shuffles_records() const override {
    return options_.binding == BrandOptions::Binding::kGroup;
  }
  RecordBlocks record_blocks() const override { return options_.blocks; }

 private:
  const BrandOptions options_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_BRAND_H_
