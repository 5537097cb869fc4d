// SPDX-License-Identifier: Apache-2.0
#include "fs/filesystem.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/readers/job_tracker.h"
#include "fs/model/monotonic_now.h"

namespace shufflefs {
namespace {

constexpr char kSampleXattr[] = "user.shufflefs.sample";
// Threads for calls that may wait for the source and that are no reads of a
// catalogue's file. Further calls queue.
constexpr size_t kAskers = 8;

absl::Status ReadOnly() {
  return ErrnoStatus(EROFS, "the source is never written");
}

absl::StatusOr<struct statvfs> RoomOf(const SourceDir& source) {
  struct statvfs st;
  if (fstatvfs(source.fd(), &st) != 0) return ErrnoStatus(errno, source.path());
  st.f_namemax = 255;
  return st;
}

// Where inode numbers do not last, the rights must be the same: those of the
// found one were checked.
bool IsSameDir(const FileAttributes& scanned, const FileAttributes& found) {
  if (scanned.device != found.device) return false;
  if (scanned.inode != 0) return scanned.inode == found.inode;
  return scanned.uid == found.uid && scanned.gid == found.gid &&
         scanned.source_mode == found.source_mode;
}

absl::StatusOr<std::string> TargetOf(const SourceDir& source,
                                     const Catalogue& catalogue, EntryId link) {
  const FileAttributes known = catalogue.attributes(link);
  ASSIGN_OR_RETURN(SourceDir::Link now, source.ReadLink(catalogue.path(link)));
  if (now.attributes.st_dev != known.device ||
      (known.inode != 0 && now.attributes.st_ino != known.inode)) {
    return ErrnoStatus(ESTALE,
                       absl::StrCat(catalogue.path(link), ": another link"));
  }
  return std::move(now.target);
}

}  // namespace

Filesystem::Filesystem(const Parts& parts)
    : parts_(parts),
      pass_(*parts.source, parts.serves_others),
      root_([this] { return pass_.Stat(0); }),
      room_([this] { return RoomOf(*parts_.source); }),
      control_dir_(*parts.control, parts.owner),
      asker_("sfs-source", kAskers) {}

void Filesystem::Begin(const ServedDataset& served, bool kernel_knows_epochs) {
  if (kernel_knows_epochs) warmer_.Begin(served);
  rights_owner_ = std::make_unique<ShownRights>(*parts_.source, served, waits_);
  Tree::Parts tree;
  tree.served = &served;
  tree.rights = rights_owner_.get();
  tree.rebind_seconds = kernel_knows_epochs ? kForLife : 0;
  tree.warmer = kernel_knows_epochs ? &warmer_ : nullptr;
  tree.epochs = &epoch_slots_;
  tree_owner_ = std::make_unique<Tree>(tree);
  control_dir_.SetServed(&served, tree_owner_.get());
  // Before anybody can begin another epoch.
  pass_.reads().Begin(served);
  parts_.control->SetServed(&served);
  tree_.store(tree_owner_.get(), std::memory_order_release);
  served_.store(&served, std::memory_order_release);
}

bool Filesystem::MustWait(uint64_t directory, absl::string_view name) const {
  if (served() != nullptr || (!parts_.goes_on && !settling_)) return false;
  const Node node = UnpackNode(directory);
  const bool at_root = node == Node{};
  return (at_root || node.kind == NodeKind::kPassThrough) &&
         !(at_root && name == kControlName);
}

FilesRead Filesystem::SettleAndAskWhatWasRead() {
  settling_ = true;
  return pass_.reads().Summary();
}

absl::StatusOr<Node> Filesystem::Translate(Node node) {
  const ServedDataset* known = served();
  if (known == nullptr || node.kind != NodeKind::kPassThrough) return node;
  ASSIGN_OR_RETURN(const PassThrough::Place place, pass_.PlaceOf(node.id));
  if (place.known.kind != EntryKind::kDirectory) return node;
  const absl::optional<DirId> dir = known->catalogue().FindDir(place.path);
  if (!dir ||
      !IsSameDir(known->catalogue().dir_attributes(*dir), place.known)) {
    return ErrnoStatus(ESTALE, absl::StrCat(place.path, ": not as scanned"));
  }
  return Node{NodeKind::kLiveDir, 0, 0, dir->value()};
}

absl::StatusOr<NodeReply> Filesystem::Lookup(uint64_t parent,
                                             absl::string_view name,
                                             Caller caller) {
  const pid_t pid = caller.pid;
  Node node = UnpackNode(parent);
  const bool at_root = node == Node{};
  if (at_root && name == kControlName) return control_dir_.Root();
  if (node.kind == NodeKind::kControlDir) {
    return control_dir_.Lookup(node, name, caller.uid);
  }
  if (at_root) {
    if (const absl::optional<Node> pin = pinner_.Lookup(name)) {
      return NodeReply{PackNode(*pin),
                       DentryPinner::DirStat(*pin, parts_.owner.uid), kForLife,
                       kForLife};
    }
    // Only for the daemon: by this name others would reach a file without the
    // rights to search its directory.
    const BackingFiles* const backing = backing_;
    if (backing != nullptr && pid != 0 && pid == parts_.looker) {
      const absl::optional<uint64_t> cut = backing->NodeOfCutOffName(name);
      if (cut) return GetAttributes(*cut);
    }
  }
  if (node.kind == NodeKind::kPinDir) {
    const absl::optional<Node> pinned = pinner_.Pinned(node, name);
    if (!pinned) return ErrnoStatus(ENOENT, name);
    ASSIGN_OR_RETURN(NodeReply reply, GetAttributes(PackNode(*pinned)));
    reply.entry_seconds = kForLife;
    return reply;
  }
  const bool is_pass = node.kind == NodeKind::kPassThrough;
  ASSIGN_OR_RETURN(node, Translate(node));
  Tree* tree = tree_.load(std::memory_order_acquire);
  if (tree != nullptr && node.kind != NodeKind::kPassThrough) {
    absl::StatusOr<NodeReply> found = tree->Lookup(node, name, pid);
    if (is_pass && found.ok()) NoteUnreported(node, UnpackNode(found->nodeid));
    return found;
  }
  return LookupPassThrough(at_root ? 0 : node.id, name);
}

void Filesystem::NoteUnreported(Node dir, Node found) {
  if (found.kind != NodeKind::kLiveFile) return;
  View* const view = served()->view_of(DirId(dir.id));
  if (view != nullptr) view->NoteUnseenReader();
}

absl::StatusOr<NodeReply> Filesystem::LookupPassThrough(
    uint32_t parent, absl::string_view name) {
  ASSIGN_OR_RETURN(PassThrough::Found found, pass_.Lookup(parent, name));
  const Node node{NodeKind::kPassThrough, 0, 0, found.id};
  struct stat st = found.attributes;
  if (!S_ISDIR(st.st_mode)) st.st_mode &= ~0222u;
  return NodeReply{PackNode(node), st, 0, 0};
}

void Filesystem::Forget(uint64_t nodeid, uint64_t count) {
  const Node node = UnpackNode(nodeid);
  if (node.kind == NodeKind::kPassThrough) pass_.Forget(node.id, count);
  if (node.kind == NodeKind::kControlFile ||
      node.kind == NodeKind::kControlDir) {
    control_dir_.Forget(node, count);
  }
  if (node.kind == NodeKind::kFixedDir || node.kind == NodeKind::kFixedRanked ||
      node.kind == NodeKind::kContainer) {
    if (Tree* tree = tree_.load(std::memory_order_acquire)) {
      tree->Forget(node, count);
    }
  }
}

absl::StatusOr<NodeReply> Filesystem::GetAttributes(uint64_t nodeid) {
  const Node node = UnpackNode(nodeid);
  Tree* tree = tree_.load(std::memory_order_acquire);
  NodeReply reply{nodeid, {}, 0, kForLife};
  switch (node.kind) {
    case NodeKind::kControlDir:
    case NodeKind::kControlFile: {
      ASSIGN_OR_RETURN(reply.attributes, control_dir_.Attributes(node));
      return reply;
    }
    case NodeKind::kPinDir:
      reply.attributes = DentryPinner::DirStat(node, parts_.owner.uid);
      return reply;
    case NodeKind::kPassThrough:
      break;
    default:
      if (tree == nullptr) break;
      return tree->Attributes(node);
  }
  const bool is_pass = node.kind == NodeKind::kPassThrough;
  ASSIGN_OR_RETURN(const Node dir, Translate(node));
  if (is_pass && dir.kind == NodeKind::kLiveDir && tree != nullptr) {
    reply.attributes = tree->LiveDir(DirId(dir.id)).attributes;
    reply.attribute_seconds = 0;
    return reply;
  }
  ASSIGN_OR_RETURN(reply.attributes,
                   is_pass ? pass_.Stat(node.id) : root_.Get(asker_));
  if (!S_ISDIR(reply.attributes.st_mode)) reply.attributes.st_mode &= ~0222u;
  reply.attribute_seconds = 0;
  return reply;
}

absl::StatusOr<NodeReply> Filesystem::SetAttributes(uint64_t nodeid,
                                                    bool only_size) {
  if (!only_size) return ReadOnly();
  RETURN_IF_ERROR(control_dir_.CheckWritable(UnpackNode(nodeid)));
  return GetAttributes(nodeid);
}

absl::StatusOr<std::string> Filesystem::ReadLink(uint64_t nodeid) {
  const Node node = UnpackNode(nodeid);
  if (node.kind == NodeKind::kPassThrough) return pass_.ReadLink(node.id);
  const ServedDataset* known = served();
  if (known == nullptr ||
      (node.kind != NodeKind::kLiveFile && node.kind != NodeKind::kFixedFile)) {
    return ErrnoStatus(EINVAL, "not a link");
  }
  return TargetOf(*parts_.source, known->catalogue(), EntryId(node.id));
}

absl::StatusOr<std::unique_ptr<DirHandle>> Filesystem::OpenDir(uint64_t nodeid,
                                                               Caller caller) {
  Node node = UnpackNode(nodeid);
  if (node.kind == NodeKind::kControlDir) return control_dir_.OpenDir(node);
  if (node.kind == NodeKind::kPinDir) return pinner_.List(node);
  const bool is_pass = node.kind == NodeKind::kPassThrough;
  ASSIGN_OR_RETURN(node, Translate(node));
  // The kernel may keep what the listing finds, and open it without a lookup.
  if (is_pass && node.kind == NodeKind::kLiveDir &&
      served()->catalogue().has_files(DirId(node.id))) {
    NoteUnreported(node, Node{NodeKind::kLiveFile});
  }
  Tree* tree = tree_.load(std::memory_order_acquire);
  if (tree != nullptr && node.kind != NodeKind::kPassThrough) {
    const bool primes = warmer_.IsPriming(caller.pid);
    View* view = node.kind == NodeKind::kLiveDir && !primes
                     ? served()->view_of(DirId(node.id))
                     : nullptr;
    if (view != nullptr) view->NoteListing(MonotonicNow());
    if (node.kind == NodeKind::kLiveDir) return tree->OpenDir(node, primes);
    ASSIGN_OR_RETURN(auto part, control_dir_.HoldEpoch(caller.uid));
    ASSIGN_OR_RETURN(auto dir, tree->OpenDir(node, primes));
    dir->Hold(std::move(part));
    return dir;
  }
  return pass_.List(node.kind == NodeKind::kPassThrough ? node.id : 0);
}

bool Filesystem::OpensAreUnseen() const {
  if (parts_.open == OpenMode::kSeen) return false;
  if (parts_.open == OpenMode::kUnseen || kernel_opens_) return true;
  const ServedDataset* known = served();  // null: not known yet
  return known != nullptr && known->opens().by == OpensSeen::By::kNothing;
}

absl::StatusOr<OpenReply> Filesystem::Open(uint64_t nodeid, int flags,
                                           int32_t pid) {
  const Node node = UnpackNode(nodeid);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes || (flags & O_TRUNC) != 0) {
    RETURN_IF_ERROR(control_dir_.CheckWritable(node));
  }
  if (node.kind == NodeKind::kPassThrough) {
    pass_.NoteUse(node.id);
    // A reader that looked it up just before must look it up again, and wait.
    if (settling_) return OpenReply{.stale = true};
  }
  if (OpensAreUnseen()) return OpenReply{.unseen = true};
  if (node.kind == NodeKind::kPassThrough) pass_.NoteOpen(node.id);
  const ServedDataset* known = served();
  if (node.kind == NodeKind::kContainer && IsStale(node, pid)) {
    parts_.metrics->Add(Counter::kStaleOpens);
    return OpenReply{.stale = true};
  }
  const bool counts = pid == 0 || pid != parts_.looker;
  if (node.kind == NodeKind::kLiveFile && known != nullptr && counts) {
    const EntryId file(node.id);
    View* view = known->view_of(known->catalogue().parent(file));
    if (view != nullptr && view->Open(file, pid, MonotonicNow(), node.slot) ==
                               View::OpenVerdict::kStale) {
      parts_.metrics->Add(Counter::kStaleOpens);
      return OpenReply{.stale = true};
    }
  }
  OpenReply reply{
      .keep_cache = node.kind != NodeKind::kPassThrough && !IsReadAgain(node),
      .writes = writes};
  reply.reads = ReadsOf(node);
  if (reply.reads != ReadBy::kDaemon) {
    reply.bytes = known->catalogue().file_size(EntryId(node.id));
  }
  return reply;
}

