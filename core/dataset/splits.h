// SPDX-License-Identifier: Apache-2.0
// Which names belong to a validation or test split. These are never shuffled,
// and nothing crosses their border. Pure functions of names.
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

// Of one file or directory name. A word counts in any case where no ASCII
// letter stands beside it: Val2017, my-test_set and imagenet-val-0001.tar are
// splits, validated, contest and device are not. Bytes beyond ASCII are no
// letters here: in doubt a name is a split, which only keeps it as it is.
SplitKind SplitOf(absl::string_view component);
inline bool IsSplitName(absl::string_view component) {
  return SplitOf(component) != SplitKind::kNone;
}

// Whether any component of a path relative to the source is a split.
bool IsSplitPath(absl::string_view path);

// By DirId: whether the directory is in a split or is one.
std::vector<bool> SplitDirs(const Catalogue& catalogue);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_SPLITS_H_
