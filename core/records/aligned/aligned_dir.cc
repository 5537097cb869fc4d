// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_dir.h"

#include <errno.h>
#include <fcntl.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "core/records/aligned/fresh_file.h"

namespace shufflefs {
namespace {

std::string Fresh(absl::string_view name) {
  return absl::StrCat(name, kFreshSuffix);
}

}  // namespace

absl::StatusOr<AlignedDir> AlignedDir::Open(const std::string& path,
                                            const std::string& source) {
  UniqueFd outside;
  if (!source.empty()) {
    outside = UniqueFd(open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!outside.valid()) return ErrnoStatus(errno, source);
  }
  ASSIGN_OR_RETURN(DirFiles files,
                   DirFiles::Open(path, outside.valid() ? outside.get() : -1));
  RETURN_IF_ERROR(
      files.Lock("another process packs there; wait for it, or "
                 "give another DEST"));
  return AlignedDir(std::move(files));
}

absl::StatusOr<absl::optional<AlignedManifest>> AlignedDir::Load() {
  for (const char* name : {kAlignedManifest, kAlignedPart}) {
    const absl::StatusOr<UniqueFd> fd = files_.OpenFile(name, O_RDONLY);
    if (ErrnoOf(fd.status()) == ENOENT) continue;
    RETURN_IF_ERROR(fd.status());
    ASSIGN_OR_RETURN(const std::string bytes,
                     ReadWhole(fd->get(), PathOf(name), kMostAlignedManifest));
    absl::StatusOr<AlignedManifest> manifest = AlignedManifest::Parse(bytes);
    if (!manifest.ok()) {
      return WithNext(Annotate(manifest.status(), PathOf(name)),
                      "give an empty directory");
    }
    finished_ = name == absl::string_view(kAlignedManifest);
    return absl::optional<AlignedManifest>(*std::move(manifest));
  }
  return absl::optional<AlignedManifest>();
}

absl::Status AlignedDir::RefuseForeign(
    const absl::optional<AlignedManifest>& known,
    const std::set<std::string>& planned) const {
  std::set<std::string> ours;
  if (known) {
    ours.insert({kAlignedManifest, kAlignedPart, Fresh(kAlignedPart)});
    for (const AlignedFile& file : known->files()) {
      ours.insert({file.name, file.idx_name(), Fresh(file.name),
                   Fresh(file.idx_name())});
    }
    for (const std::string& name : planned) {
      ours.insert({Fresh(name), Fresh(absl::StrCat(name, kIndexSuffix))});
    }
  } else {
    // The run ended before anything was written.
    ours.insert(Fresh(kAlignedPart));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.Names());
  for (const std::string& name : names) {
    if (ours.contains(name)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        path(), ": holds ", name,
        ", which is not part of a page-aligned pack; give an empty directory"));
  }
  return absl::OkStatus();
}

absl::Status AlignedDir::Clear(const AlignedManifest& known) {
  if (finished_) {
    // If this is interrupted, it leaves an unfinished run.
    RETURN_IF_ERROR(files_.Rename(kAlignedManifest, kAlignedPart));
    finished_ = false;
  }
  RETURN_IF_ERROR(files_.SyncNames());
  for (const AlignedFile& file : known.files()) {
    for (const std::string& name : {file.name, file.idx_name()}) {
      RETURN_IF_ERROR(files_.Remove(name));
      RETURN_IF_ERROR(files_.Remove(Fresh(name)));
    }
  }
  return files_.Remove(kAlignedPart);
}

absl::Status AlignedDir::Save(const AlignedManifest& manifest) {
  ASSIGN_OR_RETURN(FreshFile file, FreshFile::Create(PathOf(kAlignedPart)));
  RETURN_IF_ERROR(file.Append(manifest.Serialize()));
  RETURN_IF_ERROR(file.Finish());
  return file.Publish();
}

absl::Status AlignedDir::PublishOne(absl::string_view name) {
  ASSIGN_OR_RETURN(const auto written, files_.Stat(Fresh(name)));
  if (!written) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto there, files_.Stat(name));
  if (there) {
    return absl::FailedPreconditionError(
        absl::StrCat(PathOf(name),
                     ": was written by something else; give an empty "
                     "directory"));
  }
  return files_.Rename(Fresh(name), name);
}

absl::Status AlignedDir::Publish(const AlignedFile& file) {
  RETURN_IF_ERROR(PublishOne(file.name));
  RETURN_IF_ERROR(PublishOne(file.idx_name()));
  return CheckAlignedFile(path(), file);
}

absl::Status AlignedDir::Finish() {
  RETURN_IF_ERROR(files_.Rename(kAlignedPart, kAlignedManifest));
  finished_ = true;
  return files_.SyncNames();
}

}  // namespace shufflefs
