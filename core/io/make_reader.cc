// SPDX-License-Identifier: Apache-2.0
#include "core/io/make_reader.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/io/thread_reader.h"
#include "core/io/uring_reader.h"

namespace shufflefs {
namespace {

absl::StatusOr<std::unique_ptr<UringReader>> MakeUringReader(
    const SourceDir& source, const FileReaderOptions& options) {
  if (!options.io_uring) {
    return absl::FailedPreconditionError("switched off");
  }
  return UringReader::Make(source, options);
}

}  // namespace

std::unique_ptr<FileReader> MakeFileReader(const SourceDir& source,
                                           const FileReaderOptions& options) {
  absl::StatusOr<std::unique_ptr<UringReader>> uring =
      MakeUringReader(source, options);
  if (!uring.ok()) {
    Log(LogLevel::kInfo, absl::StrCat("no io_uring (", uring.status().message(),
                                      "): ", source.path(), " is read by ",
                                      options.threads, " threads"));
    return std::make_unique<ThreadReader>(source, options);
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
