// SPDX-License-Identifier: Apache-2.0
// Recognises the names of validation and test splits. Splits are never
// shuffled, and nothing crosses their border. Pure functions of names.
#ifndef SHUFFLEFS_CORE_DATASET_SPLITS_H_
#define SHUFFLEFS_CORE_DATASET_SPLITS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

enum class SplitKind {
  kNone,
  kValidation,  // val, valid, validation, dev, eval
  kTest,        // test, testing, t10k, a final .t
};

// The split that one file or directory name denotes. A word counts in upper and
// lower case if no ASCII letter is beside it. Val2017, my-test_set and
// imagenet-val-0001.tar are splits; validated, contest and device are not.
// Bytes beyond ASCII do not count as letters here: if in doubt, a name is a
// split, which only keeps it as it is.
SplitKind SplitOf(absl::string_view component);
inline bool IsSplitName(absl::string_view component) {
  return SplitOf(component) != SplitKind::kNone;
}

// By DirId: the directory is a split or is in one.
std::vector<bool> SplitDirs(const Catalogue& catalogue);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_SPLITS_H_
