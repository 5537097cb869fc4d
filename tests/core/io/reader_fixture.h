// SPDX-License-Identifier: Apache-2.0
// What tests of a FileReader share: memory to read into, the results, and the
// readers: io_uring and threads, O_DIRECT and the page cache, disk and tmpfs.
#ifndef SHUFFLEFS_TESTS_CORE_IO_READER_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_IO_READER_FIXTURE_H_

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/io/file_reader.h"
#include "core/io/make_reader.h"
#include "core/random/random.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs::testing_support {

inline int ErrorOf(const absl::Status& status) {
  return ErrnoOf(status).value_or(0);
}

// What a catalogue would know of the file at `path` now.
inline FileAttributes AttributesOf(const std::string& path) {
  struct stat st = {};
  EXPECT_EQ(lstat(path.c_str(), &st), 0) << path;
  return shufflefs::AttributesOf(st);
}

// Aligned memory, in `runs` runs that lie scattered in one region, with bytes
// between them that no read may touch.
class ScatteredMemory {
 public:
  ScatteredMemory(uint64_t bytes, size_t runs, Rng& rng) {
    const size_t pages = (bytes + kReadAlignment - 1) / kReadAlignment;
    runs = std::clamp<size_t>(runs, 1, pages);
    size_ = (pages + runs + 1) * kReadAlignment;
    region_.reset(
        static_cast<char*>(std::aligned_alloc(kReadAlignment, size_)));
    std::memset(region_.get(), kUntouched, size_);
    char* at = region_.get() + kReadAlignment;
    for (size_t left = pages; left > 0;) {
      size_t run = pages_.size() + 1 == runs
                       ? left
                       : 1 + rng.Bounded(left - (runs - pages_.size()) + 1);
      pages_.push_back({at, run * kReadAlignment});
      at += (run + 1) * kReadAlignment;
      left -= run;
    }
    // Neither ascending nor descending addresses.
    for (size_t i = pages_.size(); i > 1; --i) {
      std::swap(pages_[i - 1], pages_[rng.Bounded(i)]);
    }
  }
  explicit ScatteredMemory(uint64_t bytes)
      : ScatteredMemory(bytes, 1, one_run_) {}

