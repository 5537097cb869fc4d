// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/tree.h"

#include <cerrno>
#include <utility>

#include "core/base/status.h"
#include "core/binding/ranked_names.h"
#include "fs/model/monotonic_now.h"
#include "fs/tree/tree_dirs.h"

namespace shufflefs {
namespace {

// Slot of a file node with a ranked name.
constexpr uint32_t kRankedFile = 1;

absl::Status NoSuchName() { return ErrnoStatus(ENOENT, "no such name"); }

}  // namespace

Tree::Tree(const Parts& parts)
    : served_(*parts.served),
      rights_(*parts.rights),
      rebind_seconds_(parts.rebind_seconds),
      warmer_(parts.warmer),
      epochs_(parts.epochs) {}

absl::StatusOr<NodeReply> Tree::Lookup(Node parent, absl::string_view name,
                                       pid_t pid) {
  switch (parent.kind) {
    case NodeKind::kLiveDir:
      return LookupLive(DirId(parent.id), name, pid);
    case NodeKind::kFixedDir:
      return LookupFixed(parent, name);
    case NodeKind::kFixedRanked:
      return LookupRanked(*served_.views()[parent.view], name);
    default:
      return ErrnoStatus(ENOTDIR, name);
  }
}

absl::StatusOr<NodeReply> Tree::LookupLive(DirId dir, absl::string_view name,
                                           pid_t pid) {
  if (const View* ranked = served_.ranked_at(dir)) {
    return LookupRanked(*ranked, name);
  }
  const Catalogue& catalogue = served_.catalogue();
  const absl::optional<EntryId> entry = catalogue.Find(dir, name);
  if (!entry) return NoSuchName();
  if (catalogue.kind(*entry) == EntryKind::kDirectory) {
    return LiveDir(catalogue.as_dir(*entry));
  }
  View* view = served_.view_of(dir);
  Node node{NodeKind::kLiveFile, 0, 0, entry->value()};
  if (view == nullptr) return Reply(node, kForLife);
  if (std::shared_ptr<RecordEpoch> records = view->LookupContainer(*entry)) {
    return LookupContainer(*view, std::move(records), *entry);
  }
  const View::Found found = view->Lookup(*entry, pid, MonotonicNow());
  node.id = found.shown.value();
  node.slot = found.ordinal;
  if (found.rebinds && found.listed && warmer_ != nullptr) {
    warmer_->NoteLookup(dir);
  }
  if (!found.lasts) return Reply(node, 0);
  return Reply(node, found.rebinds ? rebind_seconds_ : kForLife);
}

absl::StatusOr<NodeReply> Tree::LookupFixed(Node parent,
                                            absl::string_view name) {
  const Catalogue& catalogue = served_.catalogue();
  const absl::optional<EntryId> entry = catalogue.Find(DirId(parent.id), name);
  if (!entry) return NoSuchName();
  Node node = parent;
  if (catalogue.kind(*entry) == EntryKind::kDirectory) {
    node.id = catalogue.as_dir(*entry).value();
    epochs_->TakeAgain(node.slot);
    return Reply(node, kForLife);
  }
  const View& view = *served_.views()[parent.view];
  if (std::shared_ptr<RecordEpoch> records =
          view.FixedRecords(epochs_->At(parent.slot));
      records != nullptr && records->Has(*entry)) {
    return LookupContainer(view, std::move(records), *entry);
  }
  const EntryId shown =
      view.FixedBinding(epochs_->At(parent.slot))->Shown(*entry);
  // Another policy or seed gives the epoch another content.
  return Reply(Node{NodeKind::kFixedFile, 0, 0, shown.value()},
               rebind_seconds_);
}

absl::StatusOr<NodeReply> Tree::LookupRanked(const View& view,
                                             absl::string_view name) {
  const absl::optional<EntryId> file = view.setup()->ranked->Find(name);
  if (!file) return NoSuchName();
  const Node node{NodeKind::kFixedFile, static_cast<uint8_t>(view.id()),
                  kRankedFile, file->value()};
  return Reply(node, kForLife);
}

absl::StatusOr<NodeReply> Tree::LookupContainer(
    const View& view, std::shared_ptr<RecordEpoch> records, EntryId entry) {
  Node node{NodeKind::kContainer, static_cast<uint8_t>(view.id()), 0,
            entry.value()};
  ASSIGN_OR_RETURN(node.slot, records_.Take(std::move(records)));
  absl::StatusOr<NodeReply> reply = Reply(node, rebind_seconds_);
  if (!reply.ok()) records_.Forget(node.slot, 1);
  return reply;
}

absl::StatusOr<NodeReply> Tree::Reply(Node node, double entry_seconds) const {
  ASSIGN_OR_RETURN(NodeReply reply, Attributes(node));
  reply.entry_seconds = entry_seconds;
  return reply;
}

NodeReply Tree::LiveDir(DirId dir) const {
  struct stat st = StatOf(served_.catalogue().dir_attributes(dir));
  st.st_mode = rights_.OfDir(dir);
  if (const View* ranked = served_.ranked_at(dir)) HideNames(*ranked, st);
  return NodeReply{PackNode(Node{NodeKind::kLiveDir, 0, 0, dir.value()}), st,
                   kForLife, rights_.seconds()};
}

// A ranked listing shows names from all directories of its view.
void Tree::HideNames(const View& view, struct stat& st) const {
  const mode_t bits = rights_.ListingOf(view).bits;
  st.st_mode &= ~0444u | bits * 4;
}

absl::StatusOr<NodeReply> Tree::Attributes(Node node) const {
  if (node.kind == NodeKind::kLiveDir &&
      node.id < served_.catalogue().dir_count()) {
    return LiveDir(DirId(node.id));
  }
  ASSIGN_OR_RETURN(struct stat st, StatOfNode(node));
  NodeReply reply{PackNode(node), st, 0, kForLife};
  if (DependsOnDirs(node)) {
    reply.rights_seconds = rights_.seconds();
    reply.attribute_seconds = reply.rights_seconds;
  }
  if (node.kind != NodeKind::kContainer) return reply;
  std::shared_ptr<RecordEpoch> records = RecordsOf(node);
  if (records == nullptr) return ErrnoStatus(ESTALE, "unknown epoch");
  const absl::optional<ContainerSet::Shown> size =
      records->KnownBytes(EntryId(node.id));
  if (size) {
    SetSize(size->bytes, reply.attributes);
    if (!size->is_final) reply.attribute_seconds = 0;
  } else {
    reply.sized_by = std::move(records);
    reply.attribute_seconds = 0;
  }
  return reply;
}

absl::StatusOr<struct stat> Tree::StatOfNode(Node node) const {
  const Catalogue& catalogue = served_.catalogue();
  switch (node.kind) {
    case NodeKind::kLiveFile:
    case NodeKind::kContainer:
    case NodeKind::kFixedFile: {
      if (node.id >= catalogue.entry_count()) break;
      struct stat st = StatOf(catalogue.attributes(EntryId(node.id)));
      if (node.kind == NodeKind::kFixedFile && node.slot == kRankedFile) {
        st.st_mode = rights_.Searchable(
            st, catalogue.parent(EntryId(node.id)),
            served_.views()[node.view]->setup()->dataset->root());
      } else if (rights_.CrossesDirs(node) && rights_.IsClosed(node)) {
        st.st_mode &= ~0777u;
      }
      return st;
    }
    case NodeKind::kFixedDir:
    case NodeKind::kFixedRanked:
      return FixedDirStat(node);
    default:
      break;
  }
  return ErrnoStatus(ESTALE, "unknown node");
}

// Returns whether a node's attributes depend on what directories allow now.
bool Tree::DependsOnDirs(Node node) const {
  switch (node.kind) {
    case NodeKind::kFixedDir:
    case NodeKind::kFixedRanked:
      return true;
    case NodeKind::kFixedFile:
      return node.slot == kRankedFile || rights_.CrossesDirs(node);
    default:
      return rights_.CrossesDirs(node);
  }
}

struct stat Tree::FixedDirStat(Node node) const {
  const Catalogue& catalogue = served_.catalogue();
  const DirId root = served_.views()[node.view]->setup()->dataset->root();
  const DirId dir = node.kind == NodeKind::kFixedDir ? DirId(node.id) : root;
  struct stat st = StatOf(catalogue.dir_attributes(dir));
  st.st_mode = rights_.OfDir(dir);
  // A path through the control directory bypasses the directories above the
  // view. The source itself is at the mount point.
  if (dir == root && root != DirId(0)) {
    st.st_mode = rights_.Searchable(st, catalogue.parent(root), DirId(0));
  }
  if (node.kind == NodeKind::kFixedRanked) {
    HideNames(*served_.views()[node.view], st);
  }
  // Differs from the live directory's inode, because tree walkers would take
  // equal ones for a loop.
  st.st_ino = PackNode(node);
  return st;
}

absl::StatusOr<NodeReply> Tree::FixedRoot(const View& view, Epoch epoch,
                                          bool ranked) {
  ASSIGN_OR_RETURN(uint32_t slot, epochs_->Take(epoch));
  const DirId root = view.setup()->dataset->root();
  return Reply(
      Node{ranked ? NodeKind::kFixedRanked : NodeKind::kFixedDir,
           static_cast<uint8_t>(view.id()), slot, ranked ? 0 : root.value()},
      kForLife);
}

void Tree::Forget(Node node, uint64_t count) {
  if (node.kind == NodeKind::kContainer) {
    records_.Forget(node.slot, count);
  } else {
    epochs_->Forget(node.slot, count);
  }
}

absl::StatusOr<std::unique_ptr<DirHandle>> Tree::OpenDir(Node node,
                                                         bool binds) const {
  switch (node.kind) {
    case NodeKind::kLiveDir: {
      const DirId dir(node.id);
      View* view = served_.view_of(dir);
      if (const View* ranked = served_.ranked_at(dir)) {
        return MakeRankedDir(served_, *ranked, ranked->binding());
      }
      if (view == nullptr) return MakeSourceDir(served_, dir);
      return MakeLiveDir(served_, *view, dir, binds && view->BindByListing());
    }
    case NodeKind::kFixedDir:
      return MakeFixedDir(
          served_,
          served_.views()[node.view]->FixedBinding(epochs_->At(node.slot)),
          node);
    case NodeKind::kFixedRanked: {
      const View& view = *served_.views()[node.view];
      return MakeRankedDir(served_, view,
                           view.FixedRanks(epochs_->At(node.slot)));
    }
    default:
      return ErrnoStatus(ENOTDIR, "not a directory");
  }
}

}  // namespace shufflefs
