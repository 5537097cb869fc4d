// SPDX-License-Identifier: Apache-2.0
#include "core/staging/tier/tier_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/status.h"

namespace shufflefs {
namespace {

// A number that no part had before. So a reader that still asks for a removed
// part never finds another.
uint64_t FreshId() {
  uint64_t id = 0;
  while (getrandom(&id, sizeof id, 0) != sizeof id) {
  }
  return id;
}

}  // namespace

absl::StatusOr<TierWriter> TierWriter::Create(TierDir* dir, const Size& size) {
  const uint64_t id = FreshId();
  ASSIGN_OR_RETURN(UniqueFd fd, dir->Create(id, size.total()));
  return TierWriter(dir, id, std::move(fd));
}

TierWriter::~TierWriter() {
  if (dir_ != nullptr) (void)dir_->Remove({id_, false});
}

absl::Status TierWriter::Append(absl::Span<const char> bytes) {
  const auto begin = static_cast<off64_t>(at_);
  const auto length = static_cast<off64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t done =
        pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at_));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      const int error = errno;
      const int flags = fcntl(fd_.get(), F_GETFL);
      // The file system accepted O_DIRECT but refuses it now.
      if (error == EINVAL && (flags & O_DIRECT) != 0 &&
          fcntl(fd_.get(), F_SETFL, flags & ~O_DIRECT) == 0) {
        continue;
      }
      return ErrnoStatus(error, TierUnfinishedName(id_));
    }
    bytes.remove_prefix(static_cast<size_t>(done));
    at_ += static_cast<uint64_t>(done);
  }
  // Without O_DIRECT: starts writing at once, not all of it some time later.
  if ((fcntl(fd_.get(), F_GETFL) & O_DIRECT) == 0) {
    (void)sync_file_range(fd_.get(), begin, length, SYNC_FILE_RANGE_WRITE);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> TierWriter::Finish(const TierTable& table) {
  const std::string tail = SerializeTierTail(table, at_);
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(std::aligned_alloc(kTierPage, tail.size())),
      std::free);
  std::memcpy(memory.get(), tail.data(), tail.size());
  RETURN_IF_ERROR(Append({memory.get(), tail.size()}));
  // Less came than was planned if a range could not be read.
  if (ftruncate(fd_.get(), static_cast<off_t>(at_)) != 0) {
    return ErrnoStatus(errno, TierUnfinishedName(id_));
  }
  (void)posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  RETURN_IF_ERROR(dir_->Publish(id_));
  dir_ = nullptr;
  return id_;
}

}  // namespace shufflefs
