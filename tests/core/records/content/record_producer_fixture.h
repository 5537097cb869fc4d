// SPDX-License-Identifier: Apache-2.0
// What tests of the memory of shuffled containers share: a source whose reads
// come in any order, when the test says so, and files whose bytes are known.
#ifndef SHUFFLEFS_TESTS_CORE_RECORDS_CONTENT_RECORD_PRODUCER_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_RECORDS_CONTENT_RECORD_PRODUCER_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/io/file_reader.h"
#include "core/random/random.h"
#include "core/records/content/record_producer.h"
#include "core/records/order/record_order.h"
#include "gtest/gtest.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs::testing_support {

// What a pool asked for; it may outlive the pool. Thread-safe.
class AskedReads {
 public:
  void Add(std::vector<FilePiece> pieces) {
    MutexLock lock(mu_);
    for (FilePiece& piece : pieces) pieces_.push_back(std::move(piece));
  }
  size_t waiting() const {
    MutexLock lock(mu_);
    return pieces_.size();
  }
  uint64_t bytes() const {
    MutexLock lock(mu_);
    return bytes_;
  }
  // How often each page that came was read.
  std::map<std::pair<EntryId, uint64_t>, int> pages() const {
    MutexLock lock(mu_);
    return pages_;
  }
  // All that were asked for of a file come, and what is asked for then.
  void ComeOf(EntryId file) {
    for (;;) {
      size_t at = 0;
      {
        MutexLock lock(mu_);
        while (at < pieces_.size() && pieces_[at].file != file) ++at;
        if (at == pieces_.size()) return;
      }
      ComeAt(at, absl::OkStatus());
    }
  }
  // The next of them comes, or any.
  bool Come(const absl::Status& status = absl::OkStatus()) {
    return ComeAt(0, status);
  }
  bool ComeAny(Rng& rng, const absl::Status& status = absl::OkStatus()) {
    const size_t count = waiting();
    return count > 0 && ComeAt(rng.Bounded(count), status);
  }
  void ComeAll(const absl::Status& status = absl::OkStatus()) {
    while (Come(status)) {
    }
  }

 private:
  bool ComeAt(size_t at, const absl::Status& status) {
    FilePiece piece;
    {
      MutexLock lock(mu_);
      if (pieces_.empty()) return false;
      at = std::min(at, pieces_.size() - 1);
      piece = std::move(pieces_[at]);
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(at));
      bytes_ += piece.length;
      for (uint64_t byte = 0; byte < piece.length; byte += kReadAlignment) {
        ++pages_[{piece.file, (piece.offset + byte) / kReadAlignment}];
      }
    }
    EXPECT_EQ(piece.offset % kReadAlignment, 0u);
    if (status.ok()) Fill(piece);
    piece.done(status);
    return true;
  }
  mutable Mutex mu_;
  std::vector<FilePiece> pieces_ ABSL_GUARDED_BY(mu_);
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::pair<EntryId, uint64_t>, int> pages_ ABSL_GUARDED_BY(mu_);
};

class AskedSource : public SampleSource {
 public:
  explicit AskedSource(std::shared_ptr<AskedReads> asked)
      : asked_(std::move(asked)) {}
  void Fetch(std::vector<FilePiece> files) override {
    asked_->Add(std::move(files));
  }
  void FetchNow(FilePiece piece) override {
    std::vector<FilePiece> one;
    one.push_back(std::move(piece));
    asked_->Add(std::move(one));
  }
  uint64_t bytes_read() const override { return asked_->bytes(); }
  uint64_t reads() const override { return 0; }
  std::string how() const override { return "by hand"; }

 private:
  const std::shared_ptr<AskedReads> asked_;
};

struct TestPool {
  explicit TestPool(uint64_t memory, StallClock* stall = nullptr,
                    Worker* worker = nullptr)
      : TestPool(TestMemory(memory, stall), stall, worker) {}
  explicit TestPool(PoolMemory memory, StallClock* stall = nullptr,
                    Worker* worker = nullptr,
                    std::shared_ptr<const Catalogue> catalogue = nullptr) {
    RecordProducer::Parts parts;
    parts.catalogue = std::move(catalogue);
    parts.source = std::make_unique<AskedSource>(asked);
    parts.memory = std::move(memory);
    parts.how = "a test";
    parts.stall = stall;
    parts.worker = worker;
    pool = *RecordProducer::Make(std::move(parts));
  }
  std::shared_ptr<AskedReads> asked = std::make_shared<AskedReads>();
  std::shared_ptr<RecordProducer> pool;
};

