// SPDX-License-Identifier: Apache-2.0
// What the mount shows once the catalogue is ready: the catalogue, what reads
// the files of the source, and the views over them.
#ifndef SHUFFLEFS_CORE_ENGINE_SERVED_DATASET_H_
#define SHUFFLEFS_CORE_ENGINE_SERVED_DATASET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"
#include "core/pool/plain_reads.h"
#include "core/view/view.h"

namespace shufflefs {

// Immutable but for its parts, which are thread-safe.
class ServedDataset {
 public:
  ServedDataset(std::shared_ptr<const Catalogue> catalogue,
                std::unique_ptr<PlainReads> plain,
                std::vector<std::unique_ptr<View>> views, bool sees_opens);

  const Catalogue& catalogue() const { return *catalogue_; }
  const std::shared_ptr<const Catalogue>& shared_catalogue() const {
    return catalogue_;
  }
  // Whether OPEN requests are answered, and so seen, on this mount.
  bool sees_opens() const { return sees_opens_; }
  PlainReads& plain() const { return *plain_; }
  const std::vector<std::unique_ptr<View>>& views() const { return views_; }

  // The view that shows a directory's names; the deepest one where views
  // nest; null where the source is shown as it is.
  View* view_of(DirId dir) const;
  // The view with that name, or null.
  View* FindView(absl::string_view name) const;
  // The view whose ranked directory `dir` is, or null.
  View* ranked_at(DirId dir) const;

 private:
  const std::shared_ptr<const Catalogue> catalogue_;
  const std::unique_ptr<PlainReads> plain_;
  const std::vector<std::unique_ptr<View>> views_;
  const bool sees_opens_;
  std::vector<uint8_t> view_of_dir_;  // by DirId: index + 1, 0 = none
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_SERVED_DATASET_H_
