// SPDX-License-Identifier: Apache-2.0
// Filesystem has the operations of the filesystem, free of FUSE. Each takes
// unpacked arguments, returns a value or a Status, and calls the folder that
// knows the node: the catalogue's tree, the control directory, or the
// unshuffled source while the catalogue is being made.
#ifndef SHUFFLEFS_FS_FILESYSTEM_H_
#define SHUFFLEFS_FS_FILESYSTEM_H_

#include <sys/statvfs.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/metrics.h"
#include "core/base/worker.h"
#include "core/config/config.h"
#include "core/engine/served_dataset.h"
#include "core/pool/content_provider.h"
#include "core/source/source_dir.h"
#include "fs/backing/backing_files.h"
#include "fs/control/control_dir.h"
#include "fs/control/control_files.h"
#include "fs/kernel_cache/dentry_pinner.h"
#include "fs/kernel_cache/dentry_warmer.h"
#include "fs/model/dir_handle.h"
#include "fs/model/last_answer.h"
#include "fs/model/node_id.h"
#include "fs/model/reply_types.h"
#include "fs/tree/pass_through.h"
#include "fs/tree/shown_rights.h"
#include "fs/tree/tree.h"

namespace shufflefs {

// Thread-safe. Calls that AsksSource names may block on the source, and so may
// ReadLink and writes to control. Answers that depend on a directory's rights,
// the root's attributes before there is a catalogue, and StatFs wait for the
// source for a bounded time. Nothing else waits.
class Filesystem {
 public:
  struct Parts {
    const SourceDir* source = nullptr;  // outlives the filesystem
    ControlFiles* control = nullptr;    // outlives the filesystem
    Metrics* metrics = nullptr;         // outlives the filesystem
    ControlDir::Owner owner;
    OpenMode open = OpenMode::kAuto;
    // The mount continues an epoch whose readers may still run: names wait for
    // the catalogue, and are never passed through from the source.
    bool goes_on = false;
    // Called once, before the first bytes of the unshuffled source are
    // returned.
    std::function<void()> passed_through;
    bool serves_others = false;  // allow_other
    // A thread of the daemon that reads nothing. Its opens do not count, and
    // only it may look up names of files that were cut off. 0: none.
    int32_t looker = 0;
  };
  explicit Filesystem(const Parts& parts);

  // The catalogue is ready: from now on names come from it. Called once.
  // `kernel_knows_epochs`: the kernel looks names up again when told to.
  // Otherwise it must not cache a name that may rebind. `served` outlives the
  // filesystem.
  void Begin(const ServedDataset& served, bool kernel_knows_epochs);
  // From now on the kernel need not ask for opens, for example because it
  // reports them. So it is told, at the next OPEN, to open files by itself.
  // This holds for as long as the mount lives.
  void LeaveOpensToKernel() { kernel_opens_ = true; }
  // Called on a request's thread before it waits for the source. Call it before
  // Begin, if at all.
  void SetWaits(std::function<void()> waits) { waits_ = std::move(waits); }
  // Knows which inodes' readers are cut off. Call it before Begin, if at all.
  // `files` outlives the filesystem's use.
  void SetBacking(const BackingFiles* files) { backing_ = files; }
  // Null before Begin.
  const ServedDataset* served() const {
    return served_.load(std::memory_order_acquire);
  }
  // Returns whether a lookup of `name` in `directory` must wait for the
  // catalogue. If `name` is empty: whether opening that directory must.
  bool MustWait(uint64_t directory, absl::string_view name) const;
  // Returns what was opened of the unshuffled source. From then on nothing more
  // of it is: names wait for Begin.
  FilesRead SettleAndAskWhatWasRead();

