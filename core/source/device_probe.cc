// SPDX-License-Identifier: Apache-2.0
#include "core/source/device_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/parallel.h"
#include "core/random/random.h"
#include "core/source/file_systems.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPiece = 4096;
constexpr size_t kFiles = 64;       // candidates, spread over the tree
constexpr uint32_t kSerial = 32;    // single reads
constexpr uint32_t kGlance = 8;     // files and reads of a glance
constexpr uint64_t kParallel = 64;  // reads, eight at a time
constexpr int kThreads = 8;
// Throughput is measured on the bytes that follow a piece in its file, up to so
// many.
constexpr uint64_t kLeastStream = 16 << 10;
constexpr uint64_t kMostStream = 1 << 20;
constexpr size_t kStreams = 12;       // one at a time
constexpr int kStreamThreads = 32;    // if many reads at once gain
constexpr uint32_t kFarthest = 4096;  // entries examined per candidate
constexpr double kSlowUs = 1000;
constexpr double kGainOfRoundTrips = 3;

absl::optional<bool> Rotational(dev_t device) {
  std::string base =
      absl::StrCat("/sys/dev/block/", major(device), ":", minor(device));
  // A partition has its queue in the disk above it.
  for (const char* queue : {"/queue/rotational", "/../queue/rotational"}) {
    std::ifstream in(absl::StrCat(base, queue));
    int value = 0;
    if (in >> value) return value != 0;
  }
  return absl::nullopt;
}

absl::string_view NameOfDevice(DeviceKind device) {
  switch (device) {
    case DeviceKind::kMemory:
      return "memory";
    case DeviceKind::kFlash:
      return "flash";
    case DeviceKind::kSeekBound:
      return "seek-bound";
    case DeviceKind::kLatencyBound:
      return "latency-bound";
    case DeviceKind::kUnknown:
      break;
  }
  return "unknown device";
}

// Aligned memory, as O_DIRECT requires.
struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, FreeMemory>;
Buffer MakeBuffer(size_t bytes = kPiece) {
  return Buffer(std::aligned_alloc(kPiece, bytes));
}

class Prober {
 public:
  Prober(const SourceDir& source, const Catalogue& catalogue,
         const ProbeOptions& options)
      : source_(source),
        catalogue_(catalogue),
        options_(options),
        begin_(Clock::now()),
        deadline_(begin_ + options.budget),
        salt_(Mix64(
            static_cast<uint64_t>(Clock::now().time_since_epoch().count()))) {}

  DeviceProbe Run();

 private:
  struct File {
    UniqueFd fd;
    uint64_t pieces;  // whole pieces in the file
    bool direct;
  };

  void PickFiles(uint64_t least_bytes);
  void AddFile(EntryId entry);
  // The end of a phase, as a percentage of the whole time.
  Clock::time_point Until(int percent) const {
    return begin_ + options_.budget * percent / 100;
  }
  // Microseconds that reading a piece took. Negative if the read failed.
  double ReadPiece(const File& file, uint64_t piece, void* buffer) const;
  void MeasureSerial();
  void MeasureParallel();
  void MeasureStreams();
  void MeasureManyStreams();
  // The piece for the number-th read. It differs in every probe, because a disk
  // caches what it read.
  uint64_t PieceOf(const File& file, uint64_t number) const {
    return Mix64(salt_ + number) % file.pieces;
  }

  const SourceDir& source_;
  const Catalogue& catalogue_;
  const ProbeOptions& options_;
  const Clock::time_point begin_;
  const Clock::time_point deadline_;
  const uint64_t salt_;
  std::vector<File> files_;
  double serial_mean_us_ = 0;
  DeviceFigures figures_;
};

void Prober::AddFile(EntryId entry) {
  std::string path = catalogue_.path(entry);
  absl::StatusOr<UniqueFd> fd = source_.Open(path, O_DIRECT);
  bool direct = fd.ok();
  if (!direct) fd = source_.Open(path, O_RDONLY);
  struct stat st = {};
  if (!fd.ok() || fstat(fd->get(), &st) != 0) return;
  // Nothing beyond the end of a file that is shorter by now, or whose size was
  // only estimated: that takes no time on any device.
  const uint64_t size = std::min<uint64_t>(catalogue_.attributes(entry).size,
                                           static_cast<uint64_t>(st.st_size));
  if (size == 0) return;
  files_.push_back(
      {*std::move(fd), std::max<uint64_t>(1, size / kPiece), direct});
}

