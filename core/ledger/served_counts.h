// SPDX-License-Identifier: Apache-2.0
// How often each sample was shown, as text for the ledger: the smallest of all
// counts, and the difference of each to it, in as many bits as the largest
// needs. Counts of met differ by at most a repeating factor: about 3 bits per
// sample.
#ifndef SHUFFLEFS_CORE_LEDGER_SERVED_COUNTS_H_
#define SHUFFLEFS_CORE_LEDGER_SERVED_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

std::string PackCounts(const std::vector<uint32_t>& counts);
// Errors: DataLoss if it is no such text for `samples` samples. If all counts
// are equal, the text takes a few bytes, so its number of samples is not
// trusted.
absl::StatusOr<std::vector<uint32_t>> UnpackCounts(absl::string_view text,
                                                   uint64_t samples);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_SERVED_COUNTS_H_