ReadBy Filesystem::ReadsOf(Node node) const {
  const ServedDataset* const known = served();
  if (backing_ == nullptr || known == nullptr || !known->backing().on ||
      (node.kind != NodeKind::kLiveFile && node.kind != NodeKind::kFixedFile)) {
    return ReadBy::kDaemon;
  }
  const EntryId file(node.id);
  if (known->catalogue().kind(file) != EntryKind::kFile ||
      known->catalogue().file_size(file) < known->backing().least) {
    return ReadBy::kDaemon;
  }
  return ProviderOf(node) == nullptr ? ReadBy::kKernel : ReadBy::kDaemonNow;
}

bool Filesystem::IsStale(Node node, int32_t pid) const {
  const std::shared_ptr<RecordEpoch> records =
      tree_.load(std::memory_order_acquire)->RecordsOf(node);
  return records == nullptr || served()->views()[node.view]->OpenContainer(
                                   EntryId(node.id), *records, pid,
                                   MonotonicNow()) == View::OpenVerdict::kStale;
}

bool Filesystem::IsReadAgain(Node node) const {
  if (node.kind != NodeKind::kContainer) return false;
  const std::shared_ptr<RecordEpoch> records =
      tree_.load(std::memory_order_acquire)->RecordsOf(node);
  return records != nullptr && records->IsReadAgain(EntryId(node.id));
}

