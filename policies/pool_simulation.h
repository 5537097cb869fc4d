// SPDX-License-Identifier: Apache-2.0
// A reader, a pool and a device that are only numbers, around a real binder:
// what a reactive policy would load, hit and miss, and in which order it would
// show the samples. For `shufflectl simulate`, and for tests.
//
// A single reader opens every name once an epoch, in a random order, and reads
// what it shows through. What is fetched is there at once, so memory is always
// as full as the binder asks for: as with a job that computes longer than its
// data takes to read.
#ifndef SHUFFLEFS_POLICIES_POOL_SIMULATION_H_
#define SHUFFLEFS_POLICIES_POOL_SIMULATION_H_

#include <cstdint>
#include <vector>

#include "core/supply/binder.h"

namespace shufflefs {

struct SimulatedEpoch {
  BinderCounts counts;  // of this epoch alone
  uint64_t bypass = 0;  // samples that were read alone
  uint64_t peak_bytes = 0;
  // What was read, in that order, and the names that were opened for it.
  std::vector<uint64_t> samples;
  std::vector<uint64_t> names;
};

// Not thread-safe.
class PoolSimulation {
 public:
  // `input` is what the binder was made from; both outlive the simulation.
  PoolSimulation(const BinderInput& input, Binder& binder)
      : input_(input), binder_(binder), held_(input.bytes.size()) {}

  // Deterministic. Some 0.3 us a sample.
  SimulatedEpoch Run(Seed seed, Epoch epoch);

 private:
  uint64_t Room() const { return input_.memory_bytes - held_bytes_; }
  bool Fetch(const std::vector<SampleId>& samples);
  void Leave(SampleId sample);
  // True if that was a bypass.
  bool Read(SampleId sample);

  const BinderInput& input_;
  Binder& binder_;
  std::vector<bool> held_;  // by sample
  uint64_t held_bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_POOL_SIMULATION_H_
