// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_cache/dentry_pinner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr char kPrefix[] = ".shufflefs-pin-";

std::string PassName(uint32_t pass) { return absl::StrCat(kPrefix, pass); }

}  // namespace

void DentryPinner::NoteRead(EntryId file) {
  {
    MutexLock lock(mu_);
    const size_t id = file.value();
    if (id >= known_.size()) {
      known_.resize(id + 1);
      waiting_.resize(id + 1);
    }
    if (waiting_[id] || (!known_[id] && known_count_ == kLimit)) return;
    if (!known_[id]) ++known_count_;
    known_[id] = waiting_[id] = true;
    new_.push_back(file);
    if (new_.size() != kBatch || !due_) return;
  }
  due_();
}

std::string DentryPinner::BeginPass() {
  MutexLock lock(mu_);
  if (new_.empty()) return "";
  const auto begin =
      new_.end() - static_cast<std::ptrdiff_t>(std::min(kBatch, new_.size()));
  files_.assign(begin, new_.end());
  new_.erase(begin, new_.end());
  for (const EntryId file : files_) waiting_[file.value()] = false;
  pass_ = pass_ + 1 == kSlotLimit ? 1 : pass_ + 1;
  return PassName(pass_);
}

absl::optional<Node> DentryPinner::Lookup(absl::string_view name) const {
  MutexLock lock(mu_);
  if (pass_ == 0 || name != PassName(pass_)) return absl::nullopt;
  return Node{NodeKind::kPinDir, 0, pass_, 0};
}

absl::optional<Node> DentryPinner::Pinned(Node dir,
                                          absl::string_view name) const {
  uint32_t id = 0;
  if (!absl::SimpleAtoi(name, &id)) return absl::nullopt;
  MutexLock lock(mu_);
  if (dir.slot != pass_ || id >= known_.size() || !known_[id]) {
    return absl::nullopt;
  }
  return Node{NodeKind::kLiveFile, 0, 0, id};
}

std::unique_ptr<DirHandle> DentryPinner::List(Node dir) const {
  std::vector<DirEntry> entries;
  MutexLock lock(mu_);
  if (dir.slot == pass_) {
    entries.reserve(files_.size());
    for (const EntryId file : files_) {
      const Node node{NodeKind::kLiveFile, 0, 0, file.value()};
      entries.push_back(DirEntry{absl::StrCat(file.value()), PackNode(node),
                                 S_IFREG, PackNode(node)});
    }
  }
  return std::make_unique<ListedDir>(std::move(entries));
}

struct stat DentryPinner::DirStat(Node node, uid_t owner) {
  struct stat st = {};
  st.st_ino = PackNode(node);
  st.st_mode = S_IFDIR | 0700;
  st.st_nlink = 2;
  st.st_uid = owner;
  return st;
}

size_t WalkPins(MountLister& lister, const std::string& path) {
  MountLister::Listing listing(lister, path);
  size_t files = 0;
  while (const absl::optional<size_t> batch = listing.Next()) files += *batch;
  return files;
}

}  // namespace shufflefs
