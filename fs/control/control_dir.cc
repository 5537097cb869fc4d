// SPDX-License-Identifier: Apache-2.0
#include "fs/control/control_dir.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// Ids of the directories: the `id` of a kControlDir node. All except the first
// two belong to one view.
enum ControlDirId : uint32_t { kTop, kViews, kView, kEpochs, kEpoch };

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

Node DirNode(ControlDirId id, int view = 0, uint32_t slot = 0) {
  return Node{NodeKind::kControlDir, static_cast<uint8_t>(view), slot, id};
}

// The inode number of a control file, the same for all its snapshots. No node
// packs to it, because snapshots have slot 0.
uint64_t InodeOf(ControlFile file, int view) {
  const bool of_mount = view < 0;
  return PackNode(Node{NodeKind::kControlFile,
                       static_cast<uint8_t>(of_mount ? 0 : view),
                       of_mount ? 1u : 2u, static_cast<uint32_t>(file)});
}

absl::Status NoSuchFile() { return ErrnoStatus(ENOENT, "no such file"); }

constexpr size_t kLarge = size_t{1} << 20;

// About what a snapshot takes beside its text, and an open directory of an
// epoch.
constexpr size_t kSnapshotBytes = 256;
constexpr size_t kEpochDirBytes = size_t{40} << 10;

mode_t ModeOf(ControlFile file) {
  for (const ControlFileInfo& info : ControlFileTable()) {
    if (info.file == file) return info.mode;
  }
  return 0;
}

}  // namespace

ControlDir::ControlDir(ControlFiles& files, Owner owner)
    : files_(files), owner_(owner), born_ns_(NowNs()), memory_(owner.uid) {}

void ControlDir::SetServed(const ServedDataset* served, Tree* tree) {
  MutexLock lock(mu_);
  served_ = served;
  tree_ = tree;
}

const ServedDataset* ControlDir::served() const {
  MutexLock lock(mu_);
  return served_;
}

Tree* ControlDir::tree() const {
  MutexLock lock(mu_);
  return tree_;
}

NodeReply ControlDir::Root() const {
  const Node node = DirNode(kTop);
  return NodeReply{PackNode(node), DirStat(node), kForLife, kForLife};
}

// The view that a directory's files concern: its own, or the only one. Empty at
// the top of a mount with several views.
absl::optional<int> ControlDir::ViewOf(Node dir) const {
  if (dir.id != kTop && dir.id != kViews) return dir.view;
  const ServedDataset* known = served();
  if (known != nullptr && known->views().size() == 1) return 0;
  return absl::nullopt;
}

absl::StatusOr<NodeReply> ControlDir::Lookup(Node parent,
                                             absl::string_view name,
                                             uid_t user) {
  if (parent.kind != NodeKind::kControlDir) {
    return ErrnoStatus(ENOTDIR, name);
  }
  if (parent.id == kViews) {
    const ServedDataset* known = served();
    const View* view = known == nullptr ? nullptr : known->FindView(name);
    if (view == nullptr) return NoSuchFile();
    const Node node = DirNode(kView, view->id());
    return NodeReply{PackNode(node), DirStat(node), kForLife, kForLife};
  }
  if (parent.id == kEpochs || parent.id == kEpoch) {
    return LookupEpochs(parent, name);
  }
  const absl::optional<int> view = ViewOf(parent);
  if (name == "epoch" && view) {
    const Node node = DirNode(kEpochs, *view);
    return NodeReply{PackNode(node), DirStat(node), kForLife, kForLife};
  }
  if (name == "view" && parent.id == kTop) {
    const Node node = DirNode(kViews);
    return NodeReply{PackNode(node), DirStat(node), kForLife, kForLife};
  }
  const absl::optional<ControlFile> file = FindControlFile(name);
  if (!file) return NoSuchFile();
  return MakeSnapshot(*file, view.value_or(-1), user);
}

