// SPDX-License-Identifier: Apache-2.0
// Recognises layouts of datasets that have a name of their own, by the names of
// files and directories.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_KNOWN_LAYOUT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_KNOWN_LAYOUT_H_

#include <string>

#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct KnownLayout {
  std::string name;  // "YOLO", "COCO" or "WebDataset"
  std::string what;  // a sentence's end: where its labels or records are
};

// * YOLO: images in `images`, and text files in `labels` beside it.
// * COCO: annotations in files such as instances_train2017.json.
// * WebDataset: numbered shards such as train-000012.tar.
// Splits count, too. Empty: none of these. Pure.
absl::optional<KnownLayout> FindKnownLayout(const Catalogue& catalogue);

// Files that may hold records but are no containers unless record.as says so.
struct RecordHint {
  std::string rules;  // for record.as
  std::string first;  // path of the first file
  uint64_t files = 0;
};

// Empty unless such files hold most of the bytes outside of splits. Many small
// ones are taken for samples.
absl::optional<RecordHint> FindRecordHint(const Catalogue& catalogue);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_KNOWN_LAYOUT_H_
