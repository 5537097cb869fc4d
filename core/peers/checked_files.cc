// SPDX-License-Identifier: Apache-2.0
#include "core/peers/checked_files.h"

#include <utility>

namespace shufflefs {

std::shared_ptr<CheckedFiles> CheckedFiles::Make(const Catalogue& catalogue) {
  return std::shared_ptr<CheckedFiles>(new CheckedFiles(catalogue));
}

CheckedFiles::CheckedFiles(const Catalogue& catalogue)
    : checked_(catalogue.entry_count()) {}

void CheckedFiles::BeginRound() {
  MutexLock lock(mu_);
  ++round_;
  checked_.ClearAll();
}

uint64_t CheckedFiles::round() const {
  MutexLock lock(mu_);
  return round_;
}

void CheckedFiles::Note(EntryId file, uint64_t round) {
  MutexLock lock(mu_);
  if (round == round_) checked_.Set(file.value());
}

bool CheckedFiles::Has(EntryId file) const {
  MutexLock lock(mu_);
  return checked_.Get(file.value());
}

void CheckedFiles::NoteWhenRead(EntryId file, FileRead& read) {
  MutexLock lock(mu_);
  if (checked_.Get(file.value())) return;
  read.done = [self = shared_from_this(), file, round = round_,
               done = std::move(read.done)](absl::Status status) {
    if (status.ok()) self->Note(file, round);
    done(std::move(status));
  };
}

}  // namespace shufflefs
