// SPDX-License-Identifier: Apache-2.0
// How long it takes to know a tree of a million files, against `find -type f
// -printf '%s'` on the same tree, both interleaved in one run: scan, save,
// load, staleness check, verdict and grouping; and memory a file.
//
// scan_bench [FILES [ROUNDS [DIRECTORY]]]: makes two trees of FILES (default
// 1000000) files without blocks below DIRECTORY (default TMPDIR), one flat and
// one of 1000 directories, and removes them. `--tree PATH [ROUNDS]`: that one.
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/catalogue/catalogue_file.h"
#include "core/dataset/grouping.h"
#include "core/dataset/substitution_safety.h"
#include "core/scan/scan.h"
#include "core/scan/staleness_check.h"

namespace shufflefs {
namespace {

double Seconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  return took.count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Die(const std::string& what) {
  std::fprintf(stderr, "scan_bench: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status().ToString());
  return *std::move(value);
}

// `files` empty files, evenly in `dirs` directories. The order of creation is
// scattered, so that neither inodes nor hashes follow the names.
void MakeTree(const std::string& root, uint64_t files, uint64_t dirs) {
  std::filesystem::create_directory(root);
  for (uint64_t d = 0; d < dirs; ++d) {
    const std::string path = absl::StrCat(root, "/class-", d);
    if (dirs > 1) std::filesystem::create_directory(path);
    const UniqueFd dir(
        open(dirs > 1 ? path.c_str() : root.c_str(), O_RDONLY | O_DIRECTORY));
    for (uint64_t i = d; i < files; i += dirs) {
      const std::string name =
          absl::StrCat("img_", 1000000 + i * 7919 % 9999991, ".jpg");
      const UniqueFd file(
          openat(dir.get(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644));
      // A hole: files of some size that take no room.
      if (!file.valid() || ftruncate(file.get(), 1000) != 0) {
        Die(absl::StrCat("cannot make ", name));
      }
    }
  }
}

void PrintMachine(const std::string& path) {
  utsname system;
  uname(&system);
  std::string cpu = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      cpu = line.substr(line.find(':') + 2);
      break;
    }
  }
  struct statfs fs = {};
  statfs(path.c_str(), &fs);
  std::printf("machine: %s, %u cores, Linux %s, file system type %#lx\n",
              cpu.c_str(), std::thread::hardware_concurrency(), system.release,
              static_cast<unsigned long>(fs.f_type));
}

void PrintRow(const char* what, const std::vector<double>& seconds,
              double find) {
  std::printf("  %-28s %8.3f s  (%.2f of find)\n", what, Median(seconds),
              Median(seconds) / find);
}

void ScanRounds(const std::string& root, int rounds) {
  const std::string command =
      absl::StrCat("find '", root, "' -type f -printf '%s' > /dev/null");
  std::vector<double> find;
  std::vector<double> scan;
  const SourceDir source = Must(SourceDir::At(root));
  for (int round = 0; round <= rounds; ++round) {
    const double find_took = Seconds([&] {
      if (std::system(command.c_str()) != 0) Die("find failed");
    });
    const double scan_took =
        Seconds([&] { Must(Scan(source, ScanOptions())); });
    if (round == 0) continue;  // warms the caches
    find.push_back(find_took);
    scan.push_back(scan_took);
  }
  std::printf("  %-28s %8.3f s  %s\n", "find", Median(find), command.c_str());
  PrintRow("scan", scan, Median(find));
}

void OtherSteps(const std::string& root, const std::string& state) {
  const SourceDir source = Must(SourceDir::At(root));
  const Catalogue catalogue = Must(Scan(source, ScanOptions()));
  const std::string path = state + "/catalogue";
  std::printf("  %-28s %8.3f s\n", "save", Seconds([&] {
                if (!SaveCatalogue(catalogue, path).ok()) Die("cannot save");
              }));
  std::printf("  %-28s %8.3f s\n", "load",
              Seconds([&] { Must(LoadCatalogue(path)); }));
  std::printf("  %-28s %8.3f s\n", "staleness check", Seconds([&] {
                FindStaleness(source, catalogue, StalenessOptions());
              }));
  std::printf("  %-28s %8.3f s\n", "verdict", Seconds([&] {
                Judge(catalogue, DirId(0), SubstitutionSafetyOptions());
              }));
  GroupingOptions options;
  options.substitute = Substitute::kDirectory;
  uint64_t grouping_bytes = 0;
  std::printf("  %-28s %8.3f s\n", "grouping", Seconds([&] {
                grouping_bytes =
                    Must(Grouping::Make(catalogue, options)).memory_bytes();
              }));
  const auto files =
      static_cast<double>(std::max<uint64_t>(1, catalogue.file_count()));
  std::printf(
      "  %-28s %8.1f catalogue + %.1f grouping, besides %.1f of names\n",
      "bytes a file",
      static_cast<double>(catalogue.memory_bytes() - catalogue.name_bytes()) /
          files,
      static_cast<double>(grouping_bytes) / files,
      static_cast<double>(catalogue.name_bytes()) / files);
}

void Bench(const std::string& root, const std::string& state, int rounds) {
  const Catalogue catalogue =
      Must(Scan(Must(SourceDir::At(root)), ScanOptions()));
  std::printf("%s: %lu files in %u directories, median of %d\n", root.c_str(),
              static_cast<unsigned long>(catalogue.file_count()),
              catalogue.dir_count(), rounds);
  ScanRounds(root, rounds);
  OtherSteps(root, state);
}

int Main(const std::vector<std::string>& args) {
  uint64_t files = 1000000;
  int rounds = 5;
  std::string base = std::filesystem::temp_directory_path();
  const bool given = !args.empty() && args[0] == "--tree";
  if (given && args.size() < 2) Die("--tree needs a path");
  if (args.size() > (given ? 2 : 1) &&
      !absl::SimpleAtoi(args[given ? 2 : 1], &rounds)) {
    Die("ROUNDS is no number");
  }
  if (!given && !args.empty() && !absl::SimpleAtoi(args[0], &files)) {
    Die("FILES is no number");
  }
  if (!given && args.size() > 2) base = args[2];
  std::string scratch = base + "/shufflefs-scan-bench-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) Die("cannot make " + scratch);
  PrintMachine(given ? args[1] : base);
  if (given) {
    Bench(args[1], scratch, rounds);
  } else {
    for (const uint64_t dirs : {1, 1000}) {
      const std::string root = absl::StrCat(scratch, "/", dirs);
      MakeTree(root, files, dirs);
      Bench(root, scratch, rounds);
      std::filesystem::remove_all(root);
    }
  }
  std::filesystem::remove_all(scratch);
  return 0;
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  return shufflefs::Main(std::vector<std::string>(argv + 1, argv + argc));
}
