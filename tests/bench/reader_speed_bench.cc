// SPDX-License-Identifier: Apache-2.0
// How fast whole files are read, each once, in random order, past the page
// cache: by io_uring, with and without pinned memory, and by threads, at
// several depths, interleaved in one run.
//
// reader_speed_bench DIRECTORY [ROUNDS [DEPTH ...]]: reads every file of up to
// 16 MiB below DIRECTORY (default: 3 rounds, depths 8 and 32). A line a reader
// and depth: medians of files and MB a second, and processor seconds a GB.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/io/make_reader.h"
#include "core/random/permutation.h"
#include "core/scan/scan.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMostBytes = uint64_t{16} << 20;  // of a file

void Die(const std::string& what) {
  std::fprintf(stderr, "reader_speed_bench: %s\n", what.c_str());
  std::exit(1);
}

double ProcessorSeconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Equal buffers in one region, handed out one by one.
class Buffers {
 public:
  Buffers(size_t count, size_t bytes) : bytes_(bytes), size_(count * bytes) {
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (base == MAP_FAILED) Die("no memory for the buffers");
    region_ = static_cast<char*>(base);
    for (size_t i = 0; i < count; ++i) free_.push_back(region_ + i * bytes);
    count_ = count;
  }
  ~Buffers() { munmap(region_, size_); }

  // Waits for at least one; gives all there are.
  std::vector<char*> Take() {
    MutexLock lock(mu_);
    while (free_.empty()) changed_.Wait(mu_);
    return std::exchange(free_, {});
  }
  void Give(char* buffer) {
    MutexLock lock(mu_);
    free_.push_back(buffer);
    changed_.SignalAll();
  }
  void WaitForAll() {
    MutexLock lock(mu_);
    while (free_.size() < count_) changed_.Wait(mu_);
  }
  absl::Span<char> region() { return absl::MakeSpan(region_, size_); }
  size_t bytes() const { return bytes_; }

 private:
  const size_t bytes_;
  const size_t size_;
  char* region_ = nullptr;
  size_t count_ = 0;
  Mutex mu_;
  CondVar changed_;
  std::vector<char*> free_ ABSL_GUARDED_BY(mu_);
};

struct File {
  std::string path;
  FileAttributes known;
};

struct Variant {
  std::string name;
  bool io_uring;
  bool pinned;
  size_t depth;
  std::vector<double> seconds;
  std::vector<double> processor;
};

void ReadAll(FileReader& reader, const std::vector<File>& files,
             Buffers& buffers) {
  for (size_t next = 0; next < files.size();) {
    std::vector<FileRead> reads;
    for (char* buffer : buffers.Take()) {
      if (next == files.size()) {
        buffers.Give(buffer);
        continue;
      }
      const File& file = files[next++];
      FileRead read;
      read.path = file.path;
      read.expected = file.known;
      read.length = file.known.size;
      read.into = {{buffer, buffers.bytes()}};
      read.done = [buffer, &buffers](const absl::Status& status) {
        if (!status.ok()) Die(status.ToString());
        buffers.Give(buffer);
      };
      reads.push_back(std::move(read));
    }
    reader.Submit(std::move(reads));
  }
  buffers.WaitForAll();
}

void Measure(const SourceDir& source, const std::vector<File>& files,
             size_t buffer_bytes, Variant& variant) {
  Buffers buffers(2 * variant.depth, buffer_bytes);
  FileReaderOptions options;
  options.io_uring = variant.io_uring;
  options.depth = options.threads = variant.depth;
  options.max_in_flight_bytes = uint64_t{1} << 40;
  if (variant.pinned) options.memory = buffers.region();
  std::unique_ptr<FileReader> reader = MakeFileReader(source, options);
  const auto start = std::chrono::steady_clock::now();
  const double processor = ProcessorSeconds();
  ReadAll(*reader, files, buffers);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  variant.seconds.push_back(took.count());
  variant.processor.push_back(ProcessorSeconds() - processor);
}

std::vector<File> FilesBelow(const SourceDir& source) {
  absl::StatusOr<Catalogue> catalogue = Scan(source, {});
  if (!catalogue.ok()) Die(catalogue.status().ToString());
  std::vector<File> files;
  for (uint32_t i = 0; i < catalogue->entry_count(); ++i) {
    const FileAttributes known = catalogue->attributes(EntryId(i));
    if (known.kind != EntryKind::kFile || known.size == 0 ||
        known.size > kMostBytes) {
      continue;
    }
    files.push_back({catalogue->path(EntryId(i)), known});
  }
  if (files.empty()) Die("no files there");
  Rng rng(RandomKey(DeriveKey(Seed(1), Epoch(0), 0, Purpose::kTest)));
  for (size_t i = files.size(); i > 1; --i) {
    std::swap(files[i - 1], files[rng.Bounded(i)]);
  }
  return files;
}

int Main(int argc, char** argv) {
  if (argc < 2) Die("usage: reader_speed_bench DIRECTORY [ROUNDS [DEPTH ...]]");
  int rounds = 3;
  if (argc > 2 && !absl::SimpleAtoi(argv[2], &rounds)) Die("ROUNDS?");
  std::vector<size_t> depths;
  for (int i = 3; i < argc; ++i) {
    int depth = 0;
    if (!absl::SimpleAtoi(argv[i], &depth) || depth < 1) Die("DEPTH?");
    depths.push_back(static_cast<size_t>(depth));
  }
  if (depths.empty()) depths = {8, 32};
  absl::StatusOr<SourceDir> source = SourceDir::At(argv[1]);
  if (!source.ok()) Die(source.status().ToString());
  const std::vector<File> files = FilesBelow(*source);
  uint64_t bytes = 0;
  uint64_t largest = 0;
  for (const File& file : files) {
    bytes += file.known.size;
    largest = std::max(largest, file.known.size);
  }
  const size_t buffer =
      (largest + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
  std::vector<Variant> variants;
  for (size_t depth : depths) {
    variants.push_back({"io_uring", true, false, depth, {}, {}});
    variants.push_back({"io_uring, pinned", true, true, depth, {}, {}});
    variants.push_back({"threads", false, false, depth, {}, {}});
  }
  for (int round = 0; round < rounds; ++round) {
    for (Variant& variant : variants) Measure(*source, files, buffer, variant);
  }
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::printf("%zu files, %.1f MB, %d rounds\n", files.size(), megabytes,
              rounds);
  for (const Variant& variant : variants) {
    const double seconds = Median(variant.seconds);
    std::printf("%-17s depth %3zu: %8.0f files/s %8.1f MB/s %6.3f s CPU/GB\n",
                variant.name.c_str(), variant.depth,
                static_cast<double>(files.size()) / seconds,
                megabytes / seconds,
                Median(variant.processor) / (megabytes / 1000));
  }
  return 0;
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) { return shufflefs::Main(argc, argv); }
