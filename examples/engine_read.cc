// SPDX-License-Identifier: Apache-2.0
// engine_read DATASET [POLICY]
//
// Reads one epoch of a dataset without a mount, with the C++ API of
// core/engine. It makes an engine that keeps no state and lists the names in
// the order of the epoch. Several readers look each name up, open it and read
// all of its bytes, as the readers of a mount do. Prints what was read, and how
// fast. The default of POLICY is `auto`.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/binding/listing.h"
#include "core/engine/engine.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

constexpr size_t kReaders = 8;  // also the number of reads in flight
constexpr uint64_t kPiece = uint64_t{1} << 20;

std::chrono::milliseconds Now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

// The files below `dir`, in the order in which the epoch lists them.
void List(const ServedDataset& served, const View& view, DirId dir,
          std::vector<EntryId>& names) {
  const Listing listing(view.binding(), dir);
  const Catalogue& catalogue = served.catalogue();
  for (uint32_t k = 0; k < listing.size(); ++k) {
    const EntryId name = listing.At(k);
    if (catalogue.kind(name) == EntryKind::kFile) names.push_back(name);
    if (catalogue.kind(name) == EntryKind::kDirectory) {
      List(served, view, catalogue.as_dir(name), names);
    }
  }
}

// One of the readers. It waits for each read, as a worker of a loader does.
class Reader {
 public:
  Reader(const ServedDataset& served, View& view)
      : served_(served), view_(view) {}

  // Reads what `name` shows, from beginning to end.
  absl::Status ReadName(EntryId name) {
    const Opened file = Open(name);
    for (uint64_t offset = 0;; offset += kPiece) {
      ASSIGN_OR_RETURN(const uint64_t got, ReadPiece(file, offset));
      bytes_ += got;
      if (got < kPiece) break;
    }
    if (file.provider != nullptr) file.provider->Close(file.shown);
    ++files_;
    return absl::OkStatus();
  }

  uint64_t files() const { return files_; }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Opened {
    EntryId shown;
    std::shared_ptr<ContentProvider> provider;  // null: the source answers
  };

  // A name may be rebound between its lookup and its open. Then it is looked up
  // again, as the kernel does.
  Opened Open(EntryId name) {
    while (true) {
      if (auto records = view_.LookupContainer(name)) {
        if (view_.OpenContainer(name, *records, thread_) ==
            View::OpenVerdict::kServe) {
          return {name, std::move(records)};
        }
        continue;
      }
      const View::Found found = view_.Lookup(name, thread_);
      if (view_.Open(found.shown, thread_, Now(), found.ordinal) ==
          View::OpenVerdict::kServe) {
        return {found.shown, view_.ProviderOf(found.shown, /*live=*/true)};
      }
    }
  }

  // The number of bytes that came. Fewer than kPiece only at the end.
  absl::StatusOr<uint64_t> ReadPiece(const Opened& file, uint64_t offset) {
    view_.NoteRead();
    std::promise<absl::StatusOr<uint64_t>> came;
    const auto done = [&](absl::StatusOr<absl::Span<const iovec>> pieces) {
      if (!pieces.ok()) return came.set_value(pieces.status());
      uint64_t bytes = 0;
      for (const iovec& piece : *pieces) bytes += piece.iov_len;
      came.set_value(bytes);
    };
    if (file.provider != nullptr) {
      if (offset == 0) file.provider->OnFirstRead(file.shown, thread_, Now());
      if (file.provider->CanServe(file.shown)) {
        file.provider->Read(file.shown, offset, kPiece, done);
        return came.get_future().get();
      }
    }
    PlainReads& plain = served_.plain();
    if (auto cached =
            plain.ReadAtOnce(file.shown, offset, absl::MakeSpan(buffer_))) {
      return *cached;
    }
    plain.Read(file.shown, offset, kPiece, done);
    return came.get_future().get();
  }

  const ServedDataset& served_;
  View& view_;
  const int32_t thread_ = gettid();
  std::vector<char> buffer_ = std::vector<char>(kPiece);
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
};

struct Total {
  std::atomic<uint64_t> files{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> failed{0};
};

// Several readers take the names of one epoch in turn.
void ReadEpoch(const ServedDataset& served, View& view, Total& total) {
  std::vector<EntryId> names;
  List(served, view, view.setup()->dataset->root(), names);
  std::atomic<size_t> next{0};
  std::vector<std::jthread> readers;
  for (size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      Reader reader(served, view);
      for (size_t at = next++; at < names.size(); at = next++) {
        const absl::Status read = reader.ReadName(names[at]);
        if (read.ok()) continue;
        Log(LogLevel::kError, read.message());
        ++total.failed;
      }
      total.files += reader.files();
      total.bytes += reader.bytes();
    });
  }
}

absl::Status Run(const std::string& dataset, const std::string& policy) {
  MountConfig config;
  config.source = dataset;
  ViewConfig& asked = config.views.emplace_back();
  asked.policy = policy;
  asked.epoch_advance = Advance::kManual;  // one epoch, whatever is read twice
  ASSIGN_OR_RETURN(SourceDir source, SourceDir::At(dataset));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                   Engine::Make({.config = config,
                                 .source = std::move(source),
                                 .policies = AllPolicies(),
                                 .running = {},
                                 .hooks = {}}));
  ASSIGN_OR_RETURN(const ServedDataset* const served, engine->Load({}));
  View& view = *served->views().front();
  const auto begin = std::chrono::steady_clock::now();
  Total total;
  ReadEpoch(*served, view, total);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  engine->Stop();
  const std::string ran(view.setup()->policy->name());
  std::printf("%s: %llu files, %llu bytes, %.3f s, %.1f MB/s\n", ran.c_str(),
              static_cast<unsigned long long>(total.files),
              static_cast<unsigned long long>(total.bytes), seconds,
              static_cast<double>(total.bytes) / 1e6 / seconds);
  if (total.failed == 0) return absl::OkStatus();
  return absl::DataLossError("some files could not be read");
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: engine_read DATASET [POLICY]\n");
    return 2;
  }
  shufflefs::InitLog({.level = shufflefs::LogLevel::kWarning});
  char path[PATH_MAX];  // SourceDir needs an absolute one
  const absl::Status status =
      realpath(argv[1], path) == nullptr
          ? shufflefs::ErrnoStatus(errno, argv[1])
          : shufflefs::Run(path, argc > 2 ? argv[2] : "auto");
  if (status.ok()) return 0;
  const std::string line(status.message());
  std::fprintf(stderr, "engine_read: %s\n", line.c_str());
  return 1;
}
