// SPDX-License-Identifier: Apache-2.0
#include "fs/pins.h"

#include <fcntl.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/io/unique_fd.h"
#include "fs/take_up.h"

namespace shufflefs {
namespace {

constexpr char kPrefix[] = ".shufflefs-pin-";

std::string PassName(uint32_t pass) { return absl::StrCat(kPrefix, pass); }

}  // namespace

void Pins::NoteRead(EntryId file) {
  MutexLock lock(mu_);
  if (file.value() >= read_.size()) read_.resize(file.value() + 1);
  if (read_[file.value()] || files_.size() == kLimit) return;
  read_[file.value()] = true;
  files_.push_back(file);
}

size_t Pins::size() const {
  MutexLock lock(mu_);
  return files_.size();
}

std::string Pins::Renew(std::string& last) {
  MutexLock lock(mu_);
  last = pass_ == 0 ? "" : PassName(pass_);
  pass_ = (pass_ + 1) % kSlotLimit;
  return PassName(pass_);
}

absl::optional<Node> Pins::Lookup(absl::string_view name) const {
  MutexLock lock(mu_);
  if (pass_ == 0 || name != PassName(pass_)) return absl::nullopt;
  return Node{NodeKind::kPinDir, 0, pass_, 0};
}

absl::optional<Node> Pins::Pinned(Node dir, absl::string_view name) const {
  uint32_t id = 0;
  if (!absl::SimpleAtoi(name, &id)) return absl::nullopt;
  MutexLock lock(mu_);
  if (dir.slot != pass_ || id >= read_.size() || !read_[id]) {
    return absl::nullopt;
  }
  return Node{NodeKind::kLiveFile, 0, 0, id};
}

std::unique_ptr<DirHandle> Pins::List(Node dir) const {
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

struct stat Pins::DirStat(Node node, uid_t owner) {
  struct stat st = {};
  st.st_ino = PackNode(node);
  st.st_mode = S_IFDIR | 0700;
  st.st_nlink = 2;
  st.st_uid = owner;
  return st;
}

size_t WalkPins(const std::string& mountpoint, const std::string& name) {
  const UniqueFd fd(open(absl::StrCat(mountpoint, "/", name).c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return 0;
  TakeUp take_up(fd.get());
  size_t files = 0;
  while (const absl::optional<size_t> batch = take_up.Next()) files += *batch;
  return files;
}

}  // namespace shufflefs
