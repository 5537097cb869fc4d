// SPDX-License-Identifier: Apache-2.0
// Lays records out so that none lies across a boundary between pages, but for
// those that are larger than a page: such a record begins with a page, and what
// is left of its last page is filled like any other. A state machine without
// I/O.
#ifndef SHUFFLEFS_CORE_RECORDS_ALIGNED_PAGE_PACKER_H_
#define SHUFFLEFS_CORE_RECORDS_ALIGNED_PAGE_PACKER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// How a page is found for a record. The numbers are on disk.
enum class PageFit : uint32_t {
  // The page that was begun last, or else a new one: the order stays.
  kNext = 0,
  // Of the pages that are open (at most PagePacker::kOpenPages, and with all
  // their data at most kOpenBytes, but one at least) the one with the least
  // room that is enough, or else a new one. Records move: a record may come
  // before others that were added before it, never by more than what the open
  // pages hold.
  kBest = 1,
};

// Takes records where they are to lie, by increasing offsets; what lies
// between one's end and the next one's offset is padding.
class PlacedRecords {
 public:
  virtual ~PlacedRecords() = default;
  virtual absl::Status Put(uint64_t offset, absl::string_view record) = 0;
};

// One thread at a time. Errors are those of `out`; after one nothing is called
// again.
class PagePacker {
 public:
  static constexpr size_t kOpenPages = 256;
  static constexpr uint64_t kOpenBytes = uint64_t{64} << 20;

  // `out` outlives the packer. REQUIRES: page_bytes > 0.
  PagePacker(uint64_t page_bytes, PageFit fit, PlacedRecords& out)
      : page_bytes_(page_bytes), fit_(fit), out_(out) {}

  // REQUIRES: record is not empty.
  absl::Status Add(absl::string_view record);
  // Puts what is still held.
  absl::Status Finish();

 private:
  struct Page {  // or the pages of one record, and what follows it there
    std::string data;
    std::vector<uint64_t> sizes;
    uint64_t room = 0;
  };
  using Pages = std::map<uint64_t, Page>;  // by age, the oldest first

  Pages::iterator FindPage(uint64_t bytes);
  absl::Status Close(Pages::iterator page);

  // Constant after construction.
  const uint64_t page_bytes_;
  const PageFit fit_;
  PlacedRecords& out_;

  Pages open_;
  std::set<std::pair<uint64_t, uint64_t>> by_room_;  // room, key of open_
  uint64_t held_bytes_ = 0;
  uint64_t begun_ = 0;  // pages
  uint64_t end_ = 0;    // of what was put
};

// How many pages a record lies in. REQUIRES: bytes > 0.
inline uint64_t PagesOf(uint64_t offset, uint64_t bytes, uint64_t page_bytes) {
  return (offset + bytes - 1) / page_bytes - offset / page_bytes + 1;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_PAGE_PACKER_H_