void Prober::PickFiles(uint64_t least_bytes) {
  uint64_t first = catalogue_.first_entry(options_.root).value();
  uint64_t end = catalogue_.entries_end(options_.root).value();
  uint64_t next = first;
  // Opening a file may cost a seek. One file is enough to continue with.
  const uint64_t files = options_.glance ? kGlance : kFiles;
  for (uint64_t i = 0;
       i < files && Clock::now() < (files_.empty() ? deadline_ : Until(33));
       ++i) {
    next = std::max(next, first + (end - first) * i / files);
    uint64_t limit = std::min(end, next + kFarthest);
    for (; next < limit; ++next) {
      EntryId entry(static_cast<uint32_t>(next));
      if (catalogue_.kind(entry) == EntryKind::kFile &&
          catalogue_.attributes(entry).size >= least_bytes) {
        AddFile(entry);
        ++next;
        break;
      }
    }
  }
}

double Prober::ReadPiece(const File& file, uint64_t piece, void* buffer) const {
  auto offset = static_cast<off_t>(piece * kPiece);
  if (!file.direct) {
    posix_fadvise(file.fd.get(), offset, kPiece, POSIX_FADV_RANDOM);
    posix_fadvise(file.fd.get(), offset, kPiece, POSIX_FADV_DONTNEED);
  }
  Clock::time_point begin = Clock::now();
  ssize_t got = pread(file.fd.get(), buffer, kPiece, offset);
  std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  return got > 0 ? took.count() : -1;
}

void Prober::MeasureSerial() {
  const Clock::time_point until = Until(60);
  Buffer buffer = MakeBuffer();
  std::vector<double> took;
  const uint32_t reads = options_.glance ? kGlance : kSerial;
  for (uint32_t i = 0; i < reads && (i == 0 || Clock::now() < until); ++i) {
    const File& file = files_[i * 29 % files_.size()];
    double us = ReadPiece(file, PieceOf(file, i), buffer.get());
    if (us >= 0) took.push_back(us);
    figures_.past_cache &= file.direct;
  }
  if (took.empty()) return;
  for (double us : took)
    serial_mean_us_ += us / static_cast<double>(took.size());
  std::sort(took.begin(), took.end());
  figures_.median_us = took[took.size() / 2];
  figures_.reads = static_cast<uint32_t>(took.size());
}

void Prober::MeasureParallel() {
  const Clock::time_point until = Until(80);
  std::atomic<uint64_t> done{0};
  ParallelOptions parallel;
  parallel.threads = kThreads;
  parallel.chunk = 1;
  parallel.name = "probe";
  Clock::time_point begin = Clock::now();
  ParallelFor(kParallel, parallel, [&](uint64_t i, uint64_t) {
    if (Clock::now() >= until) return false;
    Buffer buffer = MakeBuffer();
    const File& file = files_[i * 29 % files_.size()];
    if (ReadPiece(file, PieceOf(file, kSerial + i), buffer.get()) >= 0) ++done;
    return true;
  });
  std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  if (done < kThreads || took.count() <= 0) return;
  figures_.parallel_gain =
      serial_mean_us_ * static_cast<double>(done) / took.count();
}

// A disk's head is where the piece ended, so the bytes that follow cost no seek
// unless another reader moved the head. So only the better quarter counts, of
// the largest files.
void Prober::MeasureStreams() {
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.pieces > b.pieces; });
  Buffer buffer = MakeBuffer(kMostStream);
  std::vector<double> rates;
  for (const File& file : files_) {
    if (rates.size() == kStreams || Clock::now() >= deadline_) break;
    const uint64_t length = std::min((file.pieces - 1) * kPiece, kMostStream);
    if (length < kLeastStream) break;
    if (ReadPiece(file, 0, buffer.get()) < 0) continue;
    const Clock::time_point begin = Clock::now();
    const ssize_t got = pread(file.fd.get(), buffer.get(), length, kPiece);
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (got > 0) rates.push_back(static_cast<double>(got) / took.count());
  }
  std::sort(rates.begin(), rates.end());
  if (!rates.empty()) figures_.bytes_per_second = rates[rates.size() * 3 / 4];
}

