// SPDX-License-Identifier: Apache-2.0
// How often each sample was shown, as text for the ledger: the least of all
// counts, and what each has more, in as many bits as the largest needs. Counts
// of met differ by a repeating factor at most: some 3 bits a sample.
#ifndef SHUFFLEFS_CORE_LEDGER_SERVED_COUNTS_H_
#define SHUFFLEFS_CORE_LEDGER_SERVED_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

std::string PackCounts(const std::vector<uint32_t>& counts);
// Errors: DataLoss where it is no such text, of so many samples. Where all are
// alike the text takes a few bytes, so it is not believed how many they are.
absl::StatusOr<std::vector<uint32_t>> UnpackCounts(absl::string_view text,
                                                   uint64_t samples);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_LEDGER_SERVED_COUNTS_H_
