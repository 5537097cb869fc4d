// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_index.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/staging/pack/pack_dir.h"
#include "core/staging/pack/pack_journal.h"

namespace shufflefs {
namespace {

// An upper bound for the manifest of a dataset, so that a huge file does not
// fill the memory.
uint64_t MostManifestBytes(const Catalogue& catalogue) {
  constexpr uint64_t kMostPath = 16384;
  return kMostPath * (1 + uint64_t{catalogue.entry_count()}) +
         catalogue.total_bytes() / kPackCheckBytes * sizeof(uint64_t);
}

std::string PathIn(const SourceDir& dir, absl::string_view name) {
  return absl::StrCat(dir.path(), "/", name);
}

absl::Status NoPack(const SourceDir& dir) {
  if (dir.Stat(kPackJournal).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir.path(),
                     ": the pack is not finished; run shufflectl pack again, "
                     "which goes on with it"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(dir.path(), ": holds no pack; make one by shufflectl pack"));
}

absl::StatusOr<PackManifest> LoadManifest(const SourceDir& dir,
                                          const Catalogue& catalogue) {
  const std::string path = PathIn(dir, kPackManifest);
  absl::StatusOr<UniqueFd> fd = dir.Open(kPackManifest, O_RDONLY);
  if (!fd.ok()) {
    return ErrnoOf(fd.status()) == ENOENT ? NoPack(dir)
                                          : Annotate(fd.status(), dir.path());
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadWhole(fd->get(), path, MostManifestBytes(catalogue)));
  absl::StatusOr<PackManifest> manifest = ParseManifest(bytes);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  if (manifest->fingerprint != catalogue.fingerprint()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: is the pack of another dataset or of another state of it "
        "(fingerprint %016x, the source has %016x); pack again",
        dir.path(), manifest->fingerprint, catalogue.fingerprint()));
  }
  if (manifest->state != catalogue.state()) {
    return absl::FailedPreconditionError(absl::StrCat(
        dir.path(),
        ": is a pack of files of which one was written or replaced "
        "since, though sizes and times are the same; pack again"));
  }
  return manifest;
}

absl::StatusOr<FileAttributes> LookAt(const SourceDir& dir, uint32_t chunk,
                                      uint64_t bytes) {
  const std::string name = PackChunkName(chunk);
  const absl::StatusOr<struct stat> st = dir.Stat(name);
  if (!st.ok()) return Annotate(st.status(), dir.path());
  if (!S_ISREG(st->st_mode) || static_cast<uint64_t>(st->st_size) != bytes) {
    return absl::DataLossError(
        absl::StrCat(PathIn(dir, name), ": is not the file of ", bytes,
                     " bytes that the manifest says; pack again"));
  }
  FileAttributes known = AttributesOf(*st);
  if (!InodesLast(dir.fd(), "")) known.inode = 0;
  return known;
}

}  // namespace

absl::StatusOr<SourceDir> OpenPackDir(const std::string& path,
                                      const std::string& reached,
                                      const SourceDir& source) {
  struct stat st;
  if (fstat(source.fd(), &st) != 0) return ErrnoStatus(errno, source.path());
  ASSIGN_OR_RETURN(SourceDir dir, SourceDir::At(path, reached));
  RETURN_IF_ERROR(CheckTrustedDir(dir.fd(), path, st.st_uid));
  return dir;
}

absl::StatusOr<std::shared_ptr<const PackIndex>> PackIndex::Open(
    const SourceDir& dir, std::shared_ptr<const Catalogue> catalogue) {
  ASSIGN_OR_RETURN(const PackManifest manifest, LoadManifest(dir, *catalogue));
  std::shared_ptr<PackIndex> index =
      absl::WrapUnique(new PackIndex(std::move(catalogue)));
  absl::Status taken = index->TakeFiles(manifest);
  if (!taken.ok()) return Annotate(taken, PathIn(dir, kPackManifest));
  RETURN_IF_ERROR(index->LookAtChunks(dir, manifest));
  return index;
}

absl::Status PackIndex::TakeFiles(const PackManifest& manifest) {
  row_of_.assign(catalogue_->entry_count(), kNone);
  rows_.reserve(manifest.files.size());
  files_.reserve(manifest.files.size());
  for (uint32_t c = 0; c < manifest.chunks.size(); ++c) {
    const PackManifest::Chunk& chunk = manifest.chunks[c];
    first_file_.push_back(chunk.first_file);
    for (uint32_t i = 0; i < chunk.file_count; ++i) {
      const PackManifest::File& file = manifest.files[chunk.first_file + i];
      const absl::string_view path = manifest.path(file);
      const absl::optional<EntryId> entry = catalogue_->FindPath(path);
      if (!entry || catalogue_->kind(*entry) != EntryKind::kFile ||
          catalogue_->attributes(*entry).size != file.length ||
          row_of_[entry->value()] != kNone) {
        return absl::DataLossError(absl::StrCat(
            "has ", path, ", which is not this file of the source"));
      }
      row_of_[entry->value()] = static_cast<uint32_t>(rows_.size());
      rows_.push_back({file.offset, file.first_check, c});
      files_.push_back(*entry);
    }
  }
  first_file_.push_back(static_cast<uint32_t>(files_.size()));
  checks_ = manifest.checks;
  bytes_ = manifest.bytes();
  return absl::OkStatus();
}

absl::Status PackIndex::LookAtChunks(const SourceDir& dir,
                                     const PackManifest& manifest) {
  attributes_.resize(manifest.chunks.size());
  Mutex mu;
  absl::Status failed;
  ParallelOptions parallel;
  parallel.name = "pack";
  ParallelFor(attributes_.size(), parallel, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const absl::StatusOr<FileAttributes> found =
          LookAt(dir, static_cast<uint32_t>(i), manifest.chunks[i].bytes);
      if (!found.ok()) {
        MutexLock lock(mu);
        failed.Update(found.status());
        return false;
      }
      attributes_[i] = *found;
    }
    return true;
  });
  MutexLock lock(mu);
  return failed;
}

absl::optional<PackIndex::Place> PackIndex::Find(EntryId file) const {
  if (file.value() >= row_of_.size() || row_of_[file.value()] == kNone) {
    return absl::nullopt;
  }
  const Row& row = rows_[row_of_[file.value()]];
  Place place;
  place.chunk = row.chunk;
  place.offset = row.offset;
  place.length = catalogue_->attributes(file).size;
  place.checks = absl::MakeConstSpan(checks_).subspan(
      row.first_check, PackChecksOf(place.length));
  return place;
}

absl::Span<const EntryId> PackIndex::files(uint32_t chunk) const {
  const uint32_t first = first_file_[chunk];
  return absl::MakeConstSpan(files_).subspan(first,
                                             first_file_[chunk + 1] - first);
}

uint64_t PackIndex::memory_bytes() const {
  return row_of_.size() * sizeof(uint32_t) + rows_.size() * sizeof(Row) +
         files_.size() * sizeof(EntryId) +
         first_file_.size() * sizeof(uint32_t) +
         checks_.size() * sizeof(uint64_t) +
         attributes_.size() * sizeof(FileAttributes);
}

}  // namespace shufflefs
