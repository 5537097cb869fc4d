// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/passed_reads.h"

#include <utility>

namespace shufflefs {
namespace {

// Before the catalogue is ready nobody asks who a reader is.
PassTracker::OpenIs OpenHidden(RecordEpoch& records, EntryId file) {
  return records.Open(file, PassReader{}, [](uint32_t) { return false; });
}

}  // namespace

void PassedReads::NoteUse(const std::string& path) {
  MutexLock lock(mu_);
  used_ = true;
  if (served_ == nullptr) FileOf(path);
}

PassedReads::File* PassedReads::FileOf(const std::string& path) {
  const auto found = files_.find(path);
  if (found != files_.end()) return &found->second;
  if (files_.size() < kMost) return &files_[path];
  lost_ = true;
  return nullptr;
}

void PassedReads::NoteOpen(uint32_t id, const std::string& path) {
  MutexLock lock(mu_);
  if (served_ != nullptr) {
    const absl::optional<Target> target = TargetOf(path);
    if (!target || OpenHidden(*target->records, target->file) !=
                       PassTracker::OpenIs::kOfThisPass) {
      return;
    }
  } else if (File* const file = FileOf(path)) {
    file->was_opened = true;
  } else {
    return;
  }
  Node& node = open_[id];
  node.path = path;
  ++node.open;
}

void PassedReads::NoteClosed(uint32_t id) {
  MutexLock lock(mu_);
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const absl::optional<Target> target = TargetOf(found->second.path);
  if (target) target->records->Close(target->file);
  if (--found->second.open == 0) open_.erase(found);
}

void PassedReads::NoteRead(const std::string& path, uint64_t begin,
                           uint64_t end) {
  MutexLock lock(mu_);
  used_ = true;
  if (served_ != nullptr) {
    const absl::optional<Target> target = TargetOf(path);
    if (target) target->records->NotePassed(target->file, begin, end);
    return;
  }
  File* const file = FileOf(path);
  if (file == nullptr) return;
  if (pieces_ >= kMost) {
    lost_ = true;
    return;
  }
  pieces_ += static_cast<uint64_t>(file->seen.Add(begin, end, kMost));
}

FilesRead PassedReads::Summary() const {
  FilesRead read;
  MutexLock lock(mu_);
  if (used_) read.what = ReadBefore::kSomething;
  read.complete = !lost_;
  for (const auto& [path, file] : files_) read.paths.push_back(path);
  return read;
}

absl::optional<PassedReads::Target> PassedReads::TargetOf(
    const std::string& path) const {
  if (served_ == nullptr) return absl::nullopt;
  const Catalogue& catalogue = served_->catalogue();
  const absl::optional<EntryId> file = catalogue.FindPath(path);
  if (!file) return absl::nullopt;
  const View* const view = served_->view_of(catalogue.parent(*file));
  if (view == nullptr) return absl::nullopt;
  std::shared_ptr<RecordEpoch> records = epochs_[view->id()].lock();
  if (records == nullptr || !records->Has(*file)) return absl::nullopt;
  return Target{std::move(records), *file};
}

void PassedReads::Begin(const ServedDataset& served) {
  MutexLock lock(mu_);
  served_ = &served;
  for (const auto& view : served.views()) {
    std::shared_ptr<RecordEpoch> records = view->records();
    const bool counts =
        records != nullptr && records->read_before() == ReadBefore::kSomething;
    epochs_.push_back(counts ? std::move(records) : nullptr);
  }
  // Opens come first: nothing of the pass is complete by then.
  for (const auto& [path, file] : files_) {
    const absl::optional<Target> target = TargetOf(path);
    if (!target || !file.was_opened) continue;
    OpenHidden(*target->records, target->file);
    target->records->Close(target->file);
  }
  for (const auto& [id, node] : open_) {
    const absl::optional<Target> target = TargetOf(node.path);
    for (uint64_t i = 0; target && i < node.open; ++i) {
      OpenHidden(*target->records, target->file);
    }
  }
  for (const auto& [path, file] : files_) {
    const absl::optional<Target> target = TargetOf(path);
    if (!target) continue;
    for (const auto& [begin, end] : file.seen.all()) {
      target->records->NotePassed(target->file, begin, end);
    }
  }
  files_.clear();
}

}  // namespace shufflefs
