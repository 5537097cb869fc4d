// SPDX-License-Identifier: Apache-2.0
// TierWriter writes one part under a name that nobody reads, and renames it
// when it is complete. It bypasses the page cache if the file system allows
// that.
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

// For one thread; blocks on the device. Removes a part that was not finished.
// Errors carry the errno and name the part.
class TierWriter {
 public:
  // Creates a part for `data_bytes` bytes of ranges that have `checks` checks
  // in total. `dir` outlives this object.
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

  // Appends the next bytes of ranges. REQUIRES: aligned memory, whole pages.
  absl::Status Append(absl::Span<const char> bytes);
  // Returns the part's number. REQUIRES: all bytes were appended.
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