bool Filesystem::AsksSource(uint64_t nodeid) const {
  switch (UnpackNode(nodeid).kind) {
    case NodeKind::kPassThrough:
      return true;
    case NodeKind::kLiveDir:
      return served() == nullptr;
    default:
      return false;
  }
}

void Filesystem::Stop() { asker_.Stop(); }

absl::StatusOr<absl::optional<size_t>> Filesystem::Read(uint64_t nodeid,
                                                        uint64_t offset,
                                                        absl::Span<char> out) {
  const Node node = UnpackNode(nodeid);
  if (node.kind == NodeKind::kControlFile) {
    return control_dir_.Read(node, offset, out);
  }
  if (node.kind == NodeKind::kPassThrough) {
    if (parts_.passed_through && served() == nullptr) {
      std::call_once(passed_, parts_.passed_through);
    }
    return pass_.Read(node.id, offset, out);
  }
  const ServedDataset* known = served();
  if (known == nullptr ||
      (node.kind != NodeKind::kLiveFile && node.kind != NodeKind::kFixedFile)) {
    return ErrnoStatus(EISDIR, "read");
  }
  const EntryId file(node.id);
  if (known->catalogue().kind(file) != EntryKind::kFile) {
    return ErrnoStatus(EINVAL, "not a regular file");
  }
  NoteRead(node);
  const absl::optional<size_t> got =
      known->plain().ReadAtOnce(file, offset, out);
  if (got) parts_.metrics->Add(Counter::kServedBytes, *got);
  return got;
}

