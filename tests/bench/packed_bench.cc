// SPDX-License-Identifier: Apache-2.0
// Reads every sample of a pack once, chunk by chunk in a random order, as a
// pool does but without consumers, and prints what that takes.
//   packed_bench SOURCE PACK [MEMORY in MiB = 64, at least a chunk] [WORD...]
// `threads`: as where io_uring is refused; `disk`: as where the device seeks.
// Cold or warm: as you left it.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/io/make_reader.h"
#include "core/pool/memory/arena.h"
#include "core/random/permutation.h"
#include "core/scan/scan.h"
#include "core/staging/pack/packed_source.h"

namespace shufflefs {
namespace {

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "packed_bench: %s\n",
               std::string(value.status().message()).c_str());
  std::exit(1);
}

// Keeps the pool full, and forgets what came.
class Reading {
 public:
  Reading(const PackIndex& index, PackedSource& source, Arena& pool)
      : index_(index), source_(source), pool_(pool) {}

  void Run() {
    const Permutation order(index_.chunk_count(), RandomKey(1));
    for (uint64_t i = 0; i < order.size(); ++i) {
      FetchChunk(static_cast<uint32_t>(order(i)));
    }
    MutexLock lock(mu_);
    while (under_way_ > 0) ended_.Wait(mu_);
  }

  uint64_t failed() {
    MutexLock lock(mu_);
    return failed_;
  }

 private:
  void FetchChunk(uint32_t chunk) {
    uint64_t wanted = 0;
    for (EntryId file : index_.files(chunk)) {
      wanted += Arena::Footprint(index_.Find(file)->length);
    }
    {
      MutexLock lock(mu_);
      while (pool_.capacity() - pool_.used() < wanted) ended_.Wait(mu_);
    }
    std::vector<FilePiece> pieces;
    for (EntryId file : index_.files(chunk)) {
      const uint64_t length = index_.Find(file)->length;
      if (length > 0) {
        pieces.push_back(Piece(file, length, pool_.Allocate(length)));
      }
    }
    source_.Fetch(std::move(pieces));
  }

  FilePiece Piece(EntryId file, uint64_t length,
                  std::shared_ptr<MemoryBlock> memory) {
    {
      MutexLock lock(mu_);
      ++under_way_;
    }
    FilePiece piece;
    piece.file = file;
    piece.length = length;
    piece.into = memory->pieces();
    piece.done = [this, memory](const absl::Status& status) mutable {
      MutexLock lock(mu_);
      memory.reset();
      if (!status.ok()) ++failed_;
      --under_way_;
      ended_.SignalAll();
    };
    return piece;
  }

  const PackIndex& index_;
  PackedSource& source_;
  Arena& pool_;
  Mutex mu_;
  CondVar ended_;
  uint64_t under_way_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t failed_ ABSL_GUARDED_BY(mu_) = 0;
};

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: packed_bench SOURCE PACK [MIB] [WORD...]\n");
    return 2;
  }
  const uint64_t memory = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 64;
  const std::set<std::string> words(argv + std::min(argc, 4), argv + argc);
  const SourceDir tree = Must(SourceDir::At(argv[1]));
  const SourceDir dir = Must(SourceDir::At(argv[2]));
  auto catalogue = std::make_shared<const Catalogue>(Must(Scan(tree, {})));
  const auto index = Must(PackIndex::Open(dir, catalogue));
  FileReaderOptions options;
  options.io_uring = !words.contains("threads");
  const auto reader = MakeFileReader(dir, options);
  PackedSource::Options how;
  how.place_by_place = words.contains("disk");
  const auto source = Must(PackedSource::Make(index, reader.get(), how));
  const auto pool = Must(Arena::Make(memory << 20));
  const double cpu = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  Reading reading(*index, *source, *pool);
  reading.Run();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const auto bytes = static_cast<double>(index->bytes());
  std::printf(
      "%s: %llu files, %.0f MB in %.2f s: %.0f MB/s, %llu reads, %.3fx the "
      "bytes, %.2f CPU s a GB, %llu failed\n",
      source->how().c_str(),
      static_cast<unsigned long long>(index->file_count()), bytes / 1e6,
      took.count(), bytes / 1e6 / took.count(),
      static_cast<unsigned long long>(source->reads()),
      static_cast<double>(source->bytes_read()) / bytes,
      (CpuSeconds() - cpu) / (bytes / 1e9),
      static_cast<unsigned long long>(reading.failed()));
  return reading.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) { return shufflefs::Main(argc, argv); }
