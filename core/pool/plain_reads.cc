// SPDX-License-Identifier: Apache-2.0
#include "core/pool/plain_reads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/exhaustion.h"
#include "core/base/status.h"
#include "core/pool/file_source.h"

namespace shufflefs {
namespace {

// Reads that hang keep their part of it; others go on with the rest.
constexpr size_t kReads = 256;
constexpr size_t kThreads = 32;  // if io_uring is refused

FileReaderOptions ReaderOptions() {
  FileReaderOptions options;
  options.depth = kReads;
  // BypassReads bounds the bytes.
  options.max_in_flight_bytes = kReads * BypassReads::kLongestRead;
  options.threads = kThreads;
  // What others have in the page cache is there, too.
  options.direct = false;
  options.keeps_remote = true;
  return options;
}

}  // namespace

PlainReads::PlainReads(const Parts& parts)
    : parts_(parts),
      files_(*parts.source, *parts.catalogue, parts.open_limit) {}

absl::StatusOr<std::shared_ptr<SampleSource>> PlainReads::Source() {
  MutexLock lock(mu_);
  if (source_ != nullptr) return source_;
  std::unique_ptr<FileReader> reader;
  const auto make = [&]() -> absl::StatusOr<std::shared_ptr<SampleSource>> {
    RETURN_IF_ERROR(parts_.bypass->Prepare(parts_.catalogue->file_devices()));
    reader =
        MakeFileReaderBy(parts_.make_reader, *parts_.source, ReaderOptions());
    return std::make_shared<FileSource>(parts_.catalogue, reader.get(),
                                        /*many_pieces=*/true);
  };
  ASSIGN_OR_RETURN(source_, OrExhausted("reading the source", make));
  reader_ = std::move(reader);
  return source_;
}

absl::optional<size_t> PlainReads::ReadAtOnce(EntryId file, uint64_t offset,
                                              absl::Span<char> out) {
  const uint64_t size = parts_.catalogue->file_size(file);
  if (offset >= size) return size_t{0};
  const uint64_t length = std::min<uint64_t>(out.size(), size - offset);
  if (!files_.ReadCached(file, offset, length, {{out.data(), length}},
                         IfUnknown::kTry)) {
    return absl::nullopt;
  }
  reads_at_once_.fetch_add(1, std::memory_order_relaxed);
  bytes_at_once_.fetch_add(length, std::memory_order_relaxed);
  return length;
}

void PlainReads::Read(EntryId file, uint64_t offset, uint64_t length,
                      ContentProvider::ReadDone done) {
  ReadWaiter waiter = BypassReads::Clip(*parts_.catalogue, file,
                                        {offset, length, std::move(done)});
  if (waiter.length == 0) return waiter.done(absl::Span<const iovec>());
  absl::StatusOr<std::shared_ptr<SampleSource>> source = Source();
  if (!source.ok()) return ReadHere(file, waiter);
  parts_.bypass->Read(*std::move(source), file, std::move(waiter));
}

// Reads on the caller's thread: waiting is better than an error.
void PlainReads::ReadHere(EntryId file, const ReadWaiter& waiter) {
  std::vector<char> bytes(waiter.length);
  if (parts_.stall != nullptr) parts_.stall->Enter();
  const absl::StatusOr<size_t> got =
      files_.Read(file, waiter.offset, absl::MakeSpan(bytes));
  if (parts_.stall != nullptr) parts_.stall->Leave();
  if (!got.ok()) return waiter.done(got.status());
  const iovec all = {bytes.data(), *got};
  waiter.done(absl::MakeConstSpan(&all, 1));
}

void PlainReads::Stop() {
  std::unique_ptr<FileReader> reader;
  {
    MutexLock lock(mu_);
    if (reader_ == nullptr) return;
    before_ = reader_->stats();
    reader = std::move(reader_);
  }
  reader.reset();  // waits
}

FileReaderStats PlainReads::Traffic() const {
  FileReaderStats traffic;
  {
    MutexLock lock(mu_);
    traffic = reader_ != nullptr ? reader_->stats() : before_;
  }
  traffic.reads +=
      files_.reads() + reads_at_once_.load(std::memory_order_relaxed);
  traffic.bytes +=
      files_.bytes() + bytes_at_once_.load(std::memory_order_relaxed);
  return traffic;
}

}  // namespace shufflefs
