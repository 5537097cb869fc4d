// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/cached_source.h"

#include <utility>

namespace shufflefs {
namespace {

constexpr size_t kOpenFiles = 64;
// After this many pieces in a row that were not cached, only one in kSeldom is
// looked up. A lookup costs a tenth of a small read of a fast device.
constexpr uint64_t kPatience = 256;
constexpr uint64_t kSeldom = 16;

}  // namespace

CachedSource::CachedSource(std::unique_ptr<SampleSource> rest,
                           const SourceDir& dir,
                           std::shared_ptr<const Catalogue> catalogue)
    : catalogue_(std::move(catalogue)),
      rest_(std::move(rest)),
      files_(dir, *catalogue_, kOpenFiles) {}

bool CachedSource::IsRead(const FilePiece& piece) {
  const uint64_t missed = missed_.fetch_add(1, std::memory_order_relaxed);
  if (missed >= kPatience && missed % kSeldom != 0) return false;
  if (!files_.ReadCached(piece.file, piece.offset, piece.length, piece.into)) {
    return false;
  }
  missed_.store(0, std::memory_order_relaxed);
  return true;
}

void CachedSource::Fetch(std::vector<FilePiece> files) {
  std::vector<FilePiece> rest;
  for (FilePiece& piece : files) {
    if (IsRead(piece)) {
      piece.done(absl::OkStatus());
    } else {
      rest.push_back(std::move(piece));
    }
  }
  if (!rest.empty()) rest_->Fetch(std::move(rest));
}

void CachedSource::FetchNow(FilePiece piece) {
  if (IsRead(piece)) return piece.done(absl::OkStatus());
  rest_->FetchNow(std::move(piece));
}

}  // namespace shufflefs
