// SPDX-License-Identifier: Apache-2.0
// Reads files as a training job does, and says how long that took. The
// benchmarks in Python drive one process of it, so that interpreter time is
// no part of what is measured, by lines on its standard input; each is
// answered by one line, `<seconds> ... <files> <bytes>` or `error <text>`:
//
//   list ROOT             remember the paths of the regular files below ROOT
//   files SEED ROOT ...   open, fstat, read to the end and close each of them
//                         below each ROOT, in an order that SEED shuffles
//   stat SEED ROOT ...    only stat each of them
//   large PATH            read one file from start to end, 1 MiB at a time
//
// `files` and `stat` take turns: some files below the first ROOT, then as many
// below the next, and so on, so that all suffer alike from a busy machine.
// Each ROOT has two times: of all its turns, and the median turn's times the
// number of turns, which the machine's other work disturbs less.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes a read
constexpr size_t kTurn = 100;               // files of one root at a time

struct Pass {
  std::vector<double> seconds;
  uint64_t files = 0;
  uint64_t bytes = 0;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

absl::StatusOr<uint64_t> StatOne(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  return st.st_size;
}

class Reader {
 public:
  absl::StatusOr<Pass> Do(const std::string& line);

 private:
  using Paths = std::vector<std::string>;
  using Visit = std::function<absl::StatusOr<uint64_t>(const std::string&)>;

  absl::StatusOr<Pass> List(const std::string& root);
  absl::StatusOr<Pass> InTurns(uint64_t seed, const Paths& roots,
                               const Visit& visit) const;
  absl::StatusOr<Pass> Large(const std::string& path);
  Paths Shuffled(uint64_t seed, const std::string& root) const;
  absl::StatusOr<uint64_t> ReadOne(const std::string& path);

  Paths names_;  // relative to the listed root, sorted
  std::vector<char> buffer_ = std::vector<char>(kPiece);
};

absl::StatusOr<Pass> Reader::Do(const std::string& line) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  uint64_t seed = 0;
  if (what == "files" || what == "stat") words >> seed;
  Paths paths;
  for (std::string path; words >> path;) paths.push_back(path);
  if (paths.empty()) return absl::InvalidArgumentError(line);
  if (what == "list") return List(paths[0]);
  if (what == "large") return Large(paths[0]);
  if (what == "stat") return InTurns(seed, paths, StatOne);
  if (what == "files") {
    return InTurns(seed, paths,
                   [this](const std::string& path) { return ReadOne(path); });
  }
  return absl::InvalidArgumentError(line);
}

absl::StatusOr<Pass> Reader::List(const std::string& root) {
  names_.clear();
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(root, error);
  if (error) return ErrnoStatus(error.value(), root);
  Pass pass;
  for (; entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    names_.push_back(entry->path().string().substr(root.size() + 1));
    pass.bytes += entry->file_size(error);
  }
  if (error) return ErrnoStatus(error.value(), root);
  std::sort(names_.begin(), names_.end());
  pass.files = names_.size();
  return pass;
}

Reader::Paths Reader::Shuffled(uint64_t seed, const std::string& root) const {
  Paths paths;
  paths.reserve(names_.size());
  for (const std::string& name : names_) paths.push_back(root + "/" + name);
  Rng rng(DeriveKey(Seed(seed), Epoch(0), 0, Purpose::kTest));
  for (size_t left = paths.size(); left > 1; --left) {
    std::swap(paths[left - 1], paths[rng.Bounded(left)]);
  }
  return paths;
}

absl::StatusOr<uint64_t> Reader::ReadOne(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  struct stat st;
  uint64_t bytes = 0;
  ssize_t got = fstat(fd, &st);
  if (got == 0) {
    while ((got = read(fd, buffer_.data(), buffer_.size())) > 0) bytes += got;
  }
  const int failed = got < 0 ? errno : 0;
  close(fd);
  if (failed != 0) return ErrnoStatus(failed, path);
  if (bytes != static_cast<uint64_t>(st.st_size)) {
    return absl::DataLossError(path + ": size and content differ");
  }
  return bytes;
}

absl::StatusOr<Pass> Reader::InTurns(uint64_t seed, const Paths& roots,
                                     const Visit& visit) const {
  std::vector<Paths> paths;
  for (const std::string& root : roots) paths.push_back(Shuffled(seed, root));
  Pass pass;
  std::vector<std::vector<double>> turns(roots.size());
  for (size_t from = 0; from < names_.size(); from += kTurn) {
    const size_t end = std::min(from + kTurn, names_.size());
    for (size_t root = 0; root < roots.size(); ++root) {
      const auto start = std::chrono::steady_clock::now();
      for (size_t i = from; i < end; ++i) {
        ASSIGN_OR_RETURN(const uint64_t bytes, visit(paths[root][i]));
        pass.bytes += bytes;
      }
      turns[root].push_back(SecondsSince(start));
    }
  }
  pass.files = names_.size() * roots.size();
  for (std::vector<double>& of_root : turns) {
    pass.seconds.push_back(Sum(of_root));
    pass.seconds.push_back(Median(of_root) * of_root.size());
  }
  return pass;
}

absl::StatusOr<Pass> Reader::Large(const std::string& path) {
  Pass pass;
  pass.files = 1;
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(pass.bytes, ReadOne(path));
  pass.seconds.push_back(SecondsSince(start));
  return pass;
}

}  // namespace
}  // namespace shufflefs

int main() {
  shufflefs::Reader reader;
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::StatusOr<shufflefs::Pass> pass = reader.Do(line);
    if (pass.ok()) {
      for (const double seconds : pass->seconds) std::printf("%.6f ", seconds);
      std::printf("%llu %llu\n", static_cast<unsigned long long>(pass->files),
                  static_cast<unsigned long long>(pass->bytes));
    } else {
      std::printf("error %s\n", std::string(pass.status().message()).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}