absl::StatusOr<NodeReply> ControlDir::LookupEpochs(Node parent,
                                                   absl::string_view name) {
  const ServedDataset* known = served();
  if (known == nullptr) return NoSuchFile();
  if (parent.id == kEpoch) {
    if (name != "tree" && name != "ranked") return NoSuchFile();
    return tree()->FixedRoot(*known->views()[parent.view],
                             tree()->epochs().At(parent.slot),
                             name == "ranked");
  }
  uint64_t epoch = 0;
  // Each epoch has one spelling: "07" or "+7" would be other paths to it.
  if (!absl::SimpleAtoi(name, &epoch) || absl::StrCat(epoch) != name) {
    return NoSuchFile();
  }
  ASSIGN_OR_RETURN(uint32_t slot, tree()->epochs().Take(Epoch(epoch)));
  const Node node = DirNode(kEpoch, parent.view, slot);
  return NodeReply{PackNode(node), DirStat(node), kForLife, kForLife};
}

absl::StatusOr<std::shared_ptr<const HeldMemory::Part>> ControlDir::HoldEpoch(
    uid_t user) {
  return memory_.Take(user, kEpochDirBytes);
}

absl::StatusOr<std::shared_ptr<const ControlDir::Text>> ControlDir::HoldText(
    ControlFile file, int view, uid_t user) {
  Text fresh;
  ASSIGN_OR_RETURN(fresh.text, files_.Share(file, view));
  const uint64_t key = InodeOf(file, view);
  {
    MutexLock lock(mu_);
    std::shared_ptr<const Text> known = last_[key].lock();
    if (known != nullptr &&
        (known->text == fresh.text || *known->text == *fresh.text)) {
      return known;
    }
  }
  ASSIGN_OR_RETURN(fresh.part, memory_.Take(user, fresh.text->size()));
  auto held = std::make_shared<const Text>(std::move(fresh));
  MutexLock lock(mu_);
  last_[key] = held;
  return held;
}

absl::StatusOr<NodeReply> ControlDir::MakeSnapshot(ControlFile file, int view,
                                                   uid_t user) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->file = file;
  snapshot->view = view;
  ASSIGN_OR_RETURN(snapshot->held, HoldText(file, view, user));
  ASSIGN_OR_RETURN(snapshot->part, memory_.Take(user, kSnapshotBytes));
  if (file == ControlFile::kOrder) {
    // Without a number it is the only view, or there would be no order.
    const View& of = *served()->views()[std::max(view, 0)];
    snapshot->names = tree()->rights().ListingOf(of);
  }
  snapshot->made_ns = NowNs();
  snapshot->references = 1;
  MutexLock lock(mu_);
  const Node node{NodeKind::kControlFile, 0, 0, fresh_ids_.Next(snapshots_)};
  snapshots_[node.id] = snapshot;
  return NodeReply{PackNode(node), FileStat(node, *snapshot), 0, kForLife};
}

uint64_t ControlDir::EpochsOf(const View& view) {
  return PackNode(DirNode(kEpochs, static_cast<int>(view.id())));
}

struct stat ControlDir::DirStat(Node node) const {
  struct stat st = {};
  st.st_ino = PackNode(node);
  st.st_mode = S_IFDIR | 0555;
  st.st_nlink = 2;
  st.st_uid = owner_.uid;
  st.st_gid = owner_.gid;
  st.st_mtim.tv_sec = born_ns_ / 1000000000;
  st.st_ctim = st.st_atim = st.st_mtim;
  return st;
}

struct stat ControlDir::FileStat(Node node, const Snapshot& snapshot) const {
  struct stat st = DirStat(node);
  // Not the snapshot's number: tools such as cp look a file up twice, and treat
  // another number as a replaced file.
  st.st_ino = InodeOf(snapshot.file, snapshot.view);
  mode_t mode = ModeOf(snapshot.file);
  if (mode == 0600 && owner_.control_gid) {
    mode = 0660;
    st.st_gid = *owner_.control_gid;
  }
  // It shows names from all directories of the view.
  if (snapshot.file == ControlFile::kOrder && snapshot.names.bits != 0111) {
    mode = 0400 | (snapshot.names.bits * 4);
    st.st_gid = snapshot.names.gid;
  }
  st.st_mode = S_IFREG | mode;
  st.st_nlink = 1;
  st.st_size = static_cast<off_t>(snapshot.text().size());
  st.st_blocks = (st.st_size + 511) / 512;
  st.st_mtim.tv_sec = snapshot.made_ns / 1000000000;
  st.st_mtim.tv_nsec = snapshot.made_ns % 1000000000;
  st.st_ctim = st.st_atim = st.st_mtim;
  return st;
}

