// SPDX-License-Identifier: Apache-2.0
#include "core/io/read_job.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/files/read_at.h"
#include "core/base/status.h"
#include "core/source/file_check.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

// Drops pages that this read brought in (Linux 6.14). Pages that were cached
// before stay. Debian 12's headers do not define the flag.
constexpr int kRwfDontCache = 0x80;
constexpr int kMostReads = 64;
constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;  // bytes per call

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
}

bool IsAligned(uint64_t value) { return value % kReadAlignment == 0; }

}  // namespace

ReadJob::ReadJob(FileRead read, FileSystems* systems,
                 const FileReaderOptions& options)
    : read_(std::move(read)),
      systems_(systems),
      keeps_remote_(options.keeps_remote) {
  mode_.direct = options.direct;
}

absl::Status ReadJob::CheckRequest() const {
  uint64_t room = 0;
  for (const iovec& piece : read_.into) {
    if (!IsAligned(reinterpret_cast<uintptr_t>(piece.iov_base)) ||
        !IsAligned(piece.iov_len)) {
      return absl::InvalidArgumentError("memory that is not aligned");
    }
    room += piece.iov_len;
  }
  if (read_.length == 0 || read_.length > INT64_MAX - kReadAlignment ||
      room < RoundUp(read_.length)) {
    return absl::InvalidArgumentError(
        absl::StrCat(read_.length, " bytes wanted, room for ", room));
  }
  if (!IsAligned(read_.offset) || read_.offset > INT64_MAX - read_.length) {
    return absl::InvalidArgumentError(absl::StrCat("offset ", read_.offset));
  }
  return absl::OkStatus();
}

ReadJob::Step ReadJob::Begin() {
  status_ = CheckRequest();
  return status_.ok() ? Step::kOpen : Step::kEnd;
}

ReadJob::Step ReadJob::Cancelled() {
  status_ = absl::CancelledError("the reader was cancelled");
  return Step::kEnd;
}

ReadJob::Step ReadJob::Borrowed(std::shared_ptr<const OpenFile> file) {
  borrowed_ = std::move(file);
  mode_ = borrowed_->mode;
  return ReadOn();
}

bool ReadJob::may_lend() const {
  // On a network, only an open asks the server whether the file changed.
  return takes_open_file() && fd_.valid() && status_.ok() &&
         (keeps_remote_ || !mode_.traits.remote);
}

ReadJob::Step ReadJob::OpenFailed(int error) {
  status_ = OpenFailure(error);
  return Step::kEnd;
}

ReadJob::Step ReadJob::Opened(UniqueFd fd) {
  fd_ = std::move(fd);
  // Not synchronised with a server: the kind of an open file does not change.
  if (statx(fd_.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
            STATX_TYPE | STATX_INO, &look_) != 0) {
    status_ = ErrnoStatus(errno, "statx");
    return Step::kEnd;
  }
  if (!S_ISREG(look_.stx_mode)) {
    // The check then reports what the path is now.
    if (read_.expected) return Step::kLook;
    status_ = ErrnoStatus(S_ISDIR(look_.stx_mode) ? EISDIR : ESPIPE,
                          "no regular file");
    return Step::kEnd;
  }
  mode_.device = makedev(look_.stx_dev_major, look_.stx_dev_minor);
  mode_.inode = look_.stx_ino;
  mode_.traits = systems_->Of(mode_.device, fd_.get());
  ChooseCache();
  return ReadOn();
}

// Files are opened without O_DIRECT, because a refusal would cost a second
// open. They are opened with O_NONBLOCK, which must be cleared: some kernels
// take it for "do not wait for the device".
void ReadJob::ChooseCache() {
  const int flags = fcntl(fd_.get(), F_GETFL) & ~O_NONBLOCK;
  if (mode_.direct && mode_.traits.direct) {
    if (fcntl(fd_.get(), F_SETFL, flags | O_DIRECT) == 0) return;
    if (errno == EINVAL) systems_->RefusedDirect(mode_.device);
  }
  mode_.direct = false;
  fcntl(fd_.get(), F_SETFL, flags);
  mode_.kept = !mode_.traits.drop_behind;
  // The reader knows what it wants, so the kernel needs no read-ahead.
  posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_RANDOM);
}

ReadJob::Step ReadJob::OpenAnew() {
  borrowed_ = nullptr;
  opens_anew_ = true;
  got_ = 0;  // it may be another file
  status_ = absl::OkStatus();
  return Step::kOpen;
}

ReadJob::Step ReadJob::LeaveDirect() {
  mode_.direct = false;
  // Other jobs read through this descriptor, so its flags must not change.
  if (borrowed_ != nullptr) return OpenAnew();
  fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) & ~O_DIRECT);
  mode_.kept = !mode_.traits.drop_behind;
  posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_RANDOM);
  return ReadOn();
}

int ReadJob::flags() const {
  return mode_.direct || mode_.kept ? 0 : kRwfDontCache;
}

