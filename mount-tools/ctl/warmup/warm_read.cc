// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/warmup/warm_read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/source/physical.h"

namespace shufflefs {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

// What the threads of one WarmRead share.
class Reading {
 public:
  Reading(const SourceDir& source, const Catalogue& catalogue,
          absl::Span<const EntryId> files, const WarmOptions& options)
      : source_(source),
        catalogue_(catalogue),
        files_(files),
        options_(options) {}

  // The work of one thread.
  void Work() {
    std::vector<char> buffer(kPiece);
    while (!options_.stop.stop_requested()) {
      const size_t at = next_++;
      if (at >= files_.size()) return;
      const std::string path = catalogue_.path(files_[at]);
      const absl::StatusOr<bool> ended = ReadToEnd(path, buffer);
      MutexLock lock(mu_);
      if (!ended.ok()) {
        if (result_.failed++ == 0) {
          result_.first_failure = std::string(ended.status().message());
        }
      } else if (*ended) {
        ++result_.files;
      }
    }
  }

  WarmResult Result() {
    MutexLock lock(mu_);
    result_.bytes = bytes_;
    return result_;
  }

 private:
  // Returns whether it came to the end, else it was stopped.
  absl::StatusOr<bool> ReadToEnd(const std::string& path,
                                 std::vector<char>& buffer) {
    ASSIGN_OR_RETURN(const UniqueFd fd, source_.Open(path, O_RDONLY));
    struct stat st;
    if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
    if (!S_ISREG(st.st_mode)) return ErrnoStatus(ESTALE, path);
    while (!options_.stop.stop_requested()) {
      const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, path);
      if (got == 0) return true;
      const uint64_t bytes = bytes_ += static_cast<uint64_t>(got);
      if (options_.progress) options_.progress(bytes);
    }
    return false;
  }

  // Constant after construction.
  const SourceDir& source_;
  const Catalogue& catalogue_;
  const absl::Span<const EntryId> files_;
  const WarmOptions& options_;

  // Self-synchronised.
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> bytes_{0};

  Mutex mu_;
  WarmResult result_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<WarmPlan> PlanWarmup(const SourceDir& source,
                                    const Catalogue& catalogue, uint64_t room,
                                    std::stop_token stop) {
  std::vector<EntryId> files;
  for (uint32_t i = 0; i < catalogue.entry_count(); ++i) {
    const EntryId entry(i);
    if (catalogue.kind(entry) == EntryKind::kFile) files.push_back(entry);
  }
  PhysicalOptions options;
  options.stop = std::move(stop);
  ASSIGN_OR_RETURN(const DeviceLayout layout,
                   DeviceAddresses(source, catalogue, files, options));
  std::vector<size_t> order(files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return layout.addresses[a] < layout.addresses[b];
  });
  WarmPlan plan;
  for (const size_t at : order) {
    const uint64_t bytes = catalogue.attributes(files[at]).size;
    if (bytes > room - plan.bytes) {
      ++plan.left_files;
      plan.left_bytes += bytes;
    } else {
      plan.files.push_back(files[at]);
      plan.bytes += bytes;
    }
  }
  return plan;
}

WarmResult WarmRead(const SourceDir& source, const Catalogue& catalogue,
                    absl::Span<const EntryId> files,
                    const WarmOptions& options) {
  Reading reading(source, catalogue, files, options);
  std::vector<std::jthread> threads;
  for (uint32_t i = 1; i < options.threads; ++i) {
    threads.push_back(
        StartThread("sfs-warm", [&](std::stop_token) { reading.Work(); }));
  }
  reading.Work();
  threads.clear();  // joins
  return reading.Result();
}

}  // namespace shufflefs
