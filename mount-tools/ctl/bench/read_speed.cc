// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/bench/read_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/files/unique_fd.h"
#include "core/random/permutation.h"
#include "fs/fuse/run_apart.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

// Beyond the time that reading takes: for the last read.
constexpr std::chrono::milliseconds kGrace{20000};

std::vector<EntryId> RegularFiles(const Catalogue& catalogue) {
  std::vector<EntryId> files;
  for (uint32_t i = 0; i < catalogue.entry_count(); ++i) {
    if (catalogue.kind(EntryId(i)) == EntryKind::kFile) {
      files.push_back(EntryId(i));
    }
  }
  return files;
}

struct Totals {
  std::atomic<uint64_t> next{0};  // position in the order
  std::atomic<uint64_t> files{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> errors{0};
};

// Reads a file. Stops early when the time is over.
void ReadFileUntil(const std::string& path, Clock::time_point end,
                   std::vector<char>& buffer, Totals& totals) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  while (fd.valid()) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) break;
    if (got == 0) {
      ++totals.files;
      return;
    }
    totals.bytes += static_cast<uint64_t>(got);
    if (Clock::now() >= end) return;
  }
  ++totals.errors;
}

std::string ReadAll(const std::string& root, const Catalogue& catalogue,
                    const ReadOptions& options) {
  const std::vector<EntryId> files = RegularFiles(catalogue);
  const Permutation order(files.size(), RandomKey(1));
  Totals totals;
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end = begin + options.time;
  const auto work = [&] {
    std::vector<char> buffer(size_t{1} << 20);
    while (Clock::now() < end) {
      const uint64_t at = totals.next++;
      if (at >= files.size()) return;
      const std::string name = catalogue.path(files[order.Apply(at)]);
      ReadFileUntil(absl::StrCat(root, "/", name), end, buffer, totals);
    }
  };
  std::vector<std::thread> readers;
  for (uint32_t i = 0; i < options.readers; ++i) readers.emplace_back(work);
  for (std::thread& reader : readers) reader.join();
  const auto took =
      std::chrono::ceil<std::chrono::microseconds>(Clock::now() - begin);
  return absl::StrCat(totals.files.load(), " ", totals.bytes.load(), " ",
                      totals.errors.load(), " ", took.count());
}

}  // namespace

absl::optional<ReadSpeed> MeasureReads(const std::string& root,
                                       const Catalogue& catalogue,
                                       const ReadOptions& options,
                                       const PassedSignals& signals) {
  const auto work = [&] {
    signals.Restore();
    return ReadAll(root, catalogue, options);
  };
  const auto text = RunApart(work, options.time + kGrace);
  if (!text) return absl::nullopt;
  const std::vector<std::string> words = absl::StrSplit(*text, ' ');
  ReadSpeed speed;
  uint64_t microseconds = 0;
  if (words.size() != 4 || !absl::SimpleAtoi(words[0], &speed.files) ||
      !absl::SimpleAtoi(words[1], &speed.bytes) ||
      !absl::SimpleAtoi(words[2], &speed.errors) ||
      !absl::SimpleAtoi(words[3], &microseconds)) {
    return absl::nullopt;
  }
  speed.seconds = static_cast<double>(microseconds) / 1e6;
  return speed;
}

bool DropCaches() {
  sync();
  const UniqueFd fd(open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  return fd.valid() && write(fd.get(), "3\n", 2) == 2;
}

}  // namespace shufflefs
