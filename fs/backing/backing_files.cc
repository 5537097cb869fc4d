// SPDX-License-Identifier: Apache-2.0
#include "fs/backing/backing_files.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "fs/backing/write_lease.h"

namespace shufflefs {
namespace {

// Together they take as long as the kernel makes a writer wait.
constexpr int kMostTries = 15;
constexpr absl::string_view kCutOffPrefix = ".shufflefs-cut-";

void CountDown(absl::flat_hash_map<uint64_t, size_t>& counts, uint64_t nodeid) {
  const auto found = counts.find(nodeid);
  if (found != counts.end() && --found->second == 0) counts.erase(found);
}

}  // namespace

BackingFiles::BackingFiles(Parts parts)
    : parts_(std::move(parts)), worker_("sfs-backing", 1) {}

void BackingFiles::Open(uint64_t nodeid, bool wanted, Done done) {
  absl::optional<Opened> opened;
  {
    MutexLock lock(mu_);
    opened = OpenNow(nodeid, wanted);
    if (!opened) ++awaited_[nodeid];
  }
  if (opened) return done(Checked(nodeid, *opened));
  worker_.Post(
      [this, nodeid, wanted, done = std::move(done)](const absl::Status& turn) {
        done(OpenLater(nodeid, wanted && turn.ok()));
      },
      /*urgent=*/false);
}

// A file that somebody has open may have lost a permission since, or its name.
// The daemon cannot find that out at a read: reads of this inode are the
// kernel's. So the open fails.
absl::StatusOr<BackingFiles::Opened> BackingFiles::Checked(
    uint64_t nodeid, const Opened& opened) {
  if (opened.handle == 0) return opened;
  std::shared_ptr<File> file;
  {
    MutexLock lock(mu_);
    file = files_.at(opened.handle);  // it is open by this descriptor
  }
  absl::Status same = parts_.check(nodeid, file->fd.get());
  if (same.ok()) return opened;
  file.reset();
  Close(nodeid, opened.handle);
  return same;
}

absl::optional<BackingFiles::Opened> BackingFiles::OpenNow(uint64_t nodeid,
                                                           bool wanted) {
  if (absl::optional<Opened> opened = Join(nodeid)) return opened;
  if (IsOldInode(nodeid)) return Opened{.stale = true};
  // What the worker decides for an earlier open holds for this one, too.
  if (awaited_.contains(nodeid) || (wanted && MayAdd(nodeid))) {
    return absl::nullopt;
  }
  ++plain_[nodeid];
  return Opened{};
}

absl::optional<BackingFiles::Opened> BackingFiles::Join(uint64_t nodeid) {
  const auto found = handles_.find(nodeid);
  if (found == handles_.end()) return absl::nullopt;
  File& file = *files_.at(found->second);
  ++file.opens;
  return Opened{file.backing_id, found->second};
}

// The kernel would fail a descriptor of it, because its reads are not the
// daemon's.
bool BackingFiles::IsOldInode(uint64_t nodeid) const {
  const auto cut = cut_off_.find(nodeid);
  return cut != cut_off_.end() && !cut->second;
}

bool BackingFiles::MayAdd(uint64_t nodeid) const {
  return !plain_.contains(nodeid) && !cut_off_.contains(nodeid) &&
         files_.size() < parts_.most;
}

absl::StatusOr<BackingFiles::Opened> BackingFiles::OpenLater(uint64_t nodeid,
                                                             bool wanted) {
  if (const absl::optional<Opened> opened = JoinLater(nodeid, wanted)) {
    return Checked(nodeid, *opened);
  }
  absl::StatusOr<std::shared_ptr<File>> file = Add(nodeid);
  MutexLock lock(mu_);
  CountDown(awaited_, nodeid);
  return Insert(std::move(file), nodeid);
}

absl::optional<BackingFiles::Opened> BackingFiles::JoinLater(uint64_t nodeid,
                                                             bool wanted) {
  MutexLock lock(mu_);
  absl::optional<Opened> opened = Join(nodeid);
  if (!opened && wanted && MayAdd(nodeid)) return absl::nullopt;
  CountDown(awaited_, nodeid);
  if (opened) return opened;
  if (IsOldInode(nodeid)) return Opened{.stale = true};
  ++plain_[nodeid];
  return Opened{};
}

absl::StatusOr<std::shared_ptr<BackingFiles::File>> BackingFiles::Add(
    uint64_t nodeid) {
  auto file = std::make_shared<File>();
  file->nodeid = nodeid;
  ASSIGN_OR_RETURN(file->fd, parts_.open(nodeid));
  ASSIGN_OR_RETURN(file->way_in, WayIn());
  ASSIGN_OR_RETURN(file->backing_id, parts_.add(file->fd.get()));
  return file;
}

absl::StatusOr<std::shared_ptr<const UniqueFd>> BackingFiles::WayIn() {
  if (way_in_ == nullptr) {
    ASSIGN_OR_RETURN(UniqueFd fresh, parts_.enter());
    way_in_ = std::make_shared<const UniqueFd>(std::move(fresh));
  }
  return way_in_;
}

void BackingFiles::LeaveMount() {
  worker_.Post(
      [this](const absl::Status& turn) {
        if (turn.ok()) way_in_.reset();
      },
      /*urgent=*/true);
}

BackingFiles::Opened BackingFiles::Insert(
    absl::StatusOr<std::shared_ptr<File>> file, uint64_t nodeid) {
  if (!file.ok()) {
    ++plain_[nodeid];
    return Opened{};
  }
  // If its lease is broken later, TakeBroken finds the file.
  if (IsLeaseBroken((*file)->fd.get())) {
    parts_.remove((*file)->backing_id);
    ++plain_[nodeid];
    return Opened{};
  }
  (*file)->opens = 1;
  const Opened opened{(*file)->backing_id, ++last_handle_};
  handles_[nodeid] = opened.handle;
  files_[opened.handle] = *std::move(file);
  return opened;
}

void BackingFiles::Close(uint64_t nodeid, uint64_t handle) {
  std::shared_ptr<File> gone = Leave(nodeid, handle);
  if (gone == nullptr) return;
  // Closing the last descriptor of a removed file frees its blocks, which takes
  // a while.
  worker_.Post(
      [this, gone = std::move(gone)](const absl::Status& turn) {
        if (turn.ok()) parts_.remove(gone->backing_id);
        EndLease(gone->fd.get());
      },
      /*urgent=*/false);
}

std::shared_ptr<BackingFiles::File> BackingFiles::Leave(uint64_t nodeid,
                                                        uint64_t handle) {
  MutexLock lock(mu_);
  if (handle == 0) {
    CountDown(plain_, nodeid);
    return nullptr;
  }
  const auto found = files_.find(handle);
  if (found == files_.end() || --found->second->opens > 0) return nullptr;
  std::shared_ptr<File> gone = std::move(found->second);
  files_.erase(found);
  const auto current = handles_.find(nodeid);
  if (current != handles_.end() && current->second == handle) {
    handles_.erase(current);
  }
  return gone;
}

std::vector<std::shared_ptr<BackingFiles::File>> BackingFiles::TakeBroken() {
  std::vector<std::shared_ptr<File>> broken;
  MutexLock lock(mu_);
  for (const auto& [handle, file] : files_) {
    if (file->is_cut_off || !IsLeaseBroken(file->fd.get())) continue;
    file->is_cut_off = true;
    broken.push_back(file);
    cut_off_.emplace(file->nodeid, false);
    handles_.erase(file->nodeid);
  }
  if (!broken.empty()) some_cut_off_ = true;
  return broken;
}

void BackingFiles::LetWritersGo() {
  for (const std::shared_ptr<File>& file : TakeBroken()) {
    int tries = 0;
    parts_.tell(file->nodeid);
    const int way_in = file->way_in->get();
    while (tries < kMostTries && !parts_.cut_off(file->nodeid, way_in)) ++tries;
    if (tries < kMostTries) EndLease(file->fd.get());
  }
}

bool BackingFiles::IsCutOff(uint64_t nodeid) const {
  if (!some_cut_off_) return false;
  MutexLock lock(mu_);
  return cut_off_.contains(nodeid);
}

bool BackingFiles::TellsNewInode(uint64_t nodeid) {
  if (!some_cut_off_) return false;
  MutexLock lock(mu_);
  const auto found = cut_off_.find(nodeid);
  if (found == cut_off_.end()) return false;
  found->second = true;
  return true;
}

std::string BackingFiles::CutOffName(uint64_t nodeid) {
  return absl::StrCat(kCutOffPrefix, nodeid);
}

absl::optional<uint64_t> BackingFiles::NodeOfCutOffName(
    absl::string_view name) const {
  uint64_t nodeid = 0;
  if (!some_cut_off_ || !absl::ConsumePrefix(&name, kCutOffPrefix) ||
      !absl::SimpleAtoi(name, &nodeid) || !IsCutOff(nodeid)) {
    return absl::nullopt;
  }
  return nodeid;
}

size_t BackingFiles::count() const {
  MutexLock lock(mu_);
  return files_.size();
}

}  // namespace shufflefs
