// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/pack/pack_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/config/config.h"
#include "core/config/value_text.h"
#include "core/dataset/dataset.h"
#include "core/engine/producer_factory.h"
#include "core/pool/chunk_map.h"
#include "core/random/random.h"
#include "core/source/device_probe.h"
#include "core/staging/pack/pack_chunks.h"
#include "core/staging/pack/pack_writer.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/pack/aligned_pack_command.h"
#include "mount-tools/ctl/pack/pack_text.h"

namespace shufflefs {
namespace {

constexpr char kAuto[] = "auto";

absl::StatusOr<uint64_t> AtLeast(absl::string_view option, uint64_t min,
                                 const absl::optional<uint64_t>& value,
                                 absl::string_view what) {
  if (value && *value >= min) return *value;
  return absl::InvalidArgumentError(absl::StrCat(option, ": must be ", what));
}

// On a device that seeks, a pass costs about one seek per file unless memory
// holds a good part of the dataset. Elsewhere more memory only takes more time
// to fill.
uint64_t MemoryFor(const ScannedSource& scanned) {
  const uint64_t least = PackOptions().memory_bytes;
  const DeviceProbe probe =
      ProbeDevice(scanned.source, *scanned.catalogue, ProbeOptions());
  if (probe.device != DeviceKind::kSeekBound) return least;
  return std::max(least, DefaultMemory());
}

using Seconds = std::chrono::duration<double>;

// Shows the line of progress.
std::function<void(const PackProgress&)> PackProgressOn(std::ostream& err) {
  return [&err, begun = absl::optional<PackProgress>(),
          start = std::chrono::steady_clock::now()](
             const PackProgress& now) mutable {
    if (!begun) begun = now;
    const Seconds took = std::chrono::steady_clock::now() - start;
    err << kClearLine << PackProgressText(*begun, now, took.count())
        << std::flush;
  };
}

class PackCommand : public Command {
 public:
  absl::string_view name() const override { return "pack"; }
  absl::string_view help() const override {
    return "copy samples into files that are read from end to end";
  }

  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_option("destination", destination_,
                   "a new or empty directory, or one that an earlier run did "
                   "not finish")
        ->type_name("DEST")
        ->required();
    app.add_option("--chunk", chunk_, "files that lie together (default: 64)")
        ->type_name("N");
    app.add_option("--seed", seed_,
                   "seed of which files lie together (default: 0)")
        ->type_name("N");
    app.add_option("--memory", memory_,
                   "memory to fill before each write (default: auto)")
        ->type_name("SIZE");
    app.add_option("--align", align_,
                   "page: write TFRecord files (SOURCE may be one) with no "
                   "record across pages")
        ->type_name("WHAT");
    app.add_option("--fit", fit_,
                   "with --align, the way to find a page for a record: next "
                   "or best (default: next)")
        ->type_name("HOW");
    app.add_option("--page", page_, "with --align (default: 4KiB)")
        ->type_name("SIZE");
    app.add_flag("--restart", restart_,
                 "remove the pack that DEST holds, and begin anew");
    app.add_flag("--force", force_,
                 "pack even if file names keep their samples");
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override;

 private:
  // Also says in `report` whether names stay.
  absl::StatusOr<PackComposition> Compose(const ScannedSource& scanned,
                                          PackReport& report) const;
  // InvalidArgument if an option belongs to the other kind of pack.
  absl::Status CheckKind() const;
  absl::Status RunAligned(const CommandContext& context) const;

