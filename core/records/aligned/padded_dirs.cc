// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/padded_dirs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/read_at.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/formats/table/formats.h"
#include "core/formats/tfrecord/tfrecord_format.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

absl::StatusOr<AlignedManifest> ReadManifest(const SourceDir& source,
                                             const std::string& path,
                                             const FileAttributes& expected) {
  const absl::StatusOr<UniqueFd> opened = source.Open(path, O_RDONLY);
  if (!opened.ok()) {
    return OpenFailure(ErrnoOf(opened.status()).value_or(EIO));
  }
  RETURN_IF_ERROR(CheckUnchanged(opened->get(), expected));
  ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadWhole(opened->get(), kAlignedManifest, kMostAlignedManifest));
  if (bytes.size() < expected.size) return EndsEarly(bytes.size());
  return AlignedManifest::Parse(bytes);
}

absl::Status NotWritten(absl::string_view name) {
  return absl::FailedPreconditionError(absl::StrCat(
      kAlignedManifest, ": ", name, " is not the file that was written"));
}

// A manifest takes bytes out of a file. In a directory where everybody may add
// files, it must be of somebody who may write that file or makes this mount.
bool MaySpeakFor(const FileAttributes& file, const FileAttributes& other) {
  return other.uid == file.uid || other.uid == 0 || other.uid == geteuid();
}

absl::Status Strangers(absl::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, " is the file of another user: it does not count"));
}

}  // namespace

PaddedDirs::PaddedDirs(std::shared_ptr<const Catalogue> catalogue)
    : catalogue_(std::move(catalogue)) {}

std::shared_ptr<const PaddedDirs> PaddedDirs::Load(
    const SourceDir& source, std::shared_ptr<const Catalogue> catalogue,
    DirId root) {
  auto dirs = absl::WrapUnique(new PaddedDirs(catalogue));
  for (uint32_t d = root.value(); d < catalogue->subtree_end(root).value();
       ++d) {
    const DirId dir(d);
    const absl::optional<EntryId> entry =
        catalogue->Find(dir, kAlignedManifest);
    if (!entry || catalogue->kind(*entry) != EntryKind::kFile) continue;
    dirs->dirs_.emplace(dir, ReadManifest(source, catalogue->path(*entry),
                                          catalogue->attributes(*entry)));
  }
  return dirs;
}

absl::StatusOr<absl::optional<PaddedDirs::Padded>> PaddedDirs::Find(
    EntryId file) const {
  if (dirs_.empty()) return absl::nullopt;
  const DirId dir = catalogue_->parent(file);
  const auto found = dirs_.find(dir);
  if (found == dirs_.end() || catalogue_->kind(file) != EntryKind::kFile) {
    return absl::nullopt;
  }
  const absl::string_view name = catalogue_->name(file);
  if (!found->second.ok()) {
    if (FormatByName(name) != &TfrecordFormat()) return absl::nullopt;
    return absl::FailedPreconditionError(
        absl::StrCat(kAlignedManifest, ": ", found->second.status().message()));
  }
  const AlignedFile* const known = found->second->Find(name);
  // A file without records has no padding.
  if (known == nullptr || known->records == 0) return absl::nullopt;
  const FileAttributes attributes = catalogue_->attributes(file);
  const absl::optional<EntryId> manifest =
      catalogue_->Find(dir, kAlignedManifest);
  if (!manifest ||
      !MaySpeakFor(attributes, catalogue_->attributes(*manifest))) {
    return Strangers(kAlignedManifest);
  }
  if (attributes.size != known->padded_bytes) {
    return NotWritten(name);
  }
  const absl::optional<EntryId> index =
      catalogue_->Find(dir, known->idx_name());
  if (!index || catalogue_->kind(*index) != EntryKind::kFile ||
      catalogue_->attributes(*index).size != known->idx_bytes) {
    return NotWritten(known->idx_name());
  }
  if (!MaySpeakFor(attributes, catalogue_->attributes(*index))) {
    return Strangers(known->idx_name());
  }
  return Padded{known, *index};
}

}  // namespace shufflefs