  const std::vector<iovec>& pieces() const { return pages_; }
  std::string Content(uint64_t length) const {
    std::string content;
    for (const iovec& piece : pages_) {
      content.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    content.resize(length);
    return content;
  }
  // True if the bytes between and around the runs are as they were.
  bool RestUntouched() const {
    const std::string untouched(kReadAlignment, kUntouched);
    std::set<const char*> read;
    for (const iovec& piece : pages_) {
      const char* base = static_cast<const char*>(piece.iov_base);
      for (size_t at = 0; at < piece.iov_len; at += kReadAlignment) {
        read.insert(base + at);
      }
    }
    for (size_t at = 0; at < size_; at += kReadAlignment) {
      const char* page = region_.get() + at;
      if (!read.contains(page) &&
          std::memcmp(page, untouched.data(), kReadAlignment) != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr char kUntouched = '\x5a';
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  Rng one_run_{RandomKey(0)};
  size_t size_ = 0;
  std::unique_ptr<char, Free> region_;
  std::vector<iovec> pages_;
};

// Reads and what became of them.
class Results {
 public:
  // A read of `length` bytes that reports here under `id`.
  FileRead Read(int id, const std::string& path, uint64_t length) {
    FileRead read = Into(id, path, std::make_unique<ScatteredMemory>(length));
    read.length = length;
    return read;
  }
  // The same into `memory`; length 0, to be set.
  FileRead Into(int id, const std::string& path,
                std::unique_ptr<ScatteredMemory> memory) {
    FileRead read;
    read.path = path;
    read.into = memory->pieces();
    read.done = [this, id](absl::Status status) {
      Done(id, std::move(status));
    };
    MutexLock lock(mu_);
    Slot(id).memory = std::move(memory);
    return read;
  }

  // Moves the status. If the reader's thread kept a part of it, ThreadSanitizer
  // would not see that both count who has one: Abseil is not instrumented.
  void Done(int id, absl::Status status) {
    MutexLock lock(mu_);
    Slot(id).calls++;
    Slot(id).status = std::move(status);
    order_.push_back(id);
    changed_.SignalAll();
  }
  // Waits until `count` calls of done came in all.
  void Wait(size_t count) {
    MutexLock lock(mu_);
    while (order_.size() < count) changed_.Wait(mu_);
  }

  std::vector<int> order() const {
    MutexLock lock(mu_);
    return order_;
  }
  int calls(int id) const {
    MutexLock lock(mu_);
    return Slot(id).calls;
  }
  absl::Status status(int id) const {
    MutexLock lock(mu_);
    return Slot(id).status;
  }
  const ScatteredMemory& memory(int id) const {
    MutexLock lock(mu_);
    return *Slot(id).memory;
  }

 private:
  struct Result {
    int calls = 0;
    absl::Status status = absl::UnknownError("not done");
    std::unique_ptr<ScatteredMemory> memory;
  };
  Result& Slot(int id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (results_.size() <= static_cast<size_t>(id)) {
      results_.resize(static_cast<size_t>(id) + 1);
    }
    return results_[static_cast<size_t>(id)];
  }

  mutable Mutex mu_;
  CondVar changed_;
  mutable std::vector<Result> results_ ABSL_GUARDED_BY(mu_);
  std::vector<int> order_ ABSL_GUARDED_BY(mu_);
};

// Holds up whoever comes to it until it is opened.
class Gate {
 public:
  void Pass() {
    MutexLock lock(mu_);
    ++waiting_;
    changed_.SignalAll();
    while (!open_) changed_.Wait(mu_);
  }
  void Open() {
    MutexLock lock(mu_);
    open_ = true;
    changed_.SignalAll();
  }
  // Waits until somebody stands at it.
  void WaitForArrival() {
    MutexLock lock(mu_);
    while (waiting_ == 0) changed_.Wait(mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

// Which reader, and where the files are.
struct ReaderKind {
  const char* name;
  bool io_uring;
  bool direct;
  bool in_memory;  // the tree
};

inline std::unique_ptr<TempTree> MakeTree(const ReaderKind& kind) {
  if (!kind.in_memory) return std::make_unique<TempTree>();
  const char* before = getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TMPDIR", "/dev/shm", 1);
  auto tree = std::make_unique<TempTree>();
  if (before == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", saved.c_str(), 1);
  }
  return tree;
}

class FileReaderTest : public ::testing::TestWithParam<ReaderKind> {
 protected:
  FileReaderTest()
      : tree_owner_(MakeTree(GetParam())),
        tree_(*tree_owner_),
        source_(tree_.Source()) {}

  std::unique_ptr<FileReader> Make(FileReaderOptions options = {}) {
    options.io_uring = GetParam().io_uring;
    options.direct = GetParam().direct;
    std::unique_ptr<FileReader> reader = MakeFileReader(source_, options);
    EXPECT_EQ(reader->how(), GetParam().io_uring ? "io_uring" : "threads");
    return reader;
  }
  // One read at a time.
  std::unique_ptr<FileReader> MakeSerial() {
    FileReaderOptions options;
    options.depth = options.threads = 1;
    return Make(options);
  }
  // The file's path, whole, as the catalogue knows it now.
  FileRead Whole(int id, const std::string& path) {
    const FileAttributes known = AttributesOf(tree_.At(path));
    FileRead read = results_.Read(id, path, known.size);
    read.expected = known;
    return read;
  }
  static std::vector<FileRead> List(FileRead read) {
    std::vector<FileRead> reads;
    reads.push_back(std::move(read));
    return reads;
  }
  // Submits one read and waits for it.
  absl::Status ReadNow(FileRead read, int id = 0) {
    const size_t before = results_.order().size();
    reader_ = Make();
    reader_->Submit(List(std::move(read)));
    results_.Wait(before + 1);
    return results_.status(id);
  }
  // The same, all by one reader.
  absl::Status ReadNext(FileRead read, int id) {
    if (reader_ == nullptr) reader_ = Make();
    const size_t before = results_.order().size();
    reader_->SubmitUrgent(std::move(read));
    results_.Wait(before + 1);
    return results_.status(id);
  }

  std::unique_ptr<TempTree> tree_owner_;
  TempTree& tree_;
  SourceDir source_;
  Results results_;  // outlives the reader
  std::unique_ptr<FileReader> reader_;
};

inline auto AllReaders() {
  return ::testing::Values(ReaderKind{"Uring", true, true, false},
                           ReaderKind{"UringCached", true, false, false},
                           ReaderKind{"UringTmpfs", true, true, true},
                           ReaderKind{"Threads", false, true, false},
                           ReaderKind{"ThreadsCached", false, false, false},
                           ReaderKind{"ThreadsTmpfs", false, true, true});
}
inline std::string NameOfKind(const ::testing::TestParamInfo<ReaderKind>& i) {
  return i.param.name;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_IO_READER_FIXTURE_H_
