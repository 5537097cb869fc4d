// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/catalogue/file_identity.h"
#include "core/records/aligned/aligned_copy.h"
#include "core/records/aligned/aligned_dir.h"
#include "core/records/aligned/aligned_manifest.h"

namespace shufflefs {
namespace {

struct SourceFile {
  std::string name;
  std::string path;
  uint64_t bytes = 0;
  uint64_t identity = 0;
};

struct Sources {
  std::string directory;          // "" if the source is a file
  std::vector<SourceFile> files;  // sorted by name
};

absl::StatusOr<struct stat> StatOf(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  return st;
}

SourceFile MakeSource(const std::string& path, const struct stat& st) {
  const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  return {.name = std::filesystem::path(path).filename(),
          .path = path,
          .bytes = static_cast<uint64_t>(st.st_size),
          .identity = HashOf(LastingIdentityOf(fd.get(), st))};
}

bool IsWanted(const std::string& name) {
  return absl::StrContains(name, ".tfrecord") &&
         !absl::EndsWith(name, kIndexSuffix) && IsAlignedName(name);
}

absl::StatusOr<Sources> FindSources(const std::string& source) {
  Sources sources;
  ASSIGN_OR_RETURN(const struct stat top, StatOf(source));
  if (!S_ISDIR(top.st_mode)) {
    sources.files.push_back(MakeSource(source, top));
    if (IsAlignedName(sources.files[0].name)) return sources;
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": its name is too long; rename the file"));
  }
  sources.directory = source;
  std::error_code error;
  std::filesystem::directory_iterator it(source, error);
  for (; !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    const std::string path = it->path();
    if (!IsWanted(it->path().filename())) continue;
    ASSIGN_OR_RETURN(const struct stat st, StatOf(path));
    if (S_ISREG(st.st_mode)) sources.files.push_back(MakeSource(path, st));
  }
  if (error) return ErrnoStatus(error.value(), source);
  if (sources.files.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(source,
                     ": there is no file named *.tfrecord* in it; name "
                     "the directory of the TFRecord files, or one file"));
  }
  std::sort(
      sources.files.begin(), sources.files.end(),
      [](const SourceFile& a, const SourceFile& b) { return a.name < b.name; });
  return sources;
}

absl::string_view FitName(PageFit fit) {
  return fit == PageFit::kNext ? "next" : "best";
}

// Refuses to continue a run with other settings.
absl::Status CheckSame(const AlignedDir& dir, const AlignedManifest& known,
                       const std::vector<SourceFile>& files,
                       const AlignOptions& options) {
  const absl::string_view remedy =
      "; give an empty directory, or --restart to replace it";
  if (known.page_bytes() != options.page_bytes || known.fit() != options.fit) {
    return absl::FailedPreconditionError(absl::StrCat(
        dir.path(), ": holds a pack made with --fit ", FitName(known.fit()),
        " --page ", known.page_bytes(), ", not --fit ", FitName(options.fit),
        " --page ", options.page_bytes, remedy));
  }
  size_t found = 0;
  for (const SourceFile& file : files) {
    const AlignedFile* const done = known.Find(file.name);
    if (done == nullptr) continue;
    ++found;
    if (done->stripped_bytes != file.bytes ||
        done->source_identity != file.identity) {
      return absl::FailedPreconditionError(
          absl::StrCat(file.path, ": was changed since ", dir.path(),
                       " was written", remedy));
    }
  }
  if (found != known.files().size() ||
      (dir.finished() && found != files.size())) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir.path(), ": holds a pack of other files", remedy));
  }
  return absl::OkStatus();
}

class AlignedRun {
 public:
  AlignedRun(AlignedDir dir, const AlignOptions& options,
             std::vector<SourceFile> files)
      : dir_(std::move(dir)),
        options_(options),
        files_(std::move(files)),
        manifest_(options.page_bytes, options.fit) {}

