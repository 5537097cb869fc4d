// SPDX-License-Identifier: Apache-2.0
// PackedSource reads samples from the chunk files of a pack. It reads files
// that are adjacent in a chunk as one stretch, in aligned pieces, through a few
// megabytes of staging memory, and copies them from there into the memory of
// each file. It never serves bytes that differ from their checksum: the error
// is EIO.
//
// If a read of several files fails, it reads each of them again alone. So a bad
// sector on the device costs one sample.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACKED_SOURCE_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACKED_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_reader.h"
#include "core/pool/memory/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/pack/pack_index.h"

namespace shufflefs {

class PackedSource : public SampleSource {
 public:
  // Memory for reads under way, in addition to the memory of the files
  // themselves. A piece of a file takes up to twice kPackCheckBytes more while
  // it is read, because it is widened to whole checksums.
  static constexpr uint64_t kLeastStaging = uint64_t{2} << 20;
  static constexpr uint64_t kMostStaging = uint64_t{8} << 20;

  struct Options {
    // An arena of kLeastStaging or more that only this source uses. Its memory
    // may be that of FileReaderOptions. Null: the source makes its own.
    std::shared_ptr<Arena> staging;
    // For disks. Each new place begins with a single read, after all but the
    // last read of the previous place have ended. Reason: a disk with several
    // reads to choose from takes the nearest. After a seek backwards that is
    // the last one, and then each read costs a turn of the platter. The
    // reader's own option (FileReaderOptions::batch_by_batch) is not needed,
    // and should be off.
    bool place_by_place = false;
  };

  // `reader` reads below the pack's directory, and outlives this object.
  // Errors: no memory.
  static absl::StatusOr<std::unique_ptr<PackedSource>> Make(
      std::shared_ptr<const PackIndex> index, FileReader* reader,
      Options options);
  static absl::StatusOr<std::unique_ptr<PackedSource>> Make(
      std::shared_ptr<const PackIndex> index, FileReader* reader) {
    return Make(std::move(index), reader, Options());
  }
  // Reads that have not begun end with Cancelled before the destructor returns.
  ~PackedSource() override;

  // As in SampleSource. A file that the pack lacks ends with EIO before the
  // call returns: check PackIndex::Find first.
  void Fetch(std::vector<FilePiece> files) override;
  void FetchNow(FilePiece piece) override;
  uint64_t bytes_read() const override { return reader_->stats().bytes; }
  uint64_t reads() const override { return reader_->stats().reads; }
  std::string how() const override;

 private:
  class Engine;
  PackedSource(FileReader* reader, std::shared_ptr<Engine> engine);

  // Constant after construction.
  FileReader* const reader_;
  // Shared with the reads under way. Self-synchronised.
  const std::shared_ptr<Engine> engine_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACKED_SOURCE_H_
