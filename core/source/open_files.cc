// SPDX-License-Identifier: Apache-2.0
#include "core/source/open_files.h"

namespace shufflefs {

std::shared_ptr<const OpenFile> OpenFiles::Find(const std::string& path) {
  MutexLock lock(mu_);
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->second;
}

std::shared_ptr<const OpenFile> OpenFiles::Owned(OpenFile file) const {
  if (close_ == nullptr) {
    return std::make_shared<const OpenFile>(std::move(file));
  }
  auto owned = std::make_unique<OpenFile>(std::move(file));
  return {owned.release(), [close = close_](OpenFile* gone) {
            close(std::move(gone->fd));
            delete gone;
          }};
}

std::shared_ptr<const OpenFile> OpenFiles::Keep(const std::string& path,
                                                OpenFile file) {
  std::shared_ptr<const OpenFile> kept = Owned(std::move(file));
  MutexLock lock(mu_);
  if (by_path_.contains(path)) return kept;
  recent_.emplace_front(path, std::move(kept));
  by_path_[path] = recent_.begin();
  if (recent_.size() <= most_) return nullptr;
  const Entry closed = std::move(recent_.back());
  by_path_.erase(closed.first);
  recent_.pop_back();
  return closed.second;
}

void OpenFiles::Drop(const std::string& path) {
  Entry closed;  // closed without the lock
  MutexLock lock(mu_);
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return;
  closed = std::move(*found->second);
  recent_.erase(found->second);
  by_path_.erase(found);
}

}  // namespace shufflefs
