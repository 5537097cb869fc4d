// SPDX-License-Identifier: Apache-2.0
#include "core/scan/staleness_check.h"

#include <errno.h>
#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

// File systems take their times from a clock with this tick. Those with whole
// seconds (or two) have times without a fraction.
constexpr int64_t kTick = 20'000'000;
constexpr int64_t kCoarseTick = 2'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

constexpr absl::string_view kModified = "it was modified";

std::string Line(const SourceDir& source, const std::string& path,
                 absl::string_view what) {
  const std::string line = absl::StrCat(source.path(), path.empty() ? "" : "/",
                                        absl::Utf8SafeCHexEscape(path));
  if (what == kModified) {
    return absl::StrCat(line, " was modified since the last mount");
  }
  return absl::StrCat(line, " changed since the last mount: ", what);
}

// Comparing this many entries takes no noticeable time on any device.
constexpr uint32_t kFewEntries = 1024;

// Returns whether permissions and users match the catalogue.
bool SameRights(const Catalogue& catalogue, uint32_t attr_class,
                const RightsNow& now) {
  const CatalogueTables::AttributeClass& known =
      catalogue.tables().classes[attr_class];
  return now.source.st_mode == known.source_mode && now.mode == known.mode &&
         now.source.st_uid == known.uid && now.source.st_gid == known.gid;
}

// Empty, or the line that names the difference. A file that is gone has changed
// its directory, so it needs no line.
absl::optional<std::string> CompareRights(const SourceDir& source,
                                          const Catalogue& catalogue,
                                          EntryId file) {
  if (catalogue.kind(file) != EntryKind::kFile) return absl::nullopt;
  const std::string path = catalogue.path(file);
  const absl::StatusOr<RightsNow> now =
      ReadRights(source, path, {.list = catalogue.serves_others()});
  if (!now.ok() ||
      SameRights(catalogue, catalogue.attribute_class(file), *now)) {
    return absl::nullopt;
  }
  return Line(source, path, "who may read it has changed");
}

absl::optional<std::string> CompareFile(const SourceDir& source,
                                        const Catalogue& catalogue,
                                        EntryId file) {
  if (catalogue.kind(file) != EntryKind::kFile) return absl::nullopt;
  absl::StatusOr<struct stat> st = source.Stat(catalogue.path(file));
  if (!st.ok()) return absl::nullopt;
  const FileAttributes known = catalogue.attributes(file);
  FileIdentity now = IdentityOf(*st);
  if (known.inode == 0) now.inode = 0;
  if (now == known.identity()) return CompareRights(source, catalogue, file);
  return Line(source, catalogue.path(file), kModified);
}

// The difference, or nothing.
absl::optional<std::string> Compare(const SourceDir& source,
                                    const Catalogue& catalogue, DirId dir) {
  const absl::StatusOr<RightsNow> now = ReadRights(
      source, catalogue.path(dir), {.list = catalogue.serves_others()});
  if (!now.ok()) {
    return ErrnoOf(now.status()) == ENOENT
               ? std::string("it is gone")
               : absl::StrCat("it cannot be read: ", now.status().message());
  }
  const struct stat& st = now->source;
  const CatalogueTables& t = catalogue.tables();
  const uint32_t entry = t.dirs[dir.value()].entry;
  const bool root = entry == CatalogueTables::kNoEntry;
  const uint64_t ino = root ? t.root.ino : t.ino[entry];
  const FileAttributes known = catalogue.dir_attributes(dir);
  if (!S_ISDIR(st.st_mode) || st.st_dev != known.device || st.st_ino != ino) {
    return std::string("another one is in its place");
  }
  const uint32_t attr_class = root ? t.root.attr_class : t.attr_class[entry];
  if (Nanoseconds(st.st_mtim) != known.mtime_ns ||
      Nanoseconds(st.st_ctim) != known.ctime_ns ||
      !SameRights(catalogue, attr_class, *now)) {
    return std::string(kModified);
  }
  const int64_t mtime_ns = known.mtime_ns;
  const int64_t tick = mtime_ns % kSecond == 0 ? kCoarseTick : kTick;
  if (mtime_ns > t.scanned_ns - tick) {
    return std::string("it changed while or just before it was scanned");
  }
  return absl::nullopt;
}

// Compares the users of the catalogue with the users to be served now.
absl::optional<std::string> CompareUsers(const Catalogue& catalogue,
                                         const StalenessOptions& options) {
  if (catalogue.serves_others() != options.serves_others) {
    return std::string("it was made for other users");
  }
  for (const auto& known : catalogue.tables().classes) {
    if (!S_ISREG(known.source_mode)) continue;
    FileAttributes file;
    file.mode = known.source_mode;
    file.uid = known.uid;
    file.gid = known.gid;
    if (options.reader.MayRead(file) != (known.readable != 0)) {
      return std::string("it was made by a user who may read other files");
    }
  }
  return absl::nullopt;
}

using CompareEntry = absl::optional<std::string> (*)(const SourceDir&,
                                                     const Catalogue&, EntryId);

// The first line by bytes among those that are found before all threads stop.
absl::optional<std::string> FindInEntries(const SourceDir& source,
                                          const Catalogue& catalogue,
                                          CompareEntry compare, int threads,
                                          const std::stop_token& stop) {
  Mutex mu;
  absl::optional<std::string> changed;
  ParallelOptions parallel;
  parallel.threads = threads;
  parallel.name = "drift";
  ParallelFor(
      catalogue.entry_count(), parallel, [&](uint64_t begin, uint64_t end) {
        for (uint64_t e = begin; e < end; ++e) {
          absl::optional<std::string> what =
              compare(source, catalogue, EntryId(static_cast<uint32_t>(e)));
          if (!what) continue;
          MutexLock lock(mu);
          if (!changed || *what < *changed) changed = std::move(what);
          return false;
        }
        return !stop.stop_requested();
      });
  return changed;
}

}  // namespace

absl::optional<std::string> FindStaleness(const SourceDir& source,
                                          const Catalogue& catalogue,
                                          const StalenessOptions& options) {
  if (const auto other = CompareUsers(catalogue, options)) {
    return Line(source, "", *other);
  }
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
  return FindInEntries(source, catalogue, CompareFile, options.threads, {});
}

absl::optional<std::string> FindChangedRights(const SourceDir& source,
                                              const Catalogue& catalogue,
                                              std::stop_token stop) {
  return FindInEntries(source, catalogue, CompareRights, 0, stop);
}

}  // namespace shufflefs