  std::string source_;
  std::string destination_;
  // Empty: not given.
  std::optional<std::string> chunk_;
  std::optional<std::string> seed_;
  std::optional<std::string> memory_;
  std::optional<std::string> align_;
  std::optional<std::string> fit_;
  std::optional<std::string> page_;
  bool restart_ = false;
  bool force_ = false;
  bool json_ = false;
};

// The chunks of a view of the whole source. They contain everything that any
// view moves, and a view uses the part that it has.
absl::StatusOr<PackComposition> PackCommand::Compose(
    const ScannedSource& scanned, PackReport& report) const {
  PackComposition composition;
  ASSIGN_OR_RETURN(
      composition.chunk_size,
      AtLeast("--chunk", 1, ParseNumber(chunk_.value_or("64")), "at least 1"));
  ASSIGN_OR_RETURN(
      composition.seed,
      AtLeast("--seed", 0, ParseNumber(seed_.value_or("0")), "a number"));
  ASSIGN_OR_RETURN(const std::unique_ptr<const Dataset> dataset,
                   Dataset::Make(scanned.catalogue, ViewConfig(), ""));
  const Grouping& grouping = dataset->grouping();
  if (grouping.sample_count() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(scanned.path,
                     ": there are no samples outside of splits; name the "
                     "directory of the training data"));
  }
  report.names_stay = !dataset->moves();
  if (report.names_stay && !force_) {
    return absl::FailedPreconditionError(absl::StrCat(
        scanned.path,
        ": a mount would not read the pack, because file names "
        "keep their samples (",
        dataset->substitute_reason(),
        "); --force packs for mounts with -o substitute=directory"));
  }
  const uint64_t key =
      composition.seed == 0
          ? dataset->key()
          : SubKey(RandomKey(dataset->key()), composition.seed).value();
  const auto files_per_chunk = static_cast<uint32_t>(std::min<uint64_t>(
      composition.chunk_size, std::numeric_limits<uint32_t>::max()));
  composition.chunks = FilesOfChunks(
      ComposeMixedChunks(grouping, key, files_per_chunk), grouping);
  return composition;
}

absl::Status PackCommand::CheckKind() const {
  if (align_ && *align_ != "page") {
    return absl::InvalidArgumentError("--align: must be page");
  }
  const std::pair<const char*, bool> wrong[] = {
      {"--chunk: not with --align; leave one out", align_ && chunk_},
      {"--seed: not with --align; leave one out", align_ && seed_},
      {"--memory: not with --align; leave one out", align_ && memory_},
      {"--force: not with --align; leave one out", align_ && force_},
      {"--fit: only with --align; add --align page", !align_ && fit_},
      {"--page: only with --align; add --align page", !align_ && page_}};
  for (const auto& [what, is_so] : wrong) {
    if (is_so) return absl::InvalidArgumentError(what);
  }
  return absl::OkStatus();
}

absl::Status PackCommand::RunAligned(const CommandContext& context) const {
  AlignedPackArguments arguments;
  arguments.source = source_;
  arguments.destination = destination_;
  if (fit_) arguments.fit = *fit_;
  if (page_) arguments.page = *page_;
  arguments.restart = restart_;
  arguments.json = json_;
  return RunAlignedPack(arguments, context);
}

absl::Status PackCommand::Run(const CommandContext& context) {
  RETURN_IF_ERROR(CheckKind());
  if (align_) return RunAligned(context);
  const std::string memory = memory_.value_or(kAuto);
  const auto begin = std::chrono::steady_clock::now();
  PackOptions options;
  options.restart = restart_;
  if (memory != kAuto) {
    ASSIGN_OR_RETURN(
        options.memory_bytes,
        AtLeast("--memory", kLeastPackMemory, ParseBytes(memory),
                absl::StrCat("at least ", FormatBytes(kLeastPackMemory))));
  }
  PackReport report;
  report.destination = AbsolutePath(destination_, context.cwd);
  ASSIGN_OR_RETURN(const ScannedSource scanned, ScanSource(source_, context));
  report.source = scanned.path;
  ASSIGN_OR_RETURN(const PackComposition composition, Compose(scanned, report));
  if (memory == kAuto) options.memory_bytes = MemoryFor(scanned);
  report.memory_bytes = options.memory_bytes;
  if (context.err_terminal) options.progress = PackProgressOn(*context.err);
  absl::StatusOr<PackResult> result =
      WritePack(scanned.source, *scanned.catalogue, composition,
                report.destination, options);
  if (context.err_terminal) *context.err << kClearLine << std::flush;
  if (!result.ok()) return std::move(result).status();
  report.result = *result;
  report.unpacked_files = scanned.catalogue->file_count() - result->files;
  const Seconds took = std::chrono::steady_clock::now() - begin;
  report.seconds = took.count();
  *context.out << (json_ ? PackJson(report) : PackText(report));
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> MakePackCommand() {
  return std::make_unique<PackCommand>();
}

}  // namespace shufflefs
