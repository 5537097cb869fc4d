// SPDX-License-Identifier: Apache-2.0
// FileSource reads samples from the files of the source tree, each file by
// itself.
#ifndef SHUFFLEFS_CORE_POOL_FILE_SOURCE_H_
#define SHUFFLEFS_CORE_POOL_FILE_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/pool/sample_source.h"

namespace shufflefs {

class FileSource : public SampleSource {
 public:
  // `reader` reads below the catalogue's source, and outlives this. If many
  // pieces of each file are read, files may stay open.
  FileSource(std::shared_ptr<const Catalogue> catalogue, FileReader* reader,
             bool many_pieces = false);

  void Fetch(std::vector<FilePiece> files) override;
  void FetchNow(FilePiece piece) override;
  uint64_t bytes_read() const override { return reader_->stats().bytes; }
  uint64_t reads() const override { return reader_->stats().reads; }
  std::string how() const override;

 private:
  FileRead ReadOf(FilePiece piece) const;

  // Constant after construction.
  const std::shared_ptr<const Catalogue> catalogue_;
  const bool many_pieces_;
  // Self-synchronised.
  FileReader* const reader_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_FILE_SOURCE_H_