struct ShapeOptions {
  std::vector<uint64_t> sizes;  // of the records
  uint64_t head = 0;
  uint64_t tail = 0;
  bool lacks_newline = false;  // the last size counts the line's end
};

// A file in a pool, and what it is to show.
struct TestFile {
  TestFile(RecordProducer& pool, uint32_t id, const ShapeOptions& options,
           const Policy& policy, uint64_t whole_bytes = 0) {
    std::vector<uint64_t> begins = {options.head};
    for (const uint64_t size : options.sizes) {
      begins.push_back(begins.back() + size);
    }
    ContainerShape shape;
    shape.lacks_newline = options.lacks_newline;
    shape.file_bytes =
        begins.back() + options.tail - (options.lacks_newline ? 1 : 0);
    shape.records = std::make_shared<PlainTable>(std::move(begins));
    std::string source(shape.file_bytes, '\0');
    BytesAt(EntryId(id), 0, source.size(), source.data());
    RecordOrderOptions order;
    order.key = id;
    order.seed = Seed(5);
    order.epoch = Epoch(2);
    order.whole_bytes = whole_bytes;
    order.of_a_file = true;
    content = std::make_shared<ShuffledFile>(
        shape, MakeRecordOrder(policy, *shape.records, order));
    for (uint64_t part = 0; part < content->part_count(); ++part) {
      begin_of.push_back(bytes.size());
      bytes += Apply(content->Plan(part), source);
    }
    EXPECT_EQ(bytes.size(), shape.file_bytes);
    auto made = std::make_shared<RecordFile>();
    made->id = pool.NewId();
    made->file = EntryId(id);
    // Another, so that nothing of it was summed up.
    made->content = std::make_shared<ShuffledFile>(
        shape, MakeRecordOrder(policy, *shape.records, order));
    file = std::move(made);
  }

  std::shared_ptr<const ShuffledFile> content;
  std::shared_ptr<const RecordFile> file;
  std::string bytes;               // as shown
  std::vector<uint64_t> begin_of;  // by part
};

// The answer of one read.
struct TestRead {
  int answers = 0;
  absl::Status status;
  std::string bytes;
};

// The read may be answered after the caller has gone.
inline std::shared_ptr<TestRead> ReadFrom(RecordProducer& pool,
                                          const TestFile& file, uint64_t offset,
                                          uint64_t length) {
  auto read = std::make_shared<TestRead>();
  pool.Read(file.file, offset, length,
            [read](absl::StatusOr<absl::Span<const iovec>> got) {
              ++read->answers;
              read->status = got.status();
              if (!got.ok()) return;
              for (const iovec& piece : *got) {
                read->bytes.append(static_cast<const char*>(piece.iov_base),
                                   piece.iov_len);
              }
            });
  return read;
}

inline void ExpectBytes(const TestRead& read, const TestFile& file,
                        uint64_t offset, uint64_t length) {
  ASSERT_EQ(read.answers, 1) << offset << " " << length;
  ASSERT_TRUE(read.status.ok()) << read.status;
  // Not EXPECT_EQ: it would print megabytes.
  ASSERT_TRUE(read.bytes == file.bytes.substr(offset, length))
      << offset << " " << length;
}

inline std::shared_ptr<const Policy> Blocks(uint64_t bytes, uint64_t window) {
  PolicyOptions options;
  options.Set("reimu.block", bytes);
  options.Set("reimu.window", window);
  return PolicyOf("reimu", options);
}

inline uint64_t PoolBytes(const TestPool& test) {
  const ProducerStatus status = test.pool->status();
  EXPECT_LE(status.pool_bytes, status.memory_limit);
  return status.pool_bytes;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_RECORDS_CONTENT_RECORD_PRODUCER_FIXTURE_H_
