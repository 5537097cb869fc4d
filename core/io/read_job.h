// SPDX-License-Identifier: Apache-2.0
// ReadJob is one read of a FileReader as a small state machine. It says what to
// do next and interprets the result. Its driver makes the calls: a ring of the
// kernel, or a thread.
//
// Begin -> kOpen (or a file that is open) -> kRead (again while bytes are
// missing) -> kLook -> maybe kAcl -> kEnd. The file is checked after it was
// read, so that a file that was rewritten meanwhile is detected.
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
#include "core/source/source_dir.h"

namespace shufflefs {

// Not thread-safe. Nothing here waits for a device, with one exception: the
// first file of a file system asks which file system that is.
class ReadJob {
 public:
  enum class Step { kOpen, kRead, kLook, kAcl, kEnd };

  // `systems` outlives the job.
  ReadJob(FileRead read, FileSystems* systems,
          const FileReaderOptions& options);

  // kOpen, or kEnd if the request itself is wrong (InvalidArgument).
  Step Begin();
  Step Cancelled();  // instead of Begin
  // Returns whether the driver may lend an open file instead of opening the
  // path.
  bool takes_open_file() const {
    return read_.one_of_many && read_.expected.has_value() && !opens_anew_;
  }
  Step Borrowed(std::shared_ptr<const OpenFile> file);
  // The path was opened as by SourceDir::Open, or the open failed with `error`.
  Step Opened(UniqueFd fd);
  Step OpenFailed(int error);
  // preadv2(fd(), pieces(), offset(), flags()) returned `result`: bytes or
  // -errno.
  Step ReadEnded(int64_t result);
  // statx(fd(), "", look_flags(), kLookMask, &look()) returned 0 or -errno.
  Step Looked(int result);
  // fgetxattr(fd(), kAclXattr, acl().data(), acl().size()) returned `result`:
  // a length or -errno. -EINVAL: the driver cannot make this call, so it is
  // made here, and may wait.
  Step AclRead(int result);
  // Makes both calls itself. May wait if look_waits(). In the source, the path
  // of a borrowed file must still lead to that file.
  Step LookNow(const SourceDir& source);

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
  std::string& acl() { return acl_; }
  int look_flags() const;
  bool look_waits() const { return mode_.traits.waits; }
  // Returns whether the file is known to be on another device.
  bool is_beyond(uint64_t device) const {
    return read_.expected && read_.expected->device != device;
  }

  // At kEnd: the bytes that came, maybe including some behind `length`.
  uint64_t got() const { return got_; }
  absl::Status status() const;  // names the path
  // The job's own descriptor. Invalid if it was borrowed.
  UniqueFd TakeFd() { return std::move(fd_); }
  // Returns whether the job's descriptor may be lent to other jobs.
  bool may_lend() const;
  OpenFile TakeFile() { return {std::move(fd_), mode_}; }
  // Returns whether the borrowed file must not be lent again.
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
  // Looks at what the path leads to now. False if it cannot be told.
  bool LookAtPath(const SourceDir& source);
  // The check of the file ended so.
  Step Checked(const absl::Status& same);

  FileRead read_;
  FileSystems* const systems_;
  const bool keeps_remote_;
  ReadMode mode_;
  bool opens_anew_ = false;  // the borrowed file did not work
  UniqueFd fd_;
  std::shared_ptr<const OpenFile> borrowed_;  // used instead of fd_
  uint64_t got_ = 0;
  int again_ = 0;
  std::vector<iovec> pieces_;
  struct statx look_ = {};
  std::string acl_;  // the list of access, while it is read
  absl::Status status_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_READ_JOB_H_
