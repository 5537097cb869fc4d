// SPDX-License-Identifier: Apache-2.0
// ServedDataset is what the mount shows when the catalogue is ready: the
// catalogue, the reads of source files, and the views.
#ifndef SHUFFLEFS_CORE_ENGINE_SERVED_DATASET_H_
#define SHUFFLEFS_CORE_ENGINE_SERVED_DATASET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/catalogue/catalogue.h"
#include "core/pool/plain_reads.h"
#include "core/source/backing_choice.h"
#include "core/view/opens_seen.h"
#include "core/view/view.h"

namespace shufflefs {

// Immutable, except for its parts, which are thread-safe.
class ServedDataset {
 public:
  ServedDataset(std::shared_ptr<const Catalogue> catalogue,
                std::unique_ptr<PlainReads> plain,
                std::vector<std::unique_ptr<View>> views, OpensSeen opens,
                BackingChoice backing = BackingChoice());

  const Catalogue& catalogue() const { return *catalogue_; }
  const std::shared_ptr<const Catalogue>& shared_catalogue() const {
    return catalogue_;
  }
  // How this mount is to learn of opens.
  const OpensSeen& opens() const { return opens_; }
  // Whether the kernel is to read large files by itself.
  const BackingChoice& backing() const { return backing_; }
  PlainReads& plain() const { return *plain_; }
  const std::vector<std::unique_ptr<View>>& views() const { return views_; }

  // Returns the view that shows a directory's names. If views nest, returns the
  // deepest. Null if the source is shown as it is.
  View* view_of(DirId dir) const;
  // Returns the view with this name, or null.
  View* FindView(absl::string_view name) const;
  // Returns the view at this path below the source, or null.
  const View* ViewAt(absl::string_view path) const;
  // The samples of all views, as View::samples_shown.
  uint64_t samples_shown() const;
  // As View::HolderOf of the first view that has one.
  absl::optional<SharedNames::Holder> HolderOf(EntryId file) const;
  // As View::PrepareReports of each. Errors: FailedPrecondition names a view
  // that needs requests.
  absl::Status PrepareReports() const;
  // Returns the view whose ranked directory is `dir`, or null.
  View* ranked_at(DirId dir) const;

 private:
  const std::shared_ptr<const Catalogue> catalogue_;
  const std::unique_ptr<PlainReads> plain_;
  const std::vector<std::unique_ptr<View>> views_;
  const OpensSeen opens_;
  const BackingChoice backing_;
  std::vector<uint8_t> view_of_dir_;  // by DirId: index + 1, 0 = none
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_SERVED_DATASET_H_
