// SPDX-License-Identifier: Apache-2.0
// clairvoyant: leaves the source as it is, and prefetches what readers will
// open.
//
// Guarantees: as native. Every name shows its own sample, and directories list
//   in the source's order, in every epoch. So labels in a table, boxes by file
//   name and splits by name stay right. A wrong prediction costs useless reads,
//   never a wrong byte.
// Read pattern: the client's own. If its order is recognised (core/sampler),
//   reads run ahead of it. A stock PyTorch sampler draws the order from a seed,
//   so the first opens of an epoch reveal all of it.
// Memory: `memory`, for the prefetched samples.
//
// Use it for a framework that draws names at random from a device where that is
// slow, over names that may not show other samples. If they may, brand is
// faster on a device that seeks.
#ifndef SHUFFLEFS_POLICIES_CLAIRVOYANT_H_
#define SHUFFLEFS_POLICIES_CLAIRVOYANT_H_

#include <utility>

#include "policies/native.h"

namespace shufflefs {

extern const PolicyEntry kClairvoyantEntry;

class ClairvoyantPolicy : public NativePolicy {
 public:
  explicit ClairvoyantPolicy(PrefetchFacet prefetch)
      : prefetch_(std::move(prefetch)) {}

  absl::string_view name() const override { return "clairvoyant"; }
  const PrefetchFacet* prefetch() const override { return &prefetch_; }

 private:
  const PrefetchFacet prefetch_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_CLAIRVOYANT_H_
