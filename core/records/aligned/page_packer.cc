// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/page_packer.h"

#include <iterator>

#include "core/base/status.h"

namespace shufflefs {

PagePacker::Pages::iterator PagePacker::FindPage(uint64_t bytes) {
  if (fit_ == PageFit::kNext) {
    // At most one page is open.
    const bool fits = !open_.empty() && open_.begin()->second.room >= bytes;
    return fits ? open_.begin() : open_.end();
  }
  const auto found = by_room_.lower_bound({bytes, 0});
  return found == by_room_.end() ? open_.end() : open_.find(found->second);
}

absl::Status PagePacker::Add(absl::string_view record) {
  auto page = FindPage(record.size());
  if (page == open_.end()) {
    if (fit_ == PageFit::kNext && !open_.empty()) {
      RETURN_IF_ERROR(Close(open_.begin()));
    }
    page = open_.emplace_hint(open_.end(), begun_++, Page());
    const uint64_t over = record.size() % page_bytes_;
    // The rest of the record's last page.
    page->second.room = record.size() + (over == 0 ? 0 : page_bytes_ - over);
  } else {
    by_room_.erase({page->second.room, page->first});
  }
  page->second.data.append(record.data(), record.size());
  page->second.sizes.push_back(record.size());
  page->second.room -= record.size();
  held_bytes_ += record.size();
  by_room_.emplace(page->second.room, page->first);
  if (page->second.room == 0) RETURN_IF_ERROR(Close(page));
  while (open_.size() > 1 &&
         (open_.size() > kOpenPages || held_bytes_ > kOpenBytes)) {
    RETURN_IF_ERROR(Close(open_.begin()));
  }
  return absl::OkStatus();
}

absl::Status PagePacker::Close(Pages::iterator page) {
  const Page closed = std::move(page->second);
  by_room_.erase({closed.room, page->first});
  open_.erase(page);
  held_bytes_ -= closed.data.size();
  uint64_t at = 0;
  const uint64_t over = end_ % page_bytes_;
  const uint64_t begin = end_ + (over == 0 ? 0 : page_bytes_ - over);
  for (const uint64_t bytes : closed.sizes) {
    RETURN_IF_ERROR(
        out_.Put(begin + at, absl::string_view(closed.data).substr(at, bytes)));
    at += bytes;
  }
  end_ = begin + at;
  return absl::OkStatus();
}

absl::Status PagePacker::Finish() {
  while (!open_.empty()) RETURN_IF_ERROR(Close(open_.begin()));
  return absl::OkStatus();
}

}  // namespace shufflefs
