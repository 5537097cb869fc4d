// SPDX-License-Identifier: Apache-2.0
// MetShares counts how often each sample was shown, and says how often it is to
// be shown until met.epochs are over: its share.
//
// Over an average of met.epochs draws per sample, each sample of a group is
// shown met.epochs times. If a sample is shown beyond its share, or if an epoch
// did not ask for a name, another sample of the group gives way: it comes once
// less. Each does so at most once in met.epochs; otherwise the last mini-epoch
// would lack them all. If no sample is left that could, as late in the last
// pass, or because of what the last epoch omits, samples may come twice less.
//
// If met.epochs is one, or not set, nothing is owed: after Restart each sample
// comes once, however often it was shown before.
#ifndef SHUFFLEFS_POLICIES_MET_MET_SHARES_H_
#define SHUFFLEFS_POLICIES_MET_MET_SHARES_H_

#include <cstdint>
#include <vector>

#include "core/dataset/grouping.h"
#include "core/random/random.h"

namespace shufflefs {

// Not thread-safe. Memory: 4 bytes and a bit per sample, 8 per group. Another 4
// bytes per sample if met.epochs is one.
class MetShares {
 public:
  // `grouping` outlives this object. `cycle`: met.epochs, or 1.
  MetShares(const Grouping& grouping, uint64_t cycle);

  // Starts anew, with random bits of `key`. `served` says how often each sample
  // was shown before.
  void Restart(RandomKey key, std::vector<uint32_t> served);

  // How often a sample is still to be shown.
  uint64_t Left(uint32_t group, uint32_t sample) const;
  // A sample is shown in its turn. REQUIRES: it has something left.
  void Count(uint32_t sample) { ++served_[sample]; }
  // Serve: a sample is shown out of turn. TakeBack: one was counted and then
  // not shown.
  void Serve(uint32_t sample);
  void TakeBack(uint32_t sample);
  // An epoch did not ask for `names` names of the group.
  void Skip(uint32_t group, uint64_t names);
  // The group begins another met.epochs. Returns the samples that have
  // something left of the last, each as often as that.
  std::vector<uint32_t> Raise(uint32_t group);

  const std::vector<uint32_t>& served() const { return served_; }

 private:
  // Lets a sample of the group give way. It must have something left, and must
  // not have given way in these met.epochs. Returns false if there is none.
  bool GiveWay(uint32_t group);
  bool MayGiveWay(uint32_t group, uint32_t sample) const;
  // Gives way for samples that came more often than their share before Restart.
  void GiveWayForServed(uint32_t group);
  void ForgetDebts(uint32_t group);

  // Constant after construction.
  const Grouping& grouping_;
  const uint64_t cycle_;

  std::vector<uint32_t> served_;  // by sample
  // By sample: how often it was shown less than others, and is not owed. Empty
  // if met.epochs is more than one.
  std::vector<uint32_t> excused_;
  std::vector<uint64_t> target_;  // by group: each sample must reach this
  std::vector<bool> gave_way_;    // by sample: comes once less than that
  std::vector<bool> all_gave_;    // by group: no sample is left that could
  Rng giving_{RandomKey{0}};      // draws who gives way
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_SHARES_H_
