// SPDX-License-Identifier: Apache-2.0
// Writes one part: under a name that nobody reads, past the page cache where
// the file system takes that, and gives it its name when it is complete.
#ifndef SHUFFLEFS_CORE_STAGING_TIER_TIER_WRITER_H_
#define SHUFFLEFS_CORE_STAGING_TIER_TIER_WRITER_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/files/unique_fd.h"
#include "core/staging/tier/tier_dir.h"
#include "core/staging/tier/tier_part.h"

namespace shufflefs {

// For one thread; blocks for the device. Nothing is left of a part that was not
// finished. Errors carry the errno and name the part.
class TierWriter {
 public:
  // A part of `data_bytes` bytes of ranges with `checks` checks together. `dir`
  // outlives this.
  struct Size {
    uint64_t data_bytes = 0;  // a multiple of kTierPage
    uint64_t ranges = 0;
    uint64_t checks = 0;
    uint64_t total() const {
      return data_bytes + TierTailBytes(ranges, checks);
    }
  };
  static absl::StatusOr<TierWriter> Create(TierDir* dir, const Size& size);
  ~TierWriter();
  TierWriter(TierWriter&& other) noexcept
      : dir_(std::exchange(other.dir_, nullptr)),
        id_(other.id_),
        fd_(std::move(other.fd_)),
        at_(other.at_) {}
  TierWriter& operator=(TierWriter&&) = delete;

  // The next bytes of ranges. REQUIRES: aligned memory, whole pages.
  absl::Status Append(absl::Span<const char> bytes);
  // The part's number. REQUIRES: all bytes were appended.
  absl::StatusOr<uint64_t> Finish(const TierTable& table);

 private:
  TierWriter(TierDir* dir, uint64_t id, UniqueFd fd)
      : dir_(dir), id_(id), fd_(std::move(fd)) {}

  TierDir* dir_;  // null when finished or moved from
  uint64_t id_;
  UniqueFd fd_;
  uint64_t at_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_TIER_TIER_WRITER_H_