// Round trips overlap, so only many reads at once show the bandwidth of the
// connection.
void Prober::MeasureManyStreams() {
  std::atomic<uint64_t> bytes{0};
  ParallelOptions parallel;
  parallel.threads = kStreamThreads;
  parallel.chunk = 1;
  parallel.name = "probe";
  const Clock::time_point begin = Clock::now();
  ParallelFor(files_.size(), parallel, [&](uint64_t i, uint64_t) {
    if (Clock::now() >= deadline_) return false;
    const File& file = files_[i];
    const uint64_t length = std::min(file.pieces * kPiece, kMostStream);
    if (length < kLeastStream) return true;
    Buffer buffer = MakeBuffer(kMostStream);
    const ssize_t got = pread(file.fd.get(), buffer.get(), length, 0);
    if (got > 0) bytes += static_cast<uint64_t>(got);
    return true;
  });
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  if (bytes == 0) return;
  figures_.bytes_per_second = static_cast<double>(bytes) * 1e6 / took.count();
}

}  // namespace

std::string DeviceLine(const DeviceFigures& f) {
  if (f.memory_fs) return "memory: the source is a file system in memory";
  if (f.reads == 0) return "unknown device: no file could be read";
  std::string line =
      absl::StrFormat("%s: %.2f ms a random 4 KiB read (median of %d%s)",
                      NameOfDevice(ClassifyDevice(f)), f.median_us / 1000,
                      f.reads, f.past_cache ? "" : ", without O_DIRECT");
  if (f.parallel_gain > 0) {
    absl::StrAppendFormat(&line, ", %.1fx as fast eight at a time",
                          f.parallel_gain);
  }
  if (f.bytes_per_second > 0) {
    absl::StrAppendFormat(&line, ", %.0f MB/s of large reads",
                          f.bytes_per_second / 1e6);
  }
  if (f.network_fs) line += ", network or user-space file system";
  if (f.rotational) {
    line += *f.rotational ? ", called rotational by the kernel"
                          : ", not rotational";
  }
  return line;
}

namespace {

DeviceProbe Prober::Run() {
  struct statfs fs;
  struct stat st;
  if (fstatfs(source_.fd(), &fs) == 0) {
    figures_.memory_fs = IsMemoryFs(static_cast<uint64_t>(fs.f_type));
    figures_.network_fs = IsNetworkFs(static_cast<uint64_t>(fs.f_type));
  }
  if (fstat(source_.fd(), &st) == 0)
    figures_.rotational = Rotational(st.st_dev);
  if (!figures_.memory_fs) {
    PickFiles(kPiece);
    if (files_.empty()) PickFiles(1);
    if (!files_.empty()) MeasureSerial();
    if (figures_.median_us >= kSlowUs && !options_.glance) {
      MeasureParallel();
      ClassifyDevice(figures_) == DeviceKind::kSeekBound ? MeasureStreams()
                                                         : MeasureManyStreams();
    }
  }
  DeviceProbe probe;
  probe.figures = figures_;
  probe.device = ClassifyDevice(figures_);
  probe.line = files_.empty() && !figures_.memory_fs
                   ? "unknown device: no file to measure it with"
                   : DeviceLine(figures_);
  return probe;
}

}  // namespace

DeviceKind ClassifyDevice(const DeviceFigures& figures) {
  if (figures.memory_fs) return DeviceKind::kMemory;
  if (figures.reads == 0) return DeviceKind::kUnknown;
  // This includes disks that call themselves rotational but are not, such as
  // most virtual ones.
  if (figures.median_us < kSlowUs) return DeviceKind::kFlash;
  if (figures.network_fs || figures.parallel_gain >= kGainOfRoundTrips ||
      figures.rotational == absl::optional<bool>(false)) {
    return DeviceKind::kLatencyBound;
  }
  return DeviceKind::kSeekBound;
}

DeviceProbe ProbeDevice(const SourceDir& source, const Catalogue& catalogue,
                        const ProbeOptions& options) {
  return Prober(source, catalogue, options).Run();
}

}  // namespace shufflefs
