// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/warmup/warmup_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/machine_memory.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/producer_factory.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/progress_line.h"
#include "mount-tools/ctl/warmup/warm_read.h"
#include "mount-tools/ctl/warmup/warmup_text.h"
#include "mount-tools/daemon/interrupt.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

// What memory has room for beside the memory that a mount takes for itself.
uint64_t RoomBesideAMount() {
  const uint64_t memory = MachineMemoryBytes();
  const uint64_t mount = DefaultMemory();
  return memory > mount ? memory - mount : 0;
}

class WarmupCommand : public Command {
 public:
  absl::string_view name() const override { return "warmup"; }
  absl::string_view help() const override {
    return "read a dataset into memory before a job begins";
  }

  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_option("--limit", limit_,
                   "bytes to read at most (default: what memory has room for)")
        ->type_name("SIZE");
    app.add_option("--readers", readers_,
                   "files that are read at a time (default: 4)")
        ->type_name("N");
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override;

 private:
  std::string source_;
  std::string limit_;
  std::string readers_ = "4";
  bool json_ = false;
};

absl::Status WarmupCommand::Run(const CommandContext& context) {
  WarmupReport report;
  report.limited = !limit_.empty();
  const absl::optional<uint64_t> limit = ParseBytes(limit_);
  if (report.limited && !limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--limit ", limit_, ": is not a size such as 512M or 8GiB"));
  }
  if (limit && *limit == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--limit ", limit_, ": must be more than 0"));
  }
  const absl::optional<uint64_t> readers = ParseNumber(readers_);
  if (!readers || *readers < 1 || *readers > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("--readers ", readers_, ": must be from 1 to 256"));
  }
  report.room = limit ? *limit : RoomBesideAMount();
  if (report.room == 0) {
    return absl::FailedPreconditionError(
        "no memory is free; end other programs, or set --limit");
  }
  ASSIGN_OR_RETURN(const ScannedSource scanned, ScanSource(source_, context));
  RETURN_IF_ERROR(RefuseNoFiles(scanned));
  report.source = scanned.path;
  report.files = scanned.catalogue->file_count();
  report.bytes = scanned.catalogue->total_bytes();
  const Interrupt interrupt;
  ASSIGN_OR_RETURN(const WarmPlan plan,
                   PlanWarmup(scanned.source, *scanned.catalogue, report.room,
                              interrupt.token()));
  report.left_files = plan.left_files;
  report.left_bytes = plan.left_bytes;
  const Clock::time_point begin = Clock::now();
  {
    ProgressLine line(context, "reading");
    WarmOptions options;
    options.threads = static_cast<uint32_t>(*readers);
    options.stop = interrupt.token();
    options.progress = [&](uint64_t bytes) { line.Show(bytes, plan.bytes); };
    report.read =
        WarmRead(scanned.source, *scanned.catalogue, plan.files, options);
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report.interrupted = interrupt.asked();
  *context.out << (json_ ? WarmupJson(report) : WarmupText(report));
  if (report.interrupted) {
    return absl::CancelledError(
        "interrupted; the same command reads the rest, and what is in memory "
        "takes no time");
  }
  if (report.read.failed == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Counted(report.read.failed, "file", "files"), " cannot be read; make ",
      report.read.failed == 1 ? "it readable, or a job will fail at it"
                              : "them readable, or a job will fail at them"));
}

}  // namespace

std::unique_ptr<Command> MakeWarmupCommand() {
  return std::make_unique<WarmupCommand>();
}

}  // namespace shufflefs
