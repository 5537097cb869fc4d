// SPDX-License-Identifier: Apache-2.0
// A pack from which a test requests samples, and a record of its requests.
#ifndef SHUFFLEFS_TESTS_CORE_STAGING_PACK_PACKED_SOURCE_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_STAGING_PACK_PACKED_SOURCE_FIXTURE_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/pool/memory/arena.h"
#include "core/source/source_dir.h"
#include "core/staging/pack/pack_index.h"
#include "core/staging/pack/packed_source.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"

namespace shufflefs::testing_support {

// A tree of files of these sizes, in one chunk in this order.
inline std::unique_ptr<PackedTree> TreeOf(const std::vector<uint64_t>& sizes) {
  Rng rng{RandomKey(1)};
  auto tree = std::make_unique<PackedTree>(rng, 0, 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    tree->tree.File(absl::StrCat("f", 1000 + i), RandomBytes(rng, sizes[i]));
  }
  tree->catalogue = std::make_shared<const Catalogue>(tree->tree.Scanned());
  tree->composition.chunks = {FilesOf(*tree->catalogue)};
  return tree;
}

// One requested file or piece, its memory and its result.
class Asked {
 public:
  Asked(EntryId file, uint64_t offset, uint64_t length)
      : file(file), offset(offset), length(length) {
    absl::StatusOr<std::unique_ptr<Arena>> arena =
        Arena::Make(length + kReadAlignment);
    EXPECT_TRUE(arena.ok());
    memory_ = (*arena)->Allocate(length);
  }

  FilePiece Piece() {
    FilePiece piece;
    piece.file = file;
    piece.offset = offset;
    piece.length = length;
    piece.into = memory_->pieces();
    piece.done = [this](const absl::Status& status) {
      MutexLock lock(mu_);
      ++calls_;
      status_ = status;
      ended_.SignalAll();
    };
    return piece;
  }

  absl::Status Wait() {
    MutexLock lock(mu_);
    while (calls_ == 0) ended_.Wait(mu_);
    return status_;
  }
  int calls() {
    MutexLock lock(mu_);
    return calls_;
  }
  std::string bytes() const {
    std::string bytes;
    for (const iovec& piece : memory_->Range(0, length)) {
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    return bytes;
  }

  const EntryId file;
  const uint64_t offset;
  const uint64_t length;

 private:
  std::unique_ptr<MemoryBlock> memory_;
  Mutex mu_;
  CondVar ended_;
  int calls_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

class PackedSourceFixture : public ::testing::Test {
 protected:
  void Open(uint64_t seed, int files, uint64_t chunk_size) {
    Rng rng{RandomKey(seed)};
    Open(std::make_unique<PackedTree>(rng, files, chunk_size));
  }
  void Open(std::unique_ptr<PackedTree> tree) {
    packed_ = std::move(tree);
    ASSERT_TRUE(packed_->Pack().ok());
    Reopen();
  }
  void Reopen() {
    absl::StatusOr<SourceDir> dir = SourceDir::At(packed_->dest());
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<SourceDir>(*std::move(dir));
    auto index = PackIndex::Open(*dir_, packed_->catalogue);
    ASSERT_TRUE(index.ok()) << index.status();
    index_ = *std::move(index);
  }
  std::unique_ptr<PackedSource> SourceOver(FileReader* reader) const {
    auto source = PackedSource::Make(index_, reader);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  uint64_t SizeOf(EntryId file) const {
    return packed_->catalogue->attributes(file).size;
  }
  std::string ContentOf(EntryId file) const {
    return Slurp(packed_->tree.At(packed_->catalogue->path(file)));
  }
  // The files of a chunk that are not empty.
  std::vector<EntryId> FilesIn(uint32_t chunk) const {
    std::vector<EntryId> files;
    for (EntryId file : index_->files(chunk)) {
      if (SizeOf(file) > 0) files.push_back(file);
    }
    return files;
  }
  Asked& Ask(EntryId file) {
    return asked_.emplace_back(file, 0, SizeOf(file));
  }
  void Fetch(PackedSource& source, const std::vector<EntryId>& files) {
    std::vector<FilePiece> pieces;
    for (EntryId file : files) pieces.push_back(Ask(file).Piece());
    source.Fetch(std::move(pieces));
  }
  void ExpectAllRight() {
    for (Asked& asked : asked_) {
      const absl::Status status = asked.Wait();
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(asked.calls(), 1);
      ASSERT_EQ(asked.bytes(),
                ContentOf(asked.file).substr(asked.offset, asked.length));
    }
  }
  // Changes one byte of a chunk, unnoticed, as a bad device does. Its size and
  // mtime stay, and its mode explains the new ctime.
  void Corrupt(uint32_t chunk, uint64_t at) {
    const std::string path = packed_->dest() + "/" + PackChunkName(chunk);
    std::string bytes = Slurp(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    Spill(path, bytes);
    const int64_t mtime = index_->chunk_attributes(chunk).mtime_ns;
    const timespec time = {mtime / 1000000000, mtime % 1000000000};
    const timespec times[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    const mode_t mode = index_->chunk_attributes(chunk).mode & 07777;
    ASSERT_EQ(chmod(path.c_str(), mode ^ S_IXUSR), 0);
  }

  std::unique_ptr<PackedTree> packed_;
  std::unique_ptr<SourceDir> dir_;
  std::shared_ptr<const PackIndex> index_;
  std::deque<Asked> asked_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_STAGING_PACK_PACKED_SOURCE_FIXTURE_H_