  absl::StatusOr<NodeReply> Lookup(uint64_t parent, absl::string_view name,
                                   Caller caller);
  void Forget(uint64_t nodeid, uint64_t count);
  absl::StatusOr<NodeReply> GetAttributes(uint64_t nodeid);
  // Truncating a control file is allowed and changes nothing. Everything else
  // is EROFS.
  absl::StatusOr<NodeReply> SetAttributes(uint64_t nodeid, bool only_size);
  absl::StatusOr<std::string> ReadLink(uint64_t nodeid);
  absl::StatusOr<std::unique_ptr<DirHandle>> OpenDir(uint64_t nodeid,
                                                     Caller caller);
  // `pid`: the opening thread, 0 if hidden.
  absl::StatusOr<OpenReply> Open(uint64_t nodeid, int flags, int32_t pid);
  // For reads that ServingProvider does not answer. Empty: the bytes are not in
  // the kernel's memory, and ReadLater returns them.
  absl::StatusOr<absl::optional<size_t>> Read(uint64_t nodeid, uint64_t offset,
                                              absl::Span<char> out);
  // REQUIRES: Read returned nothing.
  void ReadLater(uint64_t nodeid, uint64_t offset, uint64_t length,
                 ContentProvider::ReadDone done);
  // A READ of a file arrives, from `offset` and by thread `pid` (0 if hidden).
  // Returns what answers it, which never waits for a device. Null: call Read.
  std::shared_ptr<ContentProvider> ServingProvider(uint64_t nodeid,
                                                   uint64_t offset,
                                                   int32_t pid);
  // Returns whether a lookup in this node or a read of it may wait for the
  // source, and for every node except the root a stat. True while there is no
  // catalogue, and later for nodes found until then.
  bool AsksSource(uint64_t nodeid) const;
  // Runs a job that may wait for the source on another thread.
  void AskSource(Worker::Job job) { asker_.Post(std::move(job), false); }
  // Ends the running jobs and waits for the source. No more requests may come.
  void Stop();
  // Returns whether no READ of a file waits for a device.
  bool AnswersFromMemory(uint64_t nodeid) const;
  static EntryId FileOf(uint64_t nodeid) {
    return EntryId(UnpackNode(nodeid).id);
  }
  // A descriptor of a file was closed.
  void Release(uint64_t nodeid);
  absl::Status Write(uint64_t nodeid, const WrittenText& text);
  absl::StatusOr<std::string> GetXattr(uint64_t nodeid, absl::string_view name);
  absl::StatusOr<struct statvfs> StatFs() { return room_.Get(asker_); }

  DentryPinner& pinner() { return pinner_; }
  DentryWarmer& warmer() { return warmer_; }
  EpochSlots& epoch_slots() { return epoch_slots_; }

 private:
  absl::StatusOr<NodeReply> LookupPassThrough(uint32_t parent,
                                              absl::string_view name);
  // The catalogue's directory for one that was found before the catalogue was
  // ready; any other node as it is. ESTALE if the catalogue lacks it, or has
  // another one at its path.
  absl::StatusOr<Node> Translate(Node node);
  // The kernel reports opens by the directory that it knows. It knows `dir`, or
  // found `found` below it, by a node of before the catalogue was ready, which
  // is not watched.
  void NoteUnreported(Node dir, Node found);
  bool OpensAreUnseen() const;
  ReadBy ReadsOf(Node node) const;
  // An OPEN of a container's node. Returns whether its name shows another node
  // now.
  bool IsStale(Node node, int32_t pid) const;
  // Of a container that a job reads once more: each read must reach the daemon.
  bool IsReadAgain(Node node) const;
  std::shared_ptr<ContentProvider> ProviderOf(Node node) const;
  bool IsLiveContainer(Node node) const;
  void NoteRead(Node node);

  // Constant after construction.
  const Parts parts_;

  // Self-synchronised.
  std::once_flag passed_;
  std::atomic<bool> settling_{false};
  std::atomic<bool> kernel_opens_{false};
  PassThrough pass_;
  LastAnswer<struct stat> root_;
  LastAnswer<struct statvfs> room_;  // free space of the source's file system
  ControlDir control_dir_;
  DentryPinner pinner_;
  DentryWarmer warmer_;
  std::atomic<const BackingFiles*> backing_{nullptr};
  std::atomic<const ServedDataset*> served_{nullptr};
  EpochSlots epoch_slots_;
  std::atomic<Tree*> tree_{nullptr};

  // Set once, before served_ and tree_ publish them.
  std::function<void()> waits_;
  std::unique_ptr<ShownRights> rights_owner_;
  std::unique_ptr<Tree> tree_owner_;

  Worker asker_;  // last member: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FILESYSTEM_H_
