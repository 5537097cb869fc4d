// SPDX-License-Identifier: Apache-2.0
// window: a baseline. It is the shuffle queue of an input pipeline (tf.data's
// Dataset.shuffle(buffer_size), after the TensorFlow input pipeline that the
// LIRS paper, arXiv:1810.04509, compares itself with). Use it only for
// comparison: it shows what a bounded queue over a sorted source does.
//
// Guarantees: the source's path order goes through a queue of W samples
//   (window.samples). Each step supplies a uniformly drawn sample of the queue
//   and refills its place. A sample never comes more than W-1 positions early.
//   It may come late without bound. W >= number of samples is a full shuffle,
//   W = 1 the source's order in every epoch.
// Read pattern: the source's order, within W samples. Memory: 8 bytes per
// sample per order (16 from 2^32 samples), because no
//   formula gives a queue's state. The first lookup runs the whole epoch, about
//   10 ns per sample. Making an order is O(1), a lookup one table access.
// Listing: a rotation by a random number of samples.
//
// Bit for bit: the queue starts with samples 0 … min(W, n)-1. At each position
// d = Rng(key).Bounded(queue length) is drawn and queue[d] is supplied. The
// next sample of the source takes its place, or, after the last, the queue's
// last element.
#ifndef SHUFFLEFS_POLICIES_WINDOW_H_
#define SHUFFLEFS_POLICIES_WINDOW_H_

#include <cstdint>
#include <memory>

#include "core/policy/policy_entry.h"

namespace shufflefs {

extern const PolicyEntry kWindowEntry;

class WindowPolicy : public Policy {
 public:
  // REQUIRES: samples > 0.
  explicit WindowPolicy(uint64_t samples) : window_(samples) {}

  absl::string_view name() const override { return "window"; }
  Consumption consumption() const override { return Consumption::kPlanned; }
  bool shuffles_records() const override { return true; }
  std::unique_ptr<const Order> MakeOrder(const Stratum& stratum, Seed seed,
                                         Epoch epoch) const override;
  std::unique_ptr<const Order> MakeListing(const Stratum& stratum, Seed seed,
                                           Epoch epoch) const override;

 private:
  const uint64_t window_;  // samples, >= 1
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_WINDOW_H_
