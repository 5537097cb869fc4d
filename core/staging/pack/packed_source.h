// SPDX-License-Identifier: Apache-2.0
// Samples from the chunk files of a pack. Files that follow each other in a
// chunk are read as one stretch, in aligned pieces, through a few megabytes of
// staging memory, and copied from there into the memory of each file. What
// differs from its checksum is EIO and never served.
//
// A read that fails and that held several files is done again for each of
// them alone, so that a bad place on the device costs one sample.
#ifndef SHUFFLEFS_CORE_STAGING_PACK_PACKED_SOURCE_H_
#define SHUFFLEFS_CORE_STAGING_PACK_PACKED_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_reader.h"
#include "core/pool/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/pack/pack_index.h"

namespace shufflefs {

class PackedSource : public SampleSource {
 public:
  // Memory for what is under way, besides that of the files themselves. A
  // piece of a file takes up to twice kPackCheckBytes more while it is read:
  // it is widened to what can be checked.
  static constexpr uint64_t kStagingBytes = uint64_t{8} << 20;

  struct Options {
    // Has kStagingBytes, and is used by nobody else; its memory can be that of
    // FileReaderOptions. Null: the source makes its own.
    std::shared_ptr<Arena> staging;
    // For disks. A place to read from begins with one read alone, when all but
    // the last of the place before have ended: a disk that has several to
    // choose from takes the nearest, which after a way back is the last of
    // them, and then each costs a turn of the platter. The reader need not
    // know (FileReaderOptions::batch_by_batch), and should not.
    bool place_by_place = false;
  };

  // `reader` reads below the directory of the pack, and outlives this. Errors:
  // no memory.
  static absl::StatusOr<std::unique_ptr<PackedSource>> Make(
      std::shared_ptr<const PackIndex> index, FileReader* reader,
      Options options);
  static absl::StatusOr<std::unique_ptr<PackedSource>> Make(
      std::shared_ptr<const PackIndex> index, FileReader* reader) {
    return Make(std::move(index), reader, Options());
  }
  // What was not begun ends with Cancelled, before this returns.
  ~PackedSource() override;

  // As SampleSource. A file that the pack does not have ends with EIO, and
  // before the call returns: look at PackIndex::Find before.
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
  // Shared with the reads that are under way. Self-synchronised.
  const std::shared_ptr<Engine> engine_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_PACK_PACKED_SOURCE_H_
