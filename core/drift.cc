// SPDX-License-Identifier: Apache-2.0
#include "core/drift.h"

#include <errno.h>
#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/mutex.h"
#include "core/parallel.h"
#include "core/status.h"

namespace shufflefs {
namespace {

// File systems take their times from a clock that ticks this often; those
// with whole seconds (or two) show it by a time without a fraction.
constexpr int64_t kTick = 20'000'000;
constexpr int64_t kCoarseTick = 2'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

std::string Line(const SourceDir& source, const std::string& path,
                 const std::string& what) {
  return absl::StrCat(source.path(), path.empty() ? "" : "/",
                      absl::Utf8SafeCHexEscape(path),
                      ": differs from the saved catalogue: ", what);
}

// To ask for each of so many takes no time that one would notice, wherever
// they lie.
constexpr uint32_t kFewEntries = 1024;

// Nothing, or the line that says what differs.
absl::optional<std::string> CompareFile(const SourceDir& source,
                                        const Catalogue& catalogue,
                                        EntryId file) {
  if (catalogue.kind(file) != EntryKind::kFile) return absl::nullopt;
  absl::StatusOr<struct stat> st = source.Stat(catalogue.path(file));
  // What is gone has changed its directory.
  if (!st.ok()) return absl::nullopt;
  const FileAttributes known = catalogue.attributes(file);
  FileIdentity now = IdentityOf(*st);
  if (known.inode == 0) now.inode = 0;
  if (now == known.identity()) return absl::nullopt;
  return Line(source, catalogue.path(file), "it has changed");
}

// What differs, or nothing.
absl::optional<std::string> Compare(const SourceDir& source,
                                    const Catalogue& catalogue, DirId dir) {
  absl::StatusOr<struct stat> st = source.Stat(catalogue.path(dir));
  if (!st.ok()) {
    return ErrnoOf(st.status()) == ENOENT
               ? std::string("it is gone")
               : absl::StrCat("it cannot be read: ", st.status().message());
  }
  const CatalogueTables& t = catalogue.tables();
  uint32_t entry = t.dirs[dir.value()].entry;
  bool root = entry == CatalogueTables::kNoEntry;
  uint64_t ino = root ? t.root.ino : t.ino[entry];
  const FileAttributes known = catalogue.dir_attributes(dir);
  if (!S_ISDIR(st->st_mode) || st->st_dev != known.device ||
      st->st_ino != ino) {
    return std::string("another one is in its place");
  }
  if (Nanoseconds(st->st_mtim) != known.mtime_ns ||
      Nanoseconds(st->st_ctim) != known.ctime_ns) {
    return std::string("it has changed");
  }
  const int64_t mtime_ns = known.mtime_ns;
  int64_t tick = mtime_ns % kSecond == 0 ? kCoarseTick : kTick;
  if (mtime_ns > t.scanned_ns - tick) {
    return std::string("it changed while or just before it was scanned");
  }
  return absl::nullopt;
}

}  // namespace

absl::optional<std::string> FindDrift(const SourceDir& source,
                                      const Catalogue& catalogue,
                                      const DriftOptions& options) {
  Mutex mu;
  absl::optional<std::pair<uint64_t, std::string>> first;
  ParallelOptions parallel;
  parallel.threads = options.threads;
  parallel.name = "drift";
  ParallelFor(
      catalogue.dir_count(), parallel, [&](uint64_t begin, uint64_t end) {
        for (uint64_t d = begin; d < end; ++d) {
          absl::optional<std::string> what =
              Compare(source, catalogue, DirId(static_cast<uint32_t>(d)));
          if (!what) continue;
          MutexLock lock(mu);
          if (!first || d < first->first) first = {d, *what};
          return false;
        }
        return true;
      });
  if (first) {
    const DirId dir(static_cast<uint32_t>(first->first));
    return Line(source, catalogue.path(dir), first->second);
  }
  if (catalogue.entry_count() > kFewEntries) return absl::nullopt;
  absl::optional<std::string> changed;
  ParallelFor(
      catalogue.entry_count(), parallel, [&](uint64_t begin, uint64_t end) {
        for (uint64_t e = begin; e < end; ++e) {
          absl::optional<std::string> what =
              CompareFile(source, catalogue, EntryId(static_cast<uint32_t>(e)));
          if (!what) continue;
          MutexLock lock(mu);
          if (!changed || *what < *changed) changed = std::move(what);
          return false;
        }
        return true;
      });
  return changed;
}

}  // namespace shufflefs
