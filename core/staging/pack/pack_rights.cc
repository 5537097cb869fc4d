// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_rights.h"

#include <sys/stat.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

// The directories that hold `entries`, and all above them in the source, except
// for the source itself.
std::vector<DirId> DirsOf(const Catalogue& catalogue,
                          absl::Span<const EntryId> entries) {
  std::vector<bool> seen(catalogue.dir_count());
  std::vector<DirId> dirs;
  for (const EntryId entry : entries) {
    DirId dir = catalogue.parent(entry);
    while (dir.value() != 0 && !seen[dir.value()]) {
      seen[dir.value()] = true;
      dirs.push_back(dir);
      dir = catalogue.parent(dir);
    }
  }
  return dirs;
}

class RightsOfAll {
 public:
  RightsOfAll(const SourceDir& source, const Catalogue& catalogue,
              absl::Span<const EntryId> files)
      : source_(source),
        catalogue_(catalogue),
        files_(files),
        dirs_(DirsOf(catalogue, files)) {}

  // By what the catalogue knows.
  bool ModesAreOpen() const {
    for (size_t i = 0; i < count(); ++i) {
      if (!HasBits(AttributesOf(i).mode, Wanted(i))) return false;
    }
    return true;
  }
  bool ListsAreOpen(int threads) const {
    // The scan has already limited the modes by the lists.
    if (catalogue_.serves_others()) return true;
    std::atomic<bool> open = true;
    ParallelOptions parallel;
    parallel.threads = threads;
    parallel.name = "pack";
    ParallelFor(count(), parallel, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end && open; ++i) {
        const FileAttributes known = AttributesOf(i);
        const std::string path = PathOf(i);
        struct stat found = {};
        found.st_mode = known.mode;
        found.st_uid = known.uid;
        found.st_gid = known.gid;
        if (!HasBits(ShownModeAt(source_.fd(), path.c_str(), found,
                                 source_.overflow_ids()),
                     Wanted(i))) {
          open = false;
        }
      }
      return open.load();
    });
    return open;
  }

 private:
  // First the directories, then the files.
  size_t count() const { return dirs_.size() + files_.size(); }
  bool IsDir(size_t i) const { return i < dirs_.size(); }
  mode_t Wanted(size_t i) const { return IsDir(i) ? kAllSearch : kAllRead; }
  FileAttributes AttributesOf(size_t i) const {
    return IsDir(i) ? catalogue_.dir_attributes(dirs_[i])
                    : catalogue_.attributes(files_[i - dirs_.size()]);
  }
  std::string PathOf(size_t i) const {
    return IsDir(i) ? std::string(catalogue_.path(dirs_[i]))
                    : std::string(catalogue_.path(files_[i - dirs_.size()]));
  }

  const SourceDir& source_;
  const Catalogue& catalogue_;
  const absl::Span<const EntryId> files_;
  const std::vector<DirId> dirs_;
};

}  // namespace

mode_t PackModeOf(const SourceDir& source, const Catalogue& catalogue,
                  absl::Span<const EntryId> entries, int threads) {
  const RightsOfAll rights(source, catalogue, entries);
  const bool open = rights.ModesAreOpen() &&
                    AllMayReach(source.fd(), source.overflow_ids()) &&
                    rights.ListsAreOpen(threads);
  return open ? 0644 : 0600;
}

}  // namespace shufflefs
