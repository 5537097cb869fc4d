// SPDX-License-Identifier: Apache-2.0
// Proves an epoch whose binding no plan gives: from the pairs of a name and a
// sample that were recorded when the names were read. For core/verify/verify.cc.
// Stateless; blocks on nothing.
#ifndef SHUFFLEFS_CORE_VERIFY_VERIFY_PAIRS_H_
#define SHUFFLEFS_CORE_VERIFY_VERIFY_PAIRS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/dataset.h"
#include "core/ledger/packed_pairs.h"
#include "core/policy/carried.h"

namespace shufflefs {

// Whether no name shows two samples, no sample is shown under two names, and
// each is shown under a name of its own group. A pair may come several times.
// DataLoss names the first that are not so, and counts the rest. Without a
// dataset (null) groups are not looked at, and numbers stand for the paths.
// `repeats`: a sample may be shown under several names.
// REQUIRES: names and samples are below the dataset's samples.
absl::Status ProvePairs(std::vector<CarriedPair> pairs, const Dataset* dataset,
                        bool repeats = false);

// What an epoch that has ended left out, and the path of the first: samples
// that were not shown, and names that were not read.
struct LeftOut {
  std::string sample;  // "" if none
  std::string name;    // "" if none
};
LeftOut FirstLeftOut(const PackedPairs& shown, const Dataset& dataset);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_VERIFY_PAIRS_H_
