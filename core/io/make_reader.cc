// SPDX-License-Identifier: Apache-2.0
#include "core/io/make_reader.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/io/thread_reader.h"
#include "core/io/uring_reader.h"
#include "core/source/file_systems.h"

namespace shufflefs {
namespace {

absl::StatusOr<std::unique_ptr<UringReader>> MakeUringReader(
    const SourceDir& source, const FileReaderOptions& options) {
  if (!options.io_uring) {
    return absl::FailedPreconditionError("switched off");
  }
  // If a FUSE server with FOPEN_DIRECT_IO answers in part, Linux 6.18 reads the
  // rest from where io_uring's read began, and says that all is well.
  if (HasFuse(source)) {
    return absl::FailedPreconditionError("it may misread FUSE");
  }
  return UringReader::Make(source, options);
}

}  // namespace

std::unique_ptr<FileReader> MakeFileReader(const SourceDir& source,
                                           const FileReaderOptions& options) {
  absl::StatusOr<std::unique_ptr<UringReader>> uring =
      MakeUringReader(source, options);
  if (!uring.ok()) {
    FileReaderOptions by_threads = options;
    // A server may leave some reads waiting for ever, and answer others.
    if (HasFuse(source)) by_threads.threads = options.depth;
    Log(LogLevel::kInfo, absl::StrCat("no io_uring (", uring.status().message(),
                                      "): ", source.path(), " is read by ",
                                      by_threads.threads, " threads"));
    return std::make_unique<ThreadReader>(source, by_threads);
  }
  if (!options.memory.empty()) {
    const absl::Status pinned = (*uring)->RegisterMemory(options.memory);
    if (!pinned.ok()) {
      Log(LogLevel::kDebug, absl::StrCat("reads go into memory that is not "
                                         "pinned: ",
                                         pinned.message()));
    }
  }
  return *std::move(uring);
}

}  // namespace shufflefs
