// SPDX-License-Identifier: Apache-2.0
// static: a baseline. It is the cache that the Brand paper compares itself
// with: memory is filled once with what is read first, and nothing in it is
// ever replaced (MinIO of Mohan, Phanishayee, Raniwala, Chidambaram, "Analyzing
// and mitigating data stalls in DNN training", VLDB 2021: CoorDL). Use it only
// for comparison.
//
// Guarantees: as native. Every name shows its own sample, and directories list
//   in the source's order, in every epoch.
// Read pattern: the client's own. From the second epoch on, samples in memory
//   are not read again.
// Memory: `memory`, for the samples that it keeps.
#ifndef SHUFFLEFS_POLICIES_STATIC_POLICY_H_
#define SHUFFLEFS_POLICIES_STATIC_POLICY_H_

#include <memory>

#include "policies/brand/keep_binder.h"
#include "policies/native.h"

namespace shufflefs {

extern const PolicyEntry kStaticEntry;

class StaticPolicy : public NativePolicy {
 public:
  absl::string_view name() const override { return "static"; }
  // Single files, in the order in which they are first read.
  const PoolFacet* pool() const override { return &pool_; }
  std::unique_ptr<Binder> MakeBinder(const BinderInput& input) const override {
    return std::make_unique<KeepBinder>(input);
  }

 private:
  const PoolFacet pool_ = {};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_STATIC_POLICY_H_