void Filesystem::ReadLater(uint64_t nodeid, uint64_t offset, uint64_t length,
                           ContentProvider::ReadDone done) {
  served()->plain().Read(FileOf(nodeid), offset, length, std::move(done));
}

std::shared_ptr<ContentProvider> Filesystem::ProviderOf(Node node) const {
  const ServedDataset* known = served();
  if (node.kind == NodeKind::kContainer) {
    return tree_.load(std::memory_order_acquire)->RecordsOf(node);
  }
  const bool live = node.kind == NodeKind::kLiveFile;
  if (known == nullptr || (!live && node.kind != NodeKind::kFixedFile)) {
    return nullptr;
  }
  const EntryId file(node.id);
  const View* view = known->view_of(known->catalogue().parent(file));
  return view == nullptr ? nullptr : view->ProviderOf(file, live);
}

std::shared_ptr<ContentProvider> Filesystem::ServingProvider(uint64_t nodeid,
                                                             uint64_t offset,
                                                             int32_t pid) {
  const Node node = UnpackNode(nodeid);
  const EntryId file(node.id);
  std::shared_ptr<ContentProvider> provider = ProviderOf(node);
  if (provider == nullptr) return nullptr;
  if (offset == 0) provider->OnFirstRead(file, ReaderOf(pid), MonotonicNow());
  if (!provider->CanServe(file)) return nullptr;
  if (provider->kernel_should_cache()) NoteRead(node);
  if (IsLiveContainer(node)) served()->views()[node.view]->NoteRead();
  return provider;
}