// The destination that is still to be filled. O_DIRECT takes whole blocks.
ReadJob::Step ReadJob::ReadOn() {
  uint64_t skip = got_;
  uint64_t wanted = mode_.direct ? RoundUp(read_.length) : read_.length;
  wanted = std::min(wanted - got_, kMostAtOnce);
  pieces_.clear();
  for (const iovec& piece : read_.into) {
    if (wanted == 0 || pieces_.size() == IOV_MAX) break;
    if (skip >= piece.iov_len) {
      skip -= piece.iov_len;
      continue;
    }
    const size_t take = std::min<uint64_t>(piece.iov_len - skip, wanted);
    pieces_.push_back({static_cast<char*>(piece.iov_base) + skip, take});
    wanted -= take;
    skip = 0;
  }
  return Step::kRead;
}

ReadJob::Step ReadJob::ReadEnded(int64_t result) {
  if (result < 0) return ReadFailed(static_cast<int>(-result));
  got_ += static_cast<uint64_t>(result);
  if (got_ >= read_.length) return AfterRead();
  if (result == 0) {
    status_ = EndsEarly(offset());
    return AfterRead();
  }
  // Most likely the file ends here. Only the page cache can read on from this
  // offset.
  return mode_.direct && !IsAligned(got_) ? LeaveDirect() : ReadOn();
}

ReadJob::Step ReadJob::ReadFailed(int error) {
  if (error == EINTR) return Step::kRead;
  if (error == EAGAIN && ++again_ < kMostReads) return Step::kRead;
  if (error == EINVAL && mode_.direct) {
    systems_->RefusedDirect(mode_.device);
    return LeaveDirect();
  }
  if ((error == EOPNOTSUPP || error == EINVAL) && flags() != 0) {
    systems_->RefusedDropBehind(mode_.device);
    mode_.kept = true;
    return Step::kRead;
  }
  status_ = ReadFailure(error, offset());
  return AfterRead();
}

ReadJob::Step ReadJob::AfterRead() {
  if (mode_.kept) {
    posix_fadvise(fd(), static_cast<off_t>(read_.offset),
                  static_cast<off_t>(read_.length), POSIX_FADV_DONTNEED);
  }
  return read_.expected ? Step::kLook : Step::kEnd;
}

ReadJob::Step ReadJob::Looked(int result) {
  if (result != 0) return Checked(ErrnoStatus(-result, "statx"));
  if (NeedsAcl(look_, *read_.expected)) {
    acl_.resize(kAclBytes);
    return Step::kAcl;
  }
  return Checked(CheckUnchanged(look_, *read_.expected, look_.stx_mode));
}

ReadJob::Step ReadJob::AclRead(int result) {
  if (result == -EINVAL) {
    return Checked(CheckUnchanged(fd(), look_, *read_.expected));
  }
  if (result == -EINTR) return Step::kAcl;
  const auto within =
      ModeWithinAnswer(look_.stx_mode, look_.stx_uid, result, acl_);
  if (!within) return Step::kAcl;
  return Checked(CheckUnchanged(look_, *read_.expected, *within));
}

ReadJob::Step ReadJob::Checked(const absl::Status& same) {
  // If the file changed, that explains all other errors.
  if (!same.ok()) status_ = same;
  // Any error may concern only the borrowed descriptor.
  return borrowed_ != nullptr && !status_.ok() ? OpenAnew() : Step::kEnd;
}

// The kernel may trust for a minute what a server said of a file, and a read
// does not renew that. The bytes may be of a later state by then.
int ReadJob::look_flags() const {
  return AT_EMPTY_PATH | (mode_.traits.remote ? AT_STATX_FORCE_SYNC : 0);
}

ReadJob::Step ReadJob::LookNow(const SourceDir& source) {
  if (borrowed_ == nullptr) {
    const int failed = statx(fd(), "", look_flags(), kLookMask, &look_);
    return Checked(failed != 0 ? ErrnoStatus(errno, "statx")
                               : CheckUnchanged(fd(), look_, *read_.expected));
  }
  // The path may lead to another file by now.
  if (!LookAtPath(source) || look_.stx_ino != borrowed_->mode.inode ||
      makedev(look_.stx_dev_major, look_.stx_dev_minor) != mode_.device) {
    return OpenAnew();
  }
  return Checked(CheckUnchanged(fd(), look_, *read_.expected));
}

bool ReadJob::LookAtPath(const SourceDir& source) {
  if (source.lookup() != SourceDir::Lookup::kKernel ||
      mode_.device != source.place().device) {
    const int flags =
        AT_SYMLINK_NOFOLLOW | (mode_.traits.remote ? AT_STATX_FORCE_SYNC : 0);
    return statx(source.fd(), read_.path.c_str(), flags, kLookMask, &look_) ==
           0;
  }
  // Something may be mounted over a directory of the path, and may hang.
  const absl::StatusOr<UniqueFd> found = source.HoldOnOwnMount(read_.path);
  return found.ok() &&
         statx(found->get(), "", look_flags(), kLookMask, &look_) == 0;
}

absl::Status ReadJob::status() const { return Annotate(status_, read_.path); }

}  // namespace shufflefs
