// SPDX-License-Identifier: Apache-2.0
// One read of a FileReader as a small state machine: what is to be done next,
// and what its result means. It is driven by whoever does the calls: a ring of
// the kernel, or a thread.
//
// Begin -> kOpen (or a file that is open) -> kRead (again while pieces are
// missing) -> kLook -> kEnd. The file is looked at after it was read, so that
// one which was rewritten meanwhile shows it.
#ifndef SHUFFLEFS_CORE_IO_READ_JOB_H_
#define SHUFFLEFS_CORE_IO_READ_JOB_H_

#include <sys/stat.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/files/unique_fd.h"
#include "core/io/file_reader.h"
#include "core/io/reader_options.h"
#include "core/source/file_systems.h"
#include "core/source/open_files.h"

namespace shufflefs {

// Not thread-safe. Nothing here waits for a device, with one exception: the
// first file of a file system asks what that is.
class ReadJob {
 public:
  enum class Step { kOpen, kRead, kLook, kEnd };

  // `systems` outlives the job.
  ReadJob(FileRead read, FileSystems* systems,
          const FileReaderOptions& options);

  // kOpen, or kEnd where the request itself is wrong (InvalidArgument).
  Step Begin();
  Step Cancelled();  // instead of Begin
  // Whether a file that is open will do instead of opening it.
  bool takes_open_file() const {
    return read_.one_of_many && read_.expected.has_value() && !opens_anew_;
  }
  Step Borrowed(std::shared_ptr<const OpenFile> file);
  // The path was opened as SourceDir::Open does, or that failed with `error`.
  Step Opened(UniqueFd fd);
  Step OpenFailed(int error);
  // preadv2(fd(), pieces(), offset(), flags()) gave `result`: bytes or -errno.
  Step ReadEnded(int64_t result);
  // statx(fd(), "", AT_EMPTY_PATH, kLookMask, &look()) gave 0 or -errno.
  Step Looked(int result);
  // Does that by itself: may wait where look_waits(). `dir` is the source's, in
  // which a borrowed file's path must still lead to that file.
  Step LookNow(int dir);

  const std::string& path() const { return read_.path; }
  uint64_t length() const { return read_.length; }
  int fd() const {
    return borrowed_ != nullptr ? borrowed_->fd.get() : fd_.get();
  }
  const std::vector<iovec>& pieces() const { return pieces_; }
  uint64_t offset() const { return read_.offset + got_; }
  int flags() const;
  struct statx& look() {
    return look_;
  }
  bool look_waits() const { return mode_.traits.remote; }
  // Whether the file is known to be on another device.
  bool is_beyond(uint64_t device) const {
    return read_.expected && read_.expected->device != device;
  }

  // At kEnd. What came, in bytes; maybe some behind `length`.
  uint64_t got() const { return got_; }
  absl::Status status() const;  // names the path
  // The descriptor that it has itself; invalid if it was borrowed.
  UniqueFd TakeFd() { return std::move(fd_); }
  // Its descriptor may be lent to others.
  bool may_lend() const;
  OpenFile TakeFile() { return {std::move(fd_), mode_}; }
  // What it borrowed is not to be lent again.
  bool is_stale() const { return opens_anew_; }
  void CallDone() { read_.done(status()); }

 private:
  absl::Status CheckRequest() const;
  Step ReadOn();
  Step AfterRead();
  Step ReadFailed(int error);
  void ChooseCache();
  Step OpenAnew();
  Step LeaveDirect();

  FileRead read_;
  FileSystems* const systems_;
  const bool keeps_remote_;
  ReadMode mode_;
  bool opens_anew_ = false;  // what it borrowed did not do
  UniqueFd fd_;
  std::shared_ptr<const OpenFile> borrowed_;  // instead of fd_
  uint64_t got_ = 0;
  int again_ = 0;
  std::vector<iovec> pieces_;
  struct statx look_ = {};
  absl::Status status_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_READ_JOB_H_
