// SPDX-License-Identifier: Apache-2.0
// The part of ReadAhead that answers readers.
#include <utility>

#include "core/pool/read_ahead.h"

namespace shufflefs {

bool ReadAhead::CanServe(EntryId file) {
  const SampleId sample = dataset_->grouping().sample(file);
  const bool held = files_->IsResident(file);
  {
    MutexLock lock(mu_);
    if (last_noted_ == sample) return held;
    last_noted_ = sample;
    ++(held ? hits_ : misses_);
    Note(sample);
  }
  if (!held) Fill();
  return held;
}

bool ReadAhead::IsResident(EntryId file) const {
  return files_->IsResident(file);
}

void ReadAhead::Read(EntryId file, uint64_t offset, uint64_t length,
                     ReadDone done) {
  files_->Read(file, offset, length,
               [self = shared_from_this(), done = std::move(done)](
                   absl::StatusOr<absl::Span<const iovec>> got) {
                 done(std::move(got));
                 self->Fill();
               });
}

void ReadAhead::Close(EntryId file) {
  if (files_->Close(file)) Fill();
}

void ReadAhead::Fill() {
  Pieces pieces;
  {
    MutexLock lock(mu_);
    Plan(pieces);
  }
  if (!pieces.empty()) files_->Fetch(std::move(pieces));
}

}  // namespace shufflefs
