// SPDX-License-Identifier: Apache-2.0
// When a modelled device would have answered a request. Pure arithmetic on
// times that the caller gives: no clock, no thread, no I/O.
//
// Times are nanoseconds since any one moment; lengths and offsets are bytes.
// Random parts (rotation, jitter) come from the project's generator with a
// fixed key, so a sequence of requests always has the same times. Not
// thread-safe.
#ifndef SHUFFLEFS_TESTS_BENCH_TESTBED_DEVICE_MODEL_H_
#define SHUFFLEFS_TESTS_BENCH_TESTBED_DEVICE_MODEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/random/random.h"

namespace shufflefs {

using Nanos = std::chrono::nanoseconds;

struct DeviceRequest {
  uint64_t offset = 0;
  uint64_t length = 0;
  Nanos arrival{0};
};

// What a model did so far.
struct DeviceCounts {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  uint64_t seeks = 0;  // requests for which a head moved; 0 without heads
  Nanos busy{0};       // time spent seeking or transferring
};

class DeviceModel {
 public:
  virtual ~DeviceModel() = default;

  // How many requests are in service at once (>= 1).
  virtual size_t servers() const = 0;

  // Which of `waiting`, in the order of their arrival and not empty, a server
  // that is free at `now` takes.
  virtual size_t Choose(absl::Span<const DeviceRequest> waiting,
                        Nanos now) const = 0;

  // Takes the request into service at `now` and returns when it is answered.
  Nanos Serve(const DeviceRequest& request, Nanos now);

  const DeviceCounts& counts() const { return counts_; }

 protected:
  virtual Nanos AnswerAt(const DeviceRequest& request, Nanos now) = 0;

  // The time that `bytes` take at `bytes_per_second`.
  static Nanos Transfer(uint64_t bytes, double bytes_per_second);
  // Uniform over [0, limit).
  Nanos Random(Nanos limit);

  DeviceCounts counts_;

 private:
  Rng rng_{RandomKey(1)};
};

// One head: a request costs a seek, a wait for the rotation and the transfer.
// Of the waiting ones the nearest is served first, as drives with a command
// queue do (which also know the rotation; this model does not).
struct DiskOptions {
  uint64_t bytes = 0;           // size of the device, > 0
  double bytes_per_second = 0;  // of a sequential read, > 0
  Nanos seek_min{0};            // to the next track
  Nanos seek_max{0};            // over the whole device
  Nanos rotation{0};            // one turn; the wait is uniform over it
  uint64_t read_through = 0;    // a gap ahead up to this may be read instead
  size_t queue = 1;             // of so many waiting requests it chooses
  Nanos patience = std::chrono::milliseconds(200);  // none waits longer
};

class DiskModel : public DeviceModel {
 public:
  explicit DiskModel(const DiskOptions& options) : options_(options) {}

  size_t servers() const override { return 1; }
  size_t Choose(absl::Span<const DeviceRequest> waiting,
                Nanos now) const override;

  // The mean cost of a seek over `distance` bytes without the rotation: grows
  // with its square root, as a head that accelerates half of the way.
  Nanos SeekTime(uint64_t distance) const;

 private:
  Nanos AnswerAt(const DeviceRequest& request, Nanos now) override;
  Nanos MoveTo(uint64_t offset);

  const DiskOptions options_;
  uint64_t head_ = 0;
  Nanos free_at_{0};
};

// Storage behind a network: each request waits for a latency that others do
// not feel, and all share the bandwidth of one link.
struct NetworkOptions {
  double bytes_per_second = 0;  // of the link, > 0
  Nanos latency{0};
  Nanos jitter{0};      // added to it, uniform over [0, jitter)
  size_t parallel = 1;  // requests in service at once
};

class NetworkModel : public DeviceModel {
 public:
  explicit NetworkModel(const NetworkOptions& options) : options_(options) {}

  size_t servers() const override { return options_.parallel; }
  size_t Choose(absl::Span<const DeviceRequest> waiting,
                Nanos now) const override;

 private:
  Nanos AnswerAt(const DeviceRequest& request, Nanos now) override;

  const NetworkOptions options_;
  Nanos link_free_at_{0};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_BENCH_TESTBED_DEVICE_MODEL_H_
