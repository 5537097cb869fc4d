// SPDX-License-Identifier: Apache-2.0
// DirStream is an open directory as the kernel reads it, piece by piece. While
// the reader processes one piece, the next is made, if the memory of all such
// pieces suffices.
#ifndef SHUFFLEFS_FS_FUSE_DIR_STREAM_H_
#define SHUFFLEFS_FS_FUSE_DIR_STREAM_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "fs/fuse/fuse_ops.h"
#include "fs/fuse/open_dirs.h"
#include "fs/model/dir_handle.h"

namespace shufflefs {

// Thread-safe. Several threads may call Reply, as the kernel does for a shared
// directory descriptor.
class DirStream {
 public:
  DirStream(std::unique_ptr<const DirHandle> dir,
            std::shared_ptr<AheadMemory> ahead);
  ~DirStream();

  struct Piece {
    size_t bytes = 0;
    uint64_t offset = 0;
    bool plus = false;  // with attributes and nodeids
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  // REQUIRES: Load returned OK.
  void Reply(fuse_req_t req, const Piece& piece);
  bool asks_source() const { return dir_->asks_source(); }
  absl::Status Load() const { return dir_->Load(); }

 private:
  void Make(FuseContext& context, const Piece& piece)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the buffers may stay for the next piece. Else drops them.
  bool KeepBuffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropBuffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The entry at `offset`. Null at the end.
  const DirEntry* At(uint64_t offset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::unique_ptr<const DirHandle> dir_;
  const std::shared_ptr<AheadMemory> ahead_;

  Mutex mu_;
  Piece made_ ABSL_GUARDED_BY(mu_);  // content of buffer_; bytes 0: nothing
  std::vector<char> buffer_ ABSL_GUARDED_BY(mu_);
  size_t used_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_ ABSL_GUARDED_BY(mu_) = 0;   // offset after it
  bool at_end_ ABSL_GUARDED_BY(mu_) = true;  // no entries follow
  std::vector<DirEntry> batch_ ABSL_GUARDED_BY(mu_);
  uint64_t batch_offset_ ABSL_GUARDED_BY(mu_) = 0;
  size_t batch_size_ ABSL_GUARDED_BY(mu_) = 0;
  size_t kept_ ABSL_GUARDED_BY(mu_) = 0;  // bytes of ahead_
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_DIR_STREAM_H_