  absl::StatusOr<AlignResult> Run() {
    RETURN_IF_ERROR(TakeUp());
    progress_.total_files = files_.size();
    for (const SourceFile& file : files_) progress_.total_bytes += file.bytes;
    for (const AlignedFile& file : manifest_.files()) {
      RETURN_IF_ERROR(dir_.Publish(file));
      progress_.read += file.stripped_bytes;
      ++progress_.files;
    }
    result_.resumed_files = manifest_.files().size();
    result_.was_complete = dir_.finished();
    for (const SourceFile& file : files_) RETURN_IF_ERROR(Copy(file));
    if (!dir_.finished()) RETURN_IF_ERROR(dir_.Finish());
    if (options_.progress) options_.progress(progress_);
    return Sums();
  }

 private:
  absl::Status TakeUp() {
    ASSIGN_OR_RETURN(absl::optional<AlignedManifest> known, dir_.Load());
    std::set<std::string> planned;
    for (const SourceFile& file : files_) planned.insert(file.name);
    RETURN_IF_ERROR(dir_.RefuseForeign(known, planned));
    if (known && options_.restart) {
      RETURN_IF_ERROR(dir_.Clear(*known));
      known.reset();
    }
    if (!known) return dir_.Save(manifest_);
    RETURN_IF_ERROR(CheckSame(dir_, *known, files_, options_));
    manifest_ = *std::move(known);
    return absl::OkStatus();
  }

  absl::Status Copy(const SourceFile& source) {
    if (manifest_.Find(source.name) != nullptr) return absl::OkStatus();
    AlignedCopyOptions copy = {.source = source.path,
                               .destination = dir_.PathOf(source.name),
                               .page_bytes = options_.page_bytes,
                               .fit = options_.fit,
                               .progress = {}};
    copy.progress = [this](uint64_t bytes) { return Tell(bytes); };
    ASSIGN_OR_RETURN(AlignedFile file, CopyAligned(copy));
    file.name = source.name;
    manifest_.Add(file);
    RETURN_IF_ERROR(dir_.Save(manifest_));
    RETURN_IF_ERROR(dir_.Publish(file));
    ++progress_.files;
    return absl::OkStatus();
  }

  // Returns false to stop.
  bool Tell(uint64_t bytes) {
    progress_.read += bytes;
    result_.read_bytes += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (options_.progress && now - reported_ >= options_.progress_every) {
      reported_ = now;
      options_.progress(progress_);
    }
    return !options_.stop.stop_requested();
  }

  AlignResult Sums() const {
    AlignResult result = result_;
    for (const AlignedFile& file : manifest_.files()) {
      ++result.files;
      result.records += file.records;
      result.stripped_bytes += file.stripped_bytes;
      result.padded_bytes += file.padded_bytes;
      result.source_pages += file.source_pages;
      result.padded_pages += file.padded_pages;
    }
    return result;
  }

  AlignedDir dir_;
  const AlignOptions& options_;
  const std::vector<SourceFile> files_;
  AlignedManifest manifest_;
  AlignProgress progress_;
  AlignResult result_;
  std::chrono::steady_clock::time_point reported_;
};

}  // namespace

double ReadAmplification(uint64_t pages, uint64_t page_bytes,
                         uint64_t record_bytes) {
  if (record_bytes == 0) return 1;
  return static_cast<double>(pages) * static_cast<double>(page_bytes) /
         static_cast<double>(record_bytes);
}

absl::StatusOr<AlignResult> WriteAligned(const std::string& source,
                                         const std::string& destination,
                                         const AlignOptions& options) {
  ASSIGN_OR_RETURN(Sources sources, FindSources(source));
  ASSIGN_OR_RETURN(AlignedDir dir,
                   AlignedDir::Open(destination, sources.directory));
  return AlignedRun(std::move(dir), options, std::move(sources.files)).Run();
}

}  // namespace shufflefs
