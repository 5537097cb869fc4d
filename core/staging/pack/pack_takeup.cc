// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_takeup.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/files/checked_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

std::string Options(uint64_t chunk_size, uint64_t seed) {
  return absl::StrCat("--chunk ", chunk_size, " --seed ", seed);
}

// The reason why a pack of `there` cannot be continued for `wanted`.
absl::Status Differs(const PackDir& dir, const PackIdentity& there,
                     const PackIdentity& wanted) {
  if (there.fingerprint != wanted.fingerprint) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: holds a pack of another dataset or of another state of it "
        "(fingerprint %016x, the source has %016x); give an empty directory, "
        "or --restart to replace it",
        dir.path(), there.fingerprint, wanted.fingerprint));
  }
  if (there.state != wanted.state) {
    return absl::FailedPreconditionError(absl::StrCat(
        dir.path(),
        ": holds a pack of files of which one was written or "
        "replaced since, though sizes and times are the same; give "
        "an empty directory, or --restart to replace it"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      dir.path(), ": holds a pack made with ",
      Options(there.chunk_size, there.seed),
      there.chunk_size == wanted.chunk_size && there.seed == wanted.seed
          ? " of other files"
          : absl::StrCat(", not ", Options(wanted.chunk_size, wanted.seed)),
      "; give an empty directory, or --restart to replace it"));
}

// Returns whether two manifests are equal except for their checksums.
bool SameFiles(const PackManifest& a, const PackManifest& b) {
  return a.fingerprint == b.fingerprint && a.state == b.state &&
         a.seed == b.seed && a.chunk_size == b.chunk_size &&
         a.paths == b.paths &&
         std::equal(a.chunks.begin(), a.chunks.end(), b.chunks.begin(),
                    b.chunks.end(),
                    [](const auto& x, const auto& y) {
                      return x.bytes == y.bytes && x.file_count == y.file_count;
                    }) &&
         std::equal(
             a.files.begin(), a.files.end(), b.files.begin(), b.files.end(),
             [](const auto& x, const auto& y) { return x.length == y.length; });
}

absl::Status CheckChunk(const PackDir& dir, const PackLayout& layout,
                        uint32_t chunk) {
  const std::string name = PackChunkName(chunk);
  ASSIGN_OR_RETURN(const uint64_t size, dir.SizeOf(name));
  const uint64_t wanted = layout.manifest.chunks[chunk].bytes;
  if (size == wanted) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(name, ": has ", size, " bytes, not ", wanted));
}

absl::Status Damaged(const PackDir& dir, const absl::Status& status) {
  return absl::DataLossError(
      absl::StrCat(dir.path(), ": holds a damaged pack (", status.message(),
                   "); give --restart to make it anew"));
}

// A file that has the name of a pack's part, but is none.
absl::Status ForeignPart(const PackDir& dir, absl::string_view name,
                         const absl::Status& status) {
  return WithNext(Annotate(status, dir.PathOf(name)),
                  "give an empty directory");
}

absl::StatusOr<PackState> TakeUpFinished(const PackDir& dir,
                                         PackLayout& layout) {
  ASSIGN_OR_RETURN(const std::string bytes, dir.Read(kPackManifest));
  absl::StatusOr<PackManifest> there = ParseManifest(bytes);
  if (absl::IsDataLoss(there.status())) {
    return Damaged(dir, Annotate(there.status(), kPackManifest));
  }
  if (!there.ok()) return ForeignPart(dir, kPackManifest, there.status());
  if (!SameFiles(*there, layout.manifest)) {
    return Differs(
        dir,
        {there->fingerprint, there->state, there->seed, there->chunk_size, 0},
        IdentityOf(layout));
  }
  for (uint32_t chunk = 0; chunk < there->chunks.size(); ++chunk) {
    absl::Status status = CheckChunk(dir, layout, chunk);
    if (!status.ok()) return Damaged(dir, status);
  }
  PackState state;
  state.complete = true;
  return state;
}

// Copies the checksums of a finished chunk into the manifest. Returns false if
// the record is not of this layout.
bool PutChecks(const PackJournal::Finished& finished, PackManifest& manifest) {
  if (finished.chunk >= manifest.chunks.size()) return false;
  const PackManifest::Chunk& chunk = manifest.chunks[finished.chunk];
  const uint64_t first = manifest.files[chunk.first_file].first_check;
  const PackManifest::File& last =
      manifest.files[chunk.first_file + chunk.file_count - 1];
  const uint64_t end = last.first_check + PackChecksOf(last.length);
  if (finished.checks.size() != end - first) return false;
  std::copy(finished.checks.begin(), finished.checks.end(),
            manifest.checks.begin() + static_cast<int64_t>(first));
  return true;
}

