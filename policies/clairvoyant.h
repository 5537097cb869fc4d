// SPDX-License-Identifier: Apache-2.0
// clairvoyant: the source as it is, and what readers will open read ahead.
//
// Guarantees: as native: every name shows its own sample and directories list
//   in the source's order, in every epoch. So labels in a table, boxes by file
//   name and splits by name stay right, and what is guessed wrongly costs
//   reads that nobody wanted, never a byte.
// Read pattern: the client's own, ahead of it where its order is recognised
//   (core/sampler): a stock PyTorch sampler draws it from a seed, so the
//   first opens of an epoch tell all of it.
// Memory: `memory`, for the samples that were read ahead.
// Use it for a framework that draws names at random from a device where that
//   is slow, over names that may not show other samples; brand is faster on a
//   device that seeks, where they may.
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
