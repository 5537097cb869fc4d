// SPDX-License-Identifier: Apache-2.0
// How long reads take on a modelled device that nothing else holds up: the most
// that a benchmark on it could reach. Nothing is read and nobody waits.
#ifndef SHUFFLEFS_TESTS_BENCH_TESTBED_SIMULATED_READS_H_
#define SHUFFLEFS_TESTS_BENCH_TESTBED_SIMULATED_READS_H_

#include <cstddef>

#include "absl/types/span.h"
#include "tests/bench/testbed/device_model.h"

namespace shufflefs {

// Returns when the last of `reads` is answered if the first comes at 0. At each
// moment `depth` reads wait or are in service, as long as there are so many:
// each answer brings the next. Their arrivals are ignored. REQUIRES: depth > 0,
// and the model served nothing yet.
Nanos TimeOfReads(DeviceModel& model, absl::Span<const DeviceRequest> reads,
                  size_t depth);

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_BENCH_TESTBED_SIMULATED_READS_H_
