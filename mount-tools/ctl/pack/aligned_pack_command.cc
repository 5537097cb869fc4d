// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/pack/aligned_pack_command.h"

#include <bit>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/records/aligned/aligned_pack.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/pack/aligned_pack_text.h"

namespace shufflefs {
namespace {

using Seconds = std::chrono::duration<double>;

absl::StatusOr<PageFit> FitOf(const std::string& word) {
  if (word == "next") return PageFit::kNext;
  if (word == "best") return PageFit::kBest;
  return absl::InvalidArgumentError("--fit: must be next or best");
}

absl::StatusOr<uint64_t> PageOf(const std::string& text) {
  const absl::optional<uint64_t> bytes = ParseBytes(text);
  if (bytes && std::has_single_bit(*bytes) && *bytes >= kLeastAlignedPage &&
      *bytes <= kMostAlignedPage) {
    return *bytes;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--page: must be a power of two from ", FormatBytes(kLeastAlignedPage),
      " to ", FormatBytes(kMostAlignedPage)));
}

// Shows the line of progress.
std::function<void(const AlignProgress&)> ProgressOn(std::ostream& err) {
  return [&err, begun = absl::optional<AlignProgress>(),
          start = std::chrono::steady_clock::now()](
             const AlignProgress& now) mutable {
    if (!begun) begun = now;
    const Seconds took = std::chrono::steady_clock::now() - start;
    err << kClearLine << AlignProgressText(*begun, now, took.count())
        << std::flush;
  };
}

}  // namespace

absl::Status RunAlignedPack(const AlignedPackArguments& arguments,
                            const CommandContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  AlignedPackReport report;
  AlignOptions options;
  ASSIGN_OR_RETURN(options.fit, FitOf(arguments.fit));
  ASSIGN_OR_RETURN(options.page_bytes, PageOf(arguments.page));
  options.restart = arguments.restart;
  report.fit = options.fit;
  report.page_bytes = options.page_bytes;
  report.source = AbsolutePath(arguments.source, context.cwd);
  report.destination = AbsolutePath(arguments.destination, context.cwd);
  RETURN_IF_ERROR(RefuseMount(report.source));
  if (context.err_terminal) options.progress = ProgressOn(*context.err);
  absl::StatusOr<AlignResult> result =
      WriteAligned(report.source, report.destination, options);
  if (context.err_terminal) *context.err << kClearLine << std::flush;
  if (!result.ok()) return std::move(result).status();
  report.result = *result;
  const Seconds took = std::chrono::steady_clock::now() - begin;
  report.seconds = took.count();
  *context.out << (arguments.json ? AlignedPackJson(report)
                                  : AlignedPackText(report));
  return absl::OkStatus();
}

}  // namespace shufflefs
