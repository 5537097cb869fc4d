// SPDX-License-Identifier: Apache-2.0
// CachedSource reads large files through another source, except for what the
// page cache holds of them. The other source bypasses the page cache and reads
// the device.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_CACHED_SOURCE_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_CACHED_SOURCE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/catalogue/catalogue.h"
#include "core/pool/sample_source.h"
#include "core/source/source_files.h"

namespace shufflefs {

// A call blocks for the device only to open a file for the first time. The
// caller's thread copies what is cached and calls its `done`.
class CachedSource : public SampleSource {
 public:
  // `dir` has the catalogue's files and outlives this object.
  CachedSource(std::unique_ptr<SampleSource> rest, const SourceDir& dir,
               std::shared_ptr<const Catalogue> catalogue);

  void Fetch(std::vector<FilePiece> files) override;
  void FetchNow(FilePiece piece) override;
  uint64_t bytes_read() const override { return rest_->bytes_read(); }
  uint64_t reads() const override { return rest_->reads(); }
  std::string how() const override { return rest_->how(); }

 private:
  // Reads the piece from the page cache. Returns whether it was there.
  bool IsRead(const FilePiece& piece);

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  // Self-synchronised.
  const std::unique_ptr<SampleSource> rest_;
  SourceFiles files_;
  std::atomic<uint64_t> missed_{0};  // pieces since the last that was cached
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_CACHED_SOURCE_H_
