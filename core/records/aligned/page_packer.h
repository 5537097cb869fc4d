// SPDX-License-Identifier: Apache-2.0
// PagePacker lays out records so that none crosses a page boundary. Exceptions
// are records larger than a page: such a record begins with a page, and the
// rest of its last page is filled like any other. A state machine without I/O.
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

// How a page is chosen for a record. The numbers are stored on disk.
enum class PageFit : uint32_t {
  // The page that was begun last, or else a new one. The order stays.
  kNext = 0,
  // The open page with the least sufficient room, or else a new one. At most
  // PagePacker::kOpenPages pages are open, with at most kOpenBytes of data, but
  // at least one. Records move: a record may come before others that were added
  // earlier, but never by more than what the open pages hold.
  kBest = 1,
};

// Receives records with their positions, in order of increasing offsets. Bytes
// between the end of one and the offset of the next are padding.
class PlacedRecords {
 public:
  virtual ~PlacedRecords() = default;
  virtual absl::Status Put(uint64_t offset, absl::string_view record) = 0;
};

// One thread at a time. Errors are those of `out`. After an error nothing is
// called again.
class PagePacker {
 public:
  static constexpr size_t kOpenPages = 256;
  static constexpr uint64_t kOpenBytes = uint64_t{64} << 20;

  // `out` outlives the packer. REQUIRES: page_bytes > 0.
  PagePacker(uint64_t page_bytes, PageFit fit, PlacedRecords& out)
      : page_bytes_(page_bytes), fit_(fit), out_(out) {}

  // REQUIRES: record is not empty.
  absl::Status Add(absl::string_view record);
  // Writes what is still held.
  absl::Status Finish();

 private:
  struct Page {  // or the pages of one record, and what follows it there
    std::string data;
    std::vector<uint64_t> sizes;
    uint64_t room = 0;
  };
  using Pages = std::map<uint64_t, Page>;  // by age, oldest first

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
  uint64_t end_ = 0;    // end of the last record written
};

// Number of pages that contain a part of a record. REQUIRES: bytes > 0.
inline uint64_t PagesOf(uint64_t offset, uint64_t bytes, uint64_t page_bytes) {
  return (offset + bytes - 1) / page_bytes - offset / page_bytes + 1;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ALIGNED_PAGE_PACKER_H_