absl::StatusOr<struct stat> ControlDir::Attributes(Node node) const {
  if (node.kind == NodeKind::kControlDir) return DirStat(node);
  MutexLock lock(mu_);
  auto found = snapshots_.find(node.id);
  if (found == snapshots_.end()) return ErrnoStatus(ESTALE, "control file");
  return FileStat(node, *found->second);
}

absl::StatusOr<std::unique_ptr<DirHandle>> ControlDir::OpenDir(
    Node node) const {
  const ServedDataset* known = served();
  std::vector<DirEntry> entries;
  auto add = [&](absl::string_view name, mode_t type) {
    entries.push_back(DirEntry{std::string(name), PackNode(node), type, 0});
  };
  add(".", S_IFDIR);
  add("..", S_IFDIR);
  if (node.id == kViews) {
    if (known != nullptr) {
      for (const auto& view : known->views()) add(view->name(), S_IFDIR);
    }
  } else if (node.id == kEpochs) {
    const Epoch live = known->views()[node.view]->EpochStatus().epoch;
    add(absl::StrCat(live.value()), S_IFDIR);
  } else if (node.id == kEpoch) {
    add("tree", S_IFDIR);
    add("ranked", S_IFDIR);
  } else {
    const bool one_view = ViewOf(node).has_value();
    for (const ControlFileInfo& info : ControlFileTable()) {
      if (one_view || !info.per_view) add(info.name, S_IFREG);
    }
    if (one_view) add("epoch", S_IFDIR);
    if (node.id == kTop) add("view", S_IFDIR);
  }
  return std::make_unique<ListedDir>(std::move(entries));
}

absl::StatusOr<size_t> ControlDir::Read(Node node, uint64_t offset,
                                        absl::Span<char> out) const {
  std::shared_ptr<Snapshot> snapshot;
  {
    MutexLock lock(mu_);
    auto found = snapshots_.find(node.id);
    if (found == snapshots_.end()) return ErrnoStatus(ESTALE, "control file");
    snapshot = found->second;
  }
  const std::string& text = snapshot->text();
  if (offset >= text.size()) return size_t{0};
  const size_t n = std::min(out.size(), text.size() - offset);
  memcpy(out.data(), text.data() + offset, n);
  return n;
}

absl::Status ControlDir::CheckWritable(Node node) const {
  if (node.kind == NodeKind::kControlFile) {
    MutexLock lock(mu_);
    auto found = snapshots_.find(node.id);
    if (found == snapshots_.end()) return ErrnoStatus(ESTALE, "control file");
    const ControlFile file = found->second->file;
    if (file == ControlFile::kControl || file == ControlFile::kToken) {
      return absl::OkStatus();
    }
  }
  return ErrnoStatus(EROFS, "the source is never written");
}

absl::Status ControlDir::Write(Node node, const WrittenText& text) {
  RETURN_IF_ERROR(CheckWritable(node));
  ControlFile file;
  int view;
  {
    MutexLock lock(mu_);
    auto found = snapshots_.find(node.id);
    if (found == snapshots_.end()) return ErrnoStatus(ESTALE, "control file");
    file = found->second->file;
    view = found->second->view;
  }
  return files_.Write(file, view, text);
}

void ControlDir::Forget(Node node, uint64_t count) {
  if (node.kind == NodeKind::kControlDir && node.id == kEpoch) {
    if (Tree* known = tree()) known->epochs().Forget(node.slot, count);
  }
  if (node.kind != NodeKind::kControlFile) return;
  std::shared_ptr<Snapshot> gone;
  {
    MutexLock lock(mu_);
    auto found = snapshots_.find(node.id);
    if (found == snapshots_.end()) return;
    found->second->references -= std::min(found->second->references, count);
    if (found->second->references > 0) return;
    gone = std::move(found->second);
    snapshots_.erase(found);
  }
  const bool is_large = gone->text().size() >= kLarge;
  gone.reset();
  // A text that grew piece by piece is scattered over the heap.
  if (is_large) malloc_trim(0);
}

}  // namespace shufflefs
