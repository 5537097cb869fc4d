// SPDX-License-Identifier: Apache-2.0
#include "core/pool/memory/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "core/base/status.h"

namespace shufflefs {

// The region, with a bit per page that says whether it is free. Thread-safe.
struct MemoryBlock::Region {
  Region(char* base, size_t pages)
      : base(base), pages(pages), free_bits((pages + 63) / 64, ~uint64_t{0}) {
    if (pages % 64 != 0) free_bits.back() = (uint64_t{1} << pages % 64) - 1;
    free_pages = pages;
  }
  ~Region() { munmap(base, pages * Arena::kPage); }

  std::vector<iovec> Take(size_t count) ABSL_LOCKS_EXCLUDED(mu);
  void Give(const std::vector<iovec>& runs) ABSL_LOCKS_EXCLUDED(mu);
  // Appends up to `most` free pages of word `at` to `runs`. Returns how many.
  size_t TakeFrom(size_t at, size_t most, std::vector<iovec>& runs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // Constant after construction.
  char* const base;
  const size_t pages;

  mutable Mutex mu;
  std::vector<uint64_t> free_bits ABSL_GUARDED_BY(mu);
  size_t free_pages ABSL_GUARDED_BY(mu) = 0;
  size_t next_word ABSL_GUARDED_BY(mu) = 0;  // no page before it is free
};

size_t MemoryBlock::Region::TakeFrom(size_t at, size_t most,
                                     std::vector<iovec>& runs) {
  size_t taken = 0;
  uint64_t& bits = free_bits[at];
  while (bits != 0 && taken < most) {
    const int first = std::countr_zero(bits);
    const size_t run =
        std::min<size_t>(std::countr_one(bits >> first), most - taken);
    const uint64_t mask = (run == 64 ? ~uint64_t{0} : (uint64_t{1} << run) - 1)
                          << first;
    bits &= ~mask;
    char* const start = base + (at * 64 + first) * Arena::kPage;
    if (!runs.empty() &&
        static_cast<char*>(runs.back().iov_base) + runs.back().iov_len ==
            start) {
      runs.back().iov_len += run * Arena::kPage;
    } else {
      runs.push_back(iovec{start, run * Arena::kPage});
    }
    taken += run;
  }
  return taken;
}

std::vector<iovec> MemoryBlock::Region::Take(size_t count) {
  std::vector<iovec> runs;
  MutexLock lock(mu);
  if (count > free_pages) return runs;
  free_pages -= count;
  for (;; ++next_word) {
    count -= TakeFrom(next_word, count, runs);
    if (count == 0) break;
  }
  return runs;
}

void MemoryBlock::Region::Give(const std::vector<iovec>& runs) {
  MutexLock lock(mu);
  for (const iovec& run : runs) {
    size_t page = static_cast<size_t>(static_cast<char*>(run.iov_base) - base) /
                  Arena::kPage;
    const size_t count = run.iov_len / Arena::kPage;
    free_pages += count;
    // Pages that were used lately are used first, so that the kernel need not
    // provide the others.
    next_word = std::min(next_word, page / 64);
    for (const size_t end = page + count; page < end; ++page) {
      free_bits[page / 64] |= uint64_t{1} << page % 64;
    }
  }
}

MemoryBlock::~MemoryBlock() {
  if (region_ == nullptr) return;
  region_->Give(pieces_);
  if (owner_ == nullptr) return;
  uint64_t bytes = 0;
  for (const iovec& piece : pieces_) bytes += piece.iov_len;
  owner_->Freed(bytes);
}

std::vector<iovec> MemoryBlock::Range(uint64_t offset, uint64_t length) const {
  std::vector<iovec> range;
  for (const iovec& piece : pieces_) {
    if (length == 0) break;
    if (offset >= piece.iov_len) {
      offset -= piece.iov_len;
      continue;
    }
    const size_t take = std::min<uint64_t>(piece.iov_len - offset, length);
    range.push_back(iovec{static_cast<char*>(piece.iov_base) + offset, take});
    length -= take;
    offset = 0;
  }
  return range;
}

absl::StatusOr<std::unique_ptr<Arena>> Arena::Make(uint64_t bytes) {
  const size_t pages = bytes / kPage;
  if (pages == 0) return absl::InvalidArgumentError("memory: less than a page");
  void* base = mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return ErrnoStatus(errno, "memory of the pool");
  return std::unique_ptr<Arena>(new Arena(
      std::make_shared<MemoryBlock::Region>(static_cast<char*>(base), pages)));
}

Arena::Arena(std::shared_ptr<MemoryBlock::Region> region)
    : region_(std::move(region)) {}

Arena::~Arena() = default;

std::unique_ptr<MemoryBlock> Arena::Allocate(uint64_t bytes) {
  std::vector<iovec> runs = region_->Take(Footprint(bytes) / kPage);
  if (runs.empty()) return nullptr;
  return std::unique_ptr<MemoryBlock>(
      new MemoryBlock(region_, std::move(runs)));
}

uint64_t Arena::capacity() const { return region_->pages * kPage; }

uint64_t Arena::used() const {
  MutexLock lock(region_->mu);
  return (region_->pages - region_->free_pages) * kPage;
}

absl::Span<char> Arena::memory() const {
  return absl::MakeSpan(region_->base, region_->pages * kPage);
}

}  // namespace shufflefs