absl::StatusOr<PackState> TakeUpUnfinished(const PackDir& dir,
                                           PackLayout& layout) {
  ASSIGN_OR_RETURN(const std::string bytes, dir.Read(kPackJournal));
  absl::StatusOr<PackJournal> journal = ParseJournal(bytes);
  if (!journal.ok()) return ForeignPart(dir, kPackJournal, journal.status());
  if (journal->identity != IdentityOf(layout)) {
    return Differs(dir, journal->identity, IdentityOf(layout));
  }
  std::vector<bool> done(layout.manifest.chunks.size());
  for (const PackJournal::Finished& finished : journal->finished) {
    if (!PutChecks(finished, layout.manifest)) {
      return Damaged(
          dir, absl::DataLossError(absl::StrCat(
                   kPackJournal, ": chunk ", finished.chunk, " is invalid")));
    }
    // A chunk that is missing now is written again.
    done[finished.chunk] = CheckChunk(dir, layout, finished.chunk).ok();
  }
  PackState state;
  state.journal_words = journal->words;
  for (uint32_t chunk = 0; chunk < done.size(); ++chunk) {
    if (!done[chunk]) state.missing.push_back(chunk);
  }
  return state;
}

// Refuses a file that only has the name of a pack's part, but not its content.
absl::Status CheckThatItIsOne(const PackDir& dir,
                              const PackDir::Contents& contents) {
  if (contents.manifest) {
    ASSIGN_OR_RETURN(const std::string bytes, dir.Read(kPackManifest));
    const absl::Status status = ParseManifest(bytes).status();
    if (absl::IsInvalidArgument(status)) {
      return ForeignPart(dir, kPackManifest, status);
    }
  }
  if (contents.journal) {
    ASSIGN_OR_RETURN(const std::string bytes, dir.Read(kPackJournal));
    const absl::Status status = ParseJournal(bytes).status();
    if (!status.ok()) return ForeignPart(dir, kPackJournal, status);
  }
  return absl::OkStatus();
}

absl::StatusOr<PackState> Begin(PackDir& dir, mode_t mode,
                                const PackLayout& layout) {
  const std::vector<uint64_t> header = JournalHeader(IdentityOf(layout));
  RETURN_IF_ERROR(dir.Write(kPackJournal, ColumnBytes(header), mode));
  PackState state;
  state.journal_words = header.size();
  for (uint32_t chunk = 0; chunk < layout.manifest.chunks.size(); ++chunk) {
    state.missing.push_back(chunk);
  }
  return state;
}

absl::Status RemoveLeftovers(PackDir& dir, const PackDir::Contents& contents) {
  for (const std::string& name : contents.leftovers) {
    RETURN_IF_ERROR(dir.Remove(name));
  }
  return absl::OkStatus();
}

// Makes the pack anew. The new journal is there before the old pack goes. So a
// later run goes on wherever this one is interrupted.
absl::StatusOr<PackState> Replace(PackDir& dir,
                                  const PackDir::Contents& contents,
                                  mode_t mode, const PackLayout& layout) {
  RETURN_IF_ERROR(CheckThatItIsOne(dir, contents));
  RETURN_IF_ERROR(RemoveLeftovers(dir, contents));
  ASSIGN_OR_RETURN(PackState state, Begin(dir, mode, layout));
  RETURN_IF_ERROR(dir.Clear(contents));
  return state;
}

// Removes the chunks that are not recorded: half of a run's last portion, or
// what is left of a pack that is replaced.
absl::Status RemoveMissing(PackDir& dir, const PackDir::Contents& contents,
                           const PackState& state, size_t chunk_count) {
  std::vector<bool> finished(chunk_count, true);
  for (const uint32_t chunk : state.missing) finished[chunk] = false;
  for (const uint32_t chunk : contents.chunks) {
    if (chunk < chunk_count && finished[chunk]) continue;
    RETURN_IF_ERROR(dir.Remove(PackChunkName(chunk)));
  }
  return absl::OkStatus();
}

// A directory may have been closed since the last run, which changes no file.
absl::Status LimitRights(PackDir& dir, const PackDir::Contents& contents,
                         mode_t mode) {
  if (contents.manifest) RETURN_IF_ERROR(dir.Limit(kPackManifest, mode));
  if (contents.journal) RETURN_IF_ERROR(dir.Limit(kPackJournal, mode));
  for (const uint32_t chunk : contents.chunks) {
    RETURN_IF_ERROR(dir.Limit(PackChunkName(chunk), mode));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PackState> TakeUpPack(PackDir& dir, bool restart, mode_t mode,
                                     PackLayout& layout) {
  ASSIGN_OR_RETURN(PackDir::Contents contents, dir.List());
  if (!contents.manifest && !contents.journal && !contents.chunks.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        dir.path(), ": holds ", PackChunkName(contents.chunks.front()),
        " but no manifest; give an empty directory"));
  }
  if (restart) return Replace(dir, contents, mode, layout);
  absl::StatusOr<PackState> state = PackState();
  if (contents.manifest) {
    state = TakeUpFinished(dir, layout);
  } else if (contents.journal) {
    state = TakeUpUnfinished(dir, layout);
  }
  if (!state.ok()) return state;
  RETURN_IF_ERROR(LimitRights(dir, contents, mode));
  RETURN_IF_ERROR(RemoveLeftovers(dir, contents));
  if (!contents.manifest && !contents.journal) return Begin(dir, mode, layout);
  if (!state->complete) {
    RETURN_IF_ERROR(
        RemoveMissing(dir, contents, *state, layout.manifest.chunks.size()));
  }
  // The last run was interrupted between its last two steps.
  if (state->complete && contents.journal) {
    RETURN_IF_ERROR(dir.Remove(kPackJournal));
  }
  return state;
}

}  // namespace shufflefs
