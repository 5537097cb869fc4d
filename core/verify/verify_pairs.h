// SPDX-License-Identifier: Apache-2.0
// Proves an epoch that has no plan from the pairs of a name and a sample that
// were recorded when the names were read. Only for core/verify/verify.cc.
// Stateless; never blocks.
#ifndef SHUFFLEFS_CORE_VERIFY_VERIFY_PAIRS_H_
#define SHUFFLEFS_CORE_VERIFY_VERIFY_PAIRS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/dataset.h"
#include "core/ledger/packed_pairs.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// Checks that no name shows two samples, that no sample is shown under two
// names, and that each is shown under a name of its own group. A pair may occur
// several times. DataLoss names the first violations and counts the rest.
// Without a dataset (null) groups are not checked, and numbers replace the
// paths. `repeats`: a sample may be shown under several names. REQUIRES: names
// and samples are below the dataset's samples.
absl::Status ProvePairs(std::vector<NameBinding> pairs, const Dataset* dataset,
                        bool repeats = false);

// The paths of the first sample that an ended epoch did not show, and of the
// first name that was not read in it.
struct LeftOut {
  std::string sample;  // "" if none
  std::string name;    // "" if none
};
LeftOut FirstLeftOut(const PackedPairs& shown, const Dataset& dataset);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VERIFY_VERIFY_PAIRS_H_
