// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/scan_source.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/files/mount_table.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/scan/scan.h"
#include "mount-tools/config/paths.h"

namespace shufflefs {

absl::Status RefuseMount(const std::string& path) {
  absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return absl::OkStatus();  // without /proc nothing is known
  const absl::optional<MountEntry> mount = MountAt(path, *mounts);
  if (!mount || !mount->is_shufflefs()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": is shown by shufflefs; give its source, ", mount->source));
}

absl::StatusOr<ScannedSource> ScanSource(const std::string& path,
                                         const CommandContext& context,
                                         uint64_t exact_entries) {
  const std::string absolute = AbsolutePath(path, context.cwd);
  RETURN_IF_ERROR(RefuseMount(absolute));
  absl::StatusOr<SourceDir> source = SourceDir::At(absolute);
  if (!source.ok()) {
    return WithNext(source.status(), "name the directory of the dataset");
  }
  ScanOptions options;
  options.exact_entries = exact_entries;
  if (context.err_terminal) {
    options.progress = [&context](uint64_t entries) {
      *context.err << kClearLine << "scanning: " << HumanCount(entries)
                   << " names" << std::flush;
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<Catalogue> catalogue = Scan(*source, options);
  if (context.err_terminal) *context.err << kClearLine << std::flush;
  if (!catalogue.ok()) return std::move(catalogue).status();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const bool estimated =
      exact_entries != 0 && catalogue->entry_count() > exact_entries;
  return ScannedSource{absolute, *std::move(source),
                       std::make_shared<const Catalogue>(*std::move(catalogue)),
                       took.count(), estimated};
}

absl::Status RefuseNoFiles(const ScannedSource& scanned) {
  if (scanned.catalogue->file_count() > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      scanned.path, ": there are no files; name the dataset's directory"));
}

}  // namespace shufflefs
