// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_cache/dentry_warmer.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shufflefs {

void DentryWarmer::Begin(const ServedDataset& served) {
  served_ = &served;
  in_use_ = std::vector<std::atomic<bool>>(served.catalogue().dir_count());
}

void DentryWarmer::AddDirectory(DirId dir) {
  MutexLock lock(mu_);
  if (in_use_[dir.value()].exchange(true)) return;
  const uint64_t names = served_->catalogue().dir_size(dir);
  if (names_ + names > kLimit) return;
  names_ += names;
  directories_.push_back(dir);
}

void DentryWarmer::Switch(const std::function<void()>& tell) {
  MutexLock lock(batch_mu_);
  ++generation_;
  tell_ = tell;
  tell();
}

uint64_t DentryWarmer::Prime(MountLister& lister,
                             const std::string& mountpoint) {
  std::vector<DirId> directories;
  {
    MutexLock lock(mu_);
    directories = directories_;
  }
  uint64_t generation;
  {
    MutexLock lock(batch_mu_);
    generation = generation_;
  }
  thread_.store(lister.pid(), std::memory_order_release);
  uint64_t names = 0;
  bool gave_up = false;
  for (const DirId dir : directories) {
    if (gave_up) break;
    gave_up = !PrimeOne(
        lister, absl::StrCat(mountpoint, "/", served_->catalogue().path(dir)),
        generation, names);
  }
  if (gave_up) TellAgain(lister, generation);
  thread_.store(0, std::memory_order_release);
  return names;
}

// A listing that was given up may bind names after a switch.
void DentryWarmer::TellAgain(MountLister& lister, uint64_t generation) {
  while (!lister.IsSettled()) {
  }
  MutexLock lock(batch_mu_);
  if (generation != generation_) tell_();
}

bool DentryWarmer::PrimeOne(MountLister& lister, const std::string& path,
                            uint64_t generation, uint64_t& names) {
  MountLister::Listing listing(lister, path);
  for (;;) {
    MutexLock lock(batch_mu_);
    if (generation != generation_) return true;
    const absl::optional<size_t> batch = listing.Next();
    if (!batch) return !listing.gave_up();
    names += *batch;
  }
}

}  // namespace shufflefs
