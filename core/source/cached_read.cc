// SPDX-License-Identifier: Apache-2.0
#include "core/source/cached_read.h"

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace shufflefs {
namespace {

constexpr uint64_t kPage = 4096;

// Linux 6.5. Debian 12's headers do not define it. The number is the same
// everywhere except on alpha.
constexpr long kCachestat = 451;

struct CacheRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

struct CacheStat {
  uint64_t cached = 0;  // in pages, like the fields below
  uint64_t dirty = 0;
  uint64_t writeback = 0;
  uint64_t evicted = 0;
  uint64_t recently_evicted = 0;
};

// Called before the read, because a read that must not wait makes the kernel
// fetch what is missing.
bool IsCached(int fd, uint64_t offset, uint64_t length, IfUnknown if_unknown) {
  CacheRange range{offset, length};
  CacheStat stat;
  if (syscall(kCachestat, fd, &range, &stat, 0) != 0) {
    return if_unknown == IfUnknown::kTry;
  }
  const uint64_t first = offset / kPage;
  const uint64_t last = (offset + length - 1) / kPage;
  return stat.cached >= last - first + 1;
}

}  // namespace

bool ReadIfCached(int fd, const std::vector<iovec>& into, uint64_t offset,
                  uint64_t length, IfUnknown if_unknown) {
  if (length == 0 || !IsCached(fd, offset, length, if_unknown)) return false;
  size_t piece = 0;
  while (length > 0) {
    std::vector<iovec> some;
    uint64_t wanted = 0;
    for (; piece < into.size() && wanted < length && some.size() < IOV_MAX;
         ++piece) {
      some.push_back(into[piece]);
      some.back().iov_len =
          std::min<uint64_t>(some.back().iov_len, length - wanted);
      wanted += some.back().iov_len;
    }
    const ssize_t got = preadv2(fd, some.data(), static_cast<int>(some.size()),
                                static_cast<off_t>(offset), RWF_NOWAIT);
    // The pages were evicted meanwhile, or the file became shorter. The reader
    // finds out by the other way of reading.
    if (got < 0 || static_cast<uint64_t>(got) != wanted || wanted == 0) {
      return false;
    }
    offset += wanted;
    length -= wanted;
  }
  return true;
}

}  // namespace shufflefs
