// SPDX-License-Identifier: Apache-2.0
// BackingFiles knows which open files the kernel reads from the source by
// itself. The kernel has rules for that, and an open that breaks one fails:
//  * All descriptors of an inode that are open at a time are of one kind: the
//    daemon answers their reads, or one backing file does.
//  * They share one registration of that file.
//
// A descriptor cannot be given back to the daemon. So the daemon has a lease on
// each backing file. If somebody is about to write to one, its readers are cut
// off: the kernel is shown a new generation of the inode, and from then on
// fails all reads of the old one. Then the lease ends.
#ifndef SHUFFLEFS_FS_BACKING_BACKING_FILES_H_
#define SHUFFLEFS_FS_BACKING_BACKING_FILES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"

namespace shufflefs {

// Thread-safe. Threads: `sfs-backing` opens and closes files of the source, one
// after the other, and may block on it. No call does.
class BackingFiles {
 public:
  struct Parts {
    // Opens the file that a node shows, with a lease. May block on the source.
    // An error is no failure: the daemon then answers the reads.
    std::function<absl::StatusOr<UniqueFd>(uint64_t nodeid)> open;
    // Returns whether a further descriptor of the node may have this file,
    // which `open` returned. Called without a lock, for each such descriptor.
    // The file is open, so its answer waits for no device.
    std::function<absl::Status(uint64_t nodeid, int fd)> check;
    // Registers a file with the kernel. Returns its id there, from 1.
    std::function<absl::StatusOr<int32_t>(int fd)> add;
    std::function<void(int32_t backing_id)> remove;
    // Opens a way into the mount for `cut_off`. It is kept until the last
    // backing file is closed that was opened before LeaveMount. An error is no
    // failure, as of `open`.
    std::function<absl::StatusOr<UniqueFd>()> enter;
    // The readers of a node are about to be cut off. Called without a lock,
    // once.
    std::function<void(uint64_t nodeid)> tell;
    // Has the kernel look `CutOffName(nodeid)` up in the root of the mount, to
    // which `way_in` leads. Called without a lock. Returns false if the kernel
    // may not have done it. Then the writer waits until the kernel breaks the
    // lease by itself (lease-break-time, 45 s).
    std::function<bool(uint64_t nodeid, int way_in)> cut_off;
    size_t most = 1;  // backing files at a time
  };
  explicit BackingFiles(Parts parts);
  ~BackingFiles() { Stop(); }
  BackingFiles(const BackingFiles&) = delete;
  BackingFiles& operator=(const BackingFiles&) = delete;

  struct Opened {
    int32_t backing_id = 0;  // 0: the daemon answers reads
    uint64_t handle = 0;
    // Nothing was opened: the kernel still has the old inode of a node whose
    // readers are being cut off. It must look the name up again.
    bool stale = false;
  };
  // A descriptor of `nodeid` is being opened. `wanted`: the kernel is to read
  // the file if it may. `done` is called once, now or on another thread. With
  // an error of `check`, or if the node is stale, nothing was opened. Close
  // undoes each other call.
  using Done = std::function<void(const absl::StatusOr<Opened>&)>;
  void Open(uint64_t nodeid, bool wanted, Done done);
  // Does nothing if the node was not opened.
  void Close(uint64_t nodeid, uint64_t handle);

  // A lease was broken. Cuts off the readers of its file, and ends it.
  void LetWritersGo();
  // Returns whether the kernel must take the node for a new inode from now on.
  bool IsCutOff(uint64_t nodeid) const;
  // The same, for a reply that tells the kernel so.
  bool TellsNewInode(uint64_t nodeid);
  // The hidden name of a node whose readers are cut off, and the reverse.
  static std::string CutOffName(uint64_t nodeid);
  absl::optional<uint64_t> NodeOfCutOffName(absl::string_view name) const;

  // A mount has come or gone, perhaps this one. A way into it that no file
  // needs would keep it.
  void LeaveMount();

  // From now on the kernel is told nothing, and the daemon answers all reads.
  void Stop() { worker_.Stop(); }

  size_t count() const;  // backing files

 private:
  struct File {
    uint64_t nodeid = 0;
    std::shared_ptr<const UniqueFd> way_in;
    UniqueFd fd;  // has the lease
    int32_t backing_id = 0;
    size_t opens = 0;
    bool is_cut_off = false;
  };

  absl::StatusOr<Opened> Checked(uint64_t nodeid, const Opened& opened);
  absl::optional<Opened> OpenNow(uint64_t nodeid, bool wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<Opened> Join(uint64_t nodeid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsOldInode(uint64_t nodeid) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayAdd(uint64_t nodeid) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // On the worker's thread.
  absl::StatusOr<Opened> OpenLater(uint64_t nodeid, bool wanted);
  absl::optional<Opened> JoinLater(uint64_t nodeid, bool wanted);
  absl::StatusOr<std::shared_ptr<File>> Add(uint64_t nodeid);
  absl::StatusOr<std::shared_ptr<const UniqueFd>> WayIn();
  Opened Insert(absl::StatusOr<std::shared_ptr<File>> file, uint64_t nodeid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<File> Leave(uint64_t nodeid, uint64_t handle);
  std::vector<std::shared_ptr<File>> TakeBroken();

  // Constant after construction.
  const Parts parts_;

  std::atomic<bool> some_cut_off_{false};

  // For the worker's thread. Null if the next backing file is to open one.
  std::shared_ptr<const UniqueFd> way_in_;

  mutable Mutex mu_;
  uint64_t last_handle_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<File>> files_
      ABSL_GUARDED_BY(mu_);  // by handle
  // By node, except for those that are cut off.
  absl::flat_hash_map<uint64_t, uint64_t> handles_ ABSL_GUARDED_BY(mu_);
  // Descriptors whose reads the daemon answers, by node.
  absl::flat_hash_map<uint64_t, size_t> plain_ ABSL_GUARDED_BY(mu_);
  // Opens that the worker has yet to answer, by node.
  absl::flat_hash_map<uint64_t, size_t> awaited_ ABSL_GUARDED_BY(mu_);
  // And whether the kernel was told of the new inode.
  absl::flat_hash_map<uint64_t, bool> cut_off_ ABSL_GUARDED_BY(mu_);

  Worker worker_;  // last member: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_BACKING_BACKING_FILES_H_
