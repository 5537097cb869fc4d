// SPDX-License-Identifier: Apache-2.0
// Simulates a reader, a pool and a device in numbers, around a real binder. It
// shows what a reactive policy would load, hit and miss, and in which order it
// would show the samples. For `shufflectl simulate`, and for tests.
//
// A single reader opens every name once per epoch, in a random order, and reads
// the whole sample that it shows. Fetched samples may arrive at once. Then
// memory is always as full as the binder wants, as with a job that computes
// longer than its data takes to read. Or they arrive one by one, in the order
// of the requests, as from a device that the reader may have to wait for.
#ifndef SHUFFLEFS_POLICIES_AUTO_POOL_SIMULATION_H_
#define SHUFFLEFS_POLICIES_AUTO_POOL_SIMULATION_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "core/policy/binder.h"

namespace shufflefs {

struct SimulatedEpoch {
  BinderCounts counts;  // of this epoch only
  uint64_t bypass = 0;  // samples that were read alone
  uint64_t peak_bytes = 0;
  // How long the reader waited. The unit is the time to read a sample.
  double waited = 0;
  // The samples in the order in which they were read, and the names that were
  // opened for them.
  std::vector<uint64_t> samples;
  std::vector<uint64_t> names;
};

// Not thread-safe.
class PoolSimulation {
 public:
  // `input` is what the binder was made from. Both outlive the simulation.
  // `speed`: samples that arrive while the reader reads one; 0 = all at once.
  PoolSimulation(const BinderInput& input, Binder& binder, double speed = 0)
      : input_(input),
        binder_(binder),
        speed_(speed),
        where_(input.bytes.size(), Where::kOut) {}

  // Deterministic. Takes about 0.3 us per sample.
  SimulatedEpoch Run(Seed seed, Epoch epoch);

  // A part of Run, after the binder's BeginEpoch: the reader opens and reads
  // `name`. `result` counts it, but for SimulatedEpoch::counts.
  void Show(SampleId name, SimulatedEpoch& result) {
    Read(Open(name, result), result);
  }
  // The two parts of Show. The sample that `name` shows; it may be read later.
  SampleId Open(SampleId name, SimulatedEpoch& result);
  void Read(SampleId sample, SimulatedEpoch& result);
  // As Binder::IsReady, once memory is as full as it can be.
  bool IsReady(SampleId name) {
    Fill();
    return binder_.IsReady(name);
  }
  // Read from the device so far, in all epochs.
  uint64_t read_bytes() const { return read_bytes_; }

 private:
  enum class Where : uint8_t { kOut, kComing, kHere };

  Where& WhereIs(SampleId sample) { return where_[sample.value()]; }
  uint64_t Room() const { return input_.memory_bytes - held_bytes_; }
  // Fetches everything that should be fetched now.
  void Fill();
  bool Fetch(const std::vector<SampleId>& samples);
  // The first sample on its way arrives.
  void Arrive();
  // The device's work while the reader reads a sample.
  void Work();
  void Leave(SampleId sample);
  // Waits until `sample` is in memory.
  double WaitFor(SampleId sample);
  // Returns true if the read was a bypass.
  bool ReadIsBypass(SampleId sample, SimulatedEpoch& epoch);

  const BinderInput& input_;
  Binder& binder_;
  const double speed_;
  std::vector<Where> where_;  // by sample
  std::deque<SampleId> coming_;
  uint64_t coming_bytes_ = 0;
  double done_ = 0;  // done part of the first sample on its way
  uint64_t held_bytes_ = 0;
  uint64_t read_bytes_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_POOL_SIMULATION_H_
