// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/whole_file.h"
#include "core/base/status.h"
#include "core/records/aligned/fresh_file.h"

namespace shufflefs {
namespace {

constexpr int kAlignedDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
// In the root of a fresh ext4; as good as empty.
constexpr char kRecovered[] = "lost+found";

// Whether a path that may not be there yet is `directory` or lies below it.
bool LiesIn(const std::string& path, const std::string& directory) {
  std::error_code error;
  const std::filesystem::path top =
      std::filesystem::canonical(directory, error);
  if (error) return false;
  const std::filesystem::path here =
      std::filesystem::weakly_canonical(path, error) / "";
  const std::string below = (top / "").string();
  return !error && absl::StartsWith(here.string(), below);
}

std::string Fresh(absl::string_view name) {
  return absl::StrCat(name, kFreshSuffix);
}

}  // namespace

absl::StatusOr<AlignedDir> AlignedDir::Open(const std::string& path,
                                            const std::string& source) {
  if (!source.empty() && LiesIn(path, source)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": lies in the source, which is never written to"));
  }
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, path);
  }
  UniqueFd fd(open(path.c_str(), kAlignedDirectory));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  // Where the file system has no such lock there is none.
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another process packs there"));
  }
  return AlignedDir(path, std::move(fd));
}

std::string AlignedDir::PathOf(absl::string_view name) const {
  return absl::StrCat(path_, absl::EndsWith(path_, "/") ? "" : "/", name);
}

bool AlignedDir::Has(absl::string_view name) const {
  struct stat st;
  return lstat(PathOf(name).c_str(), &st) == 0;
}

absl::StatusOr<absl::optional<AlignedManifest>> AlignedDir::Load() {
  for (const char* name : {kAlignedManifest, kAlignedPart}) {
    const absl::StatusOr<std::string> bytes =
        ReadWholeFile(PathOf(name), kMostAlignedManifest);
    if (ErrnoOf(bytes.status()) == ENOENT) continue;
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<AlignedManifest> manifest = AlignedManifest::Parse(*bytes);
    if (!manifest.ok()) return Annotate(manifest.status(), PathOf(name));
    finished_ = name == absl::string_view(kAlignedManifest);
    return absl::optional<AlignedManifest>(*std::move(manifest));
  }
  return absl::optional<AlignedManifest>();
}

absl::StatusOr<std::vector<std::string>> AlignedDir::Names() const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator it(path_, error);
  for (; !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    names.push_back(it->path().filename());
  }
  if (error) return ErrnoStatus(error.value(), path_);
  return names;
}

absl::Status AlignedDir::RefuseForeign(
    const absl::optional<AlignedManifest>& known,
    const std::set<std::string>& planned) const {
  std::set<std::string> ours = {kRecovered};
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
    ours.insert(Fresh(kAlignedPart));  // ended before anything was written
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  for (const std::string& name : names) {
    if (ours.contains(name)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": holds ", name,
                     ", which is no part of a page-aligned pack; give an "
                     "empty directory"));
  }
  return absl::OkStatus();
}

absl::Status AlignedDir::Remove(absl::string_view name) {
  if (unlink(PathOf(name).c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, PathOf(name));
  }
  return absl::OkStatus();
}

absl::Status AlignedDir::Clear(const AlignedManifest& known) {
  if (finished_) {
    // What is left when this is interrupted is a run that was not finished.
    if (rename(PathOf(kAlignedManifest).c_str(),
               PathOf(kAlignedPart).c_str()) != 0) {
      return ErrnoStatus(errno, PathOf(kAlignedManifest));
    }
    finished_ = false;
  }
  RETURN_IF_ERROR(SyncNamesAround(PathOf(kAlignedPart)));
  for (const AlignedFile& file : known.files()) {
    for (const std::string& name : {file.name, file.idx_name()}) {
      RETURN_IF_ERROR(Remove(name));
      RETURN_IF_ERROR(Remove(Fresh(name)));
    }
  }
  return Remove(kAlignedPart);
}

absl::Status AlignedDir::Save(const AlignedManifest& manifest) {
  ASSIGN_OR_RETURN(FreshFile file, FreshFile::Create(PathOf(kAlignedPart)));
  RETURN_IF_ERROR(file.Append(manifest.Serialize()));
  RETURN_IF_ERROR(file.Finish());
  return file.Publish();
}

absl::Status AlignedDir::PublishOne(absl::string_view name) {
  const std::string fresh = Fresh(name);
  if (!Has(fresh)) return absl::OkStatus();
  if (Has(name)) {
    return absl::FailedPreconditionError(
        absl::StrCat(PathOf(name), ": was written by something else"));
  }
  if (rename(PathOf(fresh).c_str(), PathOf(name).c_str()) != 0) {
    return ErrnoStatus(errno, PathOf(name));
  }
  return absl::OkStatus();
}

absl::Status AlignedDir::Publish(const AlignedFile& file) {
  RETURN_IF_ERROR(PublishOne(file.name));
  RETURN_IF_ERROR(PublishOne(file.idx_name()));
  return CheckAlignedFile(path_, file);
}

absl::Status AlignedDir::Finish() {
  if (rename(PathOf(kAlignedPart).c_str(), PathOf(kAlignedManifest).c_str()) !=
      0) {
    return ErrnoStatus(errno, PathOf(kAlignedManifest));
  }
  finished_ = true;
  return SyncNamesAround(PathOf(kAlignedManifest));
}

}  // namespace shufflefs