bool Filesystem::IsLiveContainer(Node node) const {
  if (node.kind != NodeKind::kContainer) return false;
  const std::shared_ptr<RecordEpoch> records =
      tree_.load(std::memory_order_acquire)->RecordsOf(node);
  return records != nullptr && records->live();
}

bool Filesystem::AnswersFromMemory(uint64_t nodeid) const {
  const Node node = UnpackNode(nodeid);
  const std::shared_ptr<ContentProvider> provider = ProviderOf(node);
  return provider != nullptr && provider->IsResident(EntryId(node.id));
}

void Filesystem::NoteRead(Node node) {
  if (node.kind != NodeKind::kLiveFile) return;
  const ServedDataset* known = served();
  const EntryId file(node.id);
  View* view = known->view_of(known->catalogue().parent(file));
  if (view != nullptr) view->NoteRead();
  pinner_.NoteRead(file);
}

void Filesystem::Release(uint64_t nodeid) {
  const Node node = UnpackNode(nodeid);
  if (node.kind == NodeKind::kPassThrough) pass_.reads().NoteClosed(node.id);
  const std::shared_ptr<ContentProvider> provider = ProviderOf(node);
  if (provider != nullptr) provider->Close(EntryId(node.id));
}

absl::Status Filesystem::Write(uint64_t nodeid, const WrittenText& text) {
  return control_dir_.Write(UnpackNode(nodeid), text);
}

absl::StatusOr<std::string> Filesystem::GetXattr(uint64_t nodeid,
                                                 absl::string_view name) {
  const Node node = UnpackNode(nodeid);
  const ServedDataset* known = served();
  const bool is_file = node.kind == NodeKind::kLiveFile ||
                       node.kind == NodeKind::kFixedFile ||
                       node.kind == NodeKind::kContainer;
  if (name != kSampleXattr || known == nullptr || !is_file) {
    return ErrnoStatus(ENODATA, name);
  }
  // Under an open name its users could learn names that they may not list.
  ShownRights& rights = tree_.load(std::memory_order_acquire)->rights();
  if (!rights.NamesAreOpen(EntryId(node.id))) return ErrnoStatus(ENODATA, name);
  return known->catalogue().path(EntryId(node.id));
}

}  // namespace shufflefs
