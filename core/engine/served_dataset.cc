// SPDX-License-Identifier: Apache-2.0
#include "core/engine/served_dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shufflefs {

ServedDataset::ServedDataset(std::shared_ptr<const Catalogue> catalogue,
                             std::unique_ptr<PlainReads> plain,
                             std::vector<std::unique_ptr<View>> views,
                             OpensSeen opens, BackingChoice backing)
    : catalogue_(std::move(catalogue)),
      plain_(std::move(plain)),
      views_(std::move(views)),
      opens_(std::move(opens)),
      backing_(std::move(backing)),
      view_of_dir_(catalogue_->dir_count(), 0) {
  // Every parent comes before its children. So one pass hands a view down its
  // subtree, and a deeper view takes over at its root.
  for (uint32_t d = 0; d < catalogue_->dir_count(); ++d) {
    view_of_dir_[d] = view_of_dir_[catalogue_->parent(DirId(d)).value()];
    for (size_t v = 0; v < views_.size(); ++v) {
      if (views_[v]->setup()->dataset->root() == DirId(d)) {
        view_of_dir_[d] = static_cast<uint8_t>(v + 1);
      }
    }
  }
}

View* ServedDataset::view_of(DirId dir) const {
  const uint8_t view = view_of_dir_[dir.value()];
  return view == 0 ? nullptr : views_[view - 1].get();
}

absl::optional<SharedNames::Holder> ServedDataset::HolderOf(
    EntryId file) const {
  for (const std::unique_ptr<View>& view : views_) {
    if (auto holder = view->HolderOf(file)) return holder;
  }
  return absl::nullopt;
}

absl::Status ServedDataset::PrepareReports() const {
  for (const std::unique_ptr<View>& view : views_) {
    if (view->PrepareReports()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "view ", view->name(), " has a policy that needs an answer to each"));
  }
  return absl::OkStatus();
}

View* ServedDataset::FindView(absl::string_view name) const {
  for (const std::unique_ptr<View>& view : views_) {
    if (view->name() == name) return view.get();
  }
  return nullptr;
}

const View* ServedDataset::ViewAt(absl::string_view path) const {
  for (const std::unique_ptr<View>& view : views_) {
    if (view->setup()->config.path == path) return view.get();
  }
  return nullptr;
}

uint64_t ServedDataset::samples_shown() const {
  uint64_t shown = 0;
  for (const std::unique_ptr<View>& view : views_) {
    shown += view->samples_shown();
  }
  return shown;
}

View* ServedDataset::ranked_at(DirId dir) const {
  View* view = view_of(dir);
  if (view == nullptr) return nullptr;
  const std::shared_ptr<const ViewSetup> setup = view->setup();
  const bool at_root = setup->dataset->root() == dir;
  return at_root && setup->config.layout == Layout::kRanked ? view : nullptr;
}

}  // namespace shufflefs
