// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/bench/bench_command.h"

#include <signal.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/bench/bench_text.h"
#include "mount-tools/ctl/bench/read_speed.h"
#include "mount-tools/ctl/check/check_command.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/run/passed_signals.h"
#include "mount-tools/ctl/run/run_command.h"
#include "mount-tools/ctl/run/temporary_mount.h"
#include "mount-tools/ctl/status_fields.h"
#include "mount-tools/daemon/command_line.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kRaw[] = "raw";
// A catalogue that is not ready by then is said to be so.
constexpr char kMountKeys[] = "epoch.advance=manual,wait=60s";

// Whether the policy of every view serves, at the mount that just began.
bool IsReady(const std::string& mountpoint) {
  const auto text = MountClient(mountpoint, "").Read("status");
  const auto status = status_fields::ParseStatus(text.value_or(""));
  if (!status.ok()) return false;
  for (const status_fields::Json& view : (*status)["views"]) {
    if (status_fields::TextOf(view, "epoch_state") == "indexing") return false;
  }
  return true;
}

class BenchCommand : public Command {
 public:
  absl::string_view name() const override { return "bench"; }
  absl::string_view help() const override {
    return "measure a dataset, raw and through mounts";
  }
  std::vector<std::string>* program() override { return &program_; }

  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_option("-o", keys_, "keys for all mounts, as shufflefs takes them")
        ->type_name("KEY=VALUE,...")
        ->allow_extra_args(false);
    app.add_option("--policy", policies_,
                   "policy to try, may be repeated (default: those that suit)")
        ->type_name("NAME")
        ->allow_extra_args(false);
    app.add_option("--time", time_, "time to read each (default: 10s)")
        ->type_name("TIME");
    app.add_option("--readers", read_.readers, "number of readers (default: 4)")
        ->type_name("N")
        ->check(CLI::Range(1, 256));
    app.add_flag("--warm", warm_, "leave the page cache as it is");
    app.add_option("-I,--replace", mark_,
                   "what stands for the directory in COMMAND (default: {})")
        ->type_name("TEXT");
    app.add_flag("--json", json_, "print a JSON object a line");
    app.footer(
        "Then -- and a command with its arguments, to measure it instead:\n"
        "  shufflectl bench DATA -- python train.py {}");
  }

  absl::Status Run(const CommandContext& context) override;

 private:
  // What is the same for all measurements.
  struct Bench {
    const ScannedSource& scanned;
    const PassedSignals& signals;
    const CommandContext& context;
  };
  // Reads `root`, or runs the command on it.
  BenchResult Measure(const Bench& bench, const std::string& name,
                      const std::string& root);
  void MeasureCommand(const Bench& bench, const std::string& root,
                      BenchResult& result);
  // The values of -o for a mount of `policy`.
  std::vector<std::string> OptionsFor(const std::string& policy) const;
  // InvalidArgument if shufflefs would refuse them.
  absl::Status CheckKeys(const std::vector<std::string>& policies,
                         const CommandContext& context) const;
  BenchResult MeasureMount(const Bench& bench, const std::string& policy);
  absl::Status MeasureAll(const Bench& bench,
                          const std::vector<std::string>& policies);
  std::string Conditions(const Catalogue& catalogue) const;
  void Print(const BenchResult& result, const BenchResult& raw,
             const CommandContext& context) const;

  std::string source_;
  std::vector<std::string> keys_;
  std::vector<std::string> policies_;
  std::string time_ = "10s";
  std::string mark_ = "{}";
  std::vector<std::string> program_;
  ReadOptions read_;
  bool warm_ = false;
  bool json_ = false;
  bool interrupted_ = false;
};

void BenchCommand::MeasureCommand(const Bench& bench, const std::string& root,
                                  BenchResult& result) {
  const Clock::time_point begin = Clock::now();
  setenv("SHUFFLEFS_MOUNT", root.c_str(), 1);
  const auto child = bench.signals.Start(WithMountpoint(program_, mark_, root),
                                         {.output_to_stderr = true});
  if (!child.ok()) {
    result.trouble = std::string(child.status().message());
    return;
  }
  const int status = bench.signals.AwaitAndPass(*child);
  interrupted_ = status == 128 + SIGINT || status == 128 + SIGTERM;
  if (status != 0) {
    result.trouble = absl::StrCat("the command ended with status ", status);
    return;
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
}

BenchResult BenchCommand::Measure(const Bench& bench, const std::string& name,
                                  const std::string& root) {
  BenchResult result;
  result.name = name;
  if (!warm_ && !DropCaches()) warm_ = true;
  result.cold = !warm_;
  if (!program_.empty()) {
    MeasureCommand(bench, root, result);
    return result;
  }
  result.speed =
      MeasureReads(root, *bench.scanned.catalogue, read_, bench.signals);
  if (result.speed) return result;
  interrupted_ = bench.signals.Came() != 0;
  result.trouble = interrupted_ ? "interrupted" : "does not answer";
  return result;
}

std::vector<std::string> BenchCommand::OptionsFor(
    const std::string& policy) const {
  std::vector<std::string> options = {kMountKeys};
  options.insert(options.end(), keys_.begin(), keys_.end());
  options.push_back(absl::StrCat("policy=", policy));
  return options;
}

absl::Status BenchCommand::CheckKeys(const std::vector<std::string>& policies,
                                     const CommandContext& context) const {
  for (const std::string& key : keys_) {
    for (const std::string& word : SplitMountOptions(key)) {
      if (!absl::StartsWith(word, "policy=")) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("-o ", word, ": name the policies with --policy"));
    }
  }
  for (const std::string& policy : policies) {
    std::vector<std::string> words;
    for (const std::string& option : OptionsFor(policy)) {
      words.insert(words.end(), {"-o", option});
    }
    words.insert(words.end(), {"SOURCE", "MOUNTPOINT"});
    RETURN_IF_ERROR(ParseCommandLine(words, context.cwd).status());
  }
  return absl::OkStatus();
}

BenchResult BenchCommand::MeasureMount(const Bench& bench,
                                       const std::string& policy) {
  BenchResult result;
  result.name = policy;
  const absl::StatusOr<TemporaryMount> mount = TemporaryMount::Make();
  if (!mount.ok()) {
    result.trouble = std::string(mount.status().message());
    return result;
  }
  MountRequest request;
  request.source = bench.scanned.path;
  request.options = OptionsFor(policy);
  int came = 0;
  const absl::Status started =
      mount->Start(request, bench.signals, bench.context, came);
  interrupted_ = came != 0;
  if (!started.ok()) {
    result.trouble = std::string(started.message());
  } else if (IsReady(mount->mountpoint())) {
    result = Measure(bench, policy, mount->mountpoint());
  } else {
    result.trouble = "its catalogue was not ready after a minute";
  }
  const absl::Status ended = mount->End(bench.context);
  if (!ended.ok()) {
    *bench.context.err << "shufflectl: " << ended.message() << "\n";
  }
  return result;
}

std::string BenchCommand::Conditions(const Catalogue& catalogue) const {
  std::string text =
      absl::StrCat(Counted(catalogue.file_count(), "file", "files"), ", ",
                   HumanBytes(catalogue.total_bytes()), "\n");
  if (program_.empty()) {
    absl::StrAppend(&text, Counted(read_.readers, "reader", "readers"),
                    ", random order, at most ", FormatDuration(read_.time),
                    " each\n");
  }
  return text;
}

void BenchCommand::Print(const BenchResult& result, const BenchResult& raw,
                         const CommandContext& context) const {
  *context.out << (json_ ? BenchJson(result, raw) : BenchLine(result, raw))
               << std::flush;
}

absl::Status BenchCommand::MeasureAll(
    const Bench& bench, const std::vector<std::string>& policies) {
  const bool asked_warm = warm_;
  const BenchResult raw = Measure(bench, kRaw, bench.scanned.path);
  if (!json_) {
    *bench.context.out
        << (!warm_       ? "cold: the caches of the machine are dropped before "
                           "each\n"
            : asked_warm ? "warm: what is cached stays cached\n"
                         : "warm: only root may drop caches, so data may come "
                           "from memory\n")
        << BenchTitles(!program_.empty());
  }
  Print(raw, raw, bench.context);
  std::vector<BenchResult> results = {raw};
  for (const std::string& policy : policies) {
    if (interrupted_) break;
    results.push_back(MeasureMount(bench, policy));
    Print(results.back(), raw, bench.context);
  }
  if (interrupted_) return absl::CancelledError("interrupted");
  const auto failed = std::count_if(
      results.begin(), results.end(),
      [](const BenchResult& result) { return !result.trouble.empty(); });
  if (failed > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(failed, " of ", results.size(),
                     " measurements failed, so nothing is compared; each row "
                     "says why"));
  }
  if (!json_) *bench.context.out << BenchVerdict(results);
  return absl::OkStatus();
}

absl::Status BenchCommand::Run(const CommandContext& context) {
  const auto time = ParseDuration(time_);
  if (!time || time->count() <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--time ", time_, ": must be a time such as 500ms or 10s"));
  }
  read_.time = *time;
  RETURN_IF_ERROR(CheckKeys(
      policies_.empty() ? std::vector<std::string>{"auto"} : policies_,
      context));
  ASSIGN_OR_RETURN(const ScannedSource scanned, ScanSource(source_, context));
  if (scanned.catalogue->file_count() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(scanned.path,
                     ": holds no files that could be read; name the dataset's "
                     "directory"));
  }
  std::vector<std::string> policies = policies_;
  if (policies.empty()) {
    ASSIGN_OR_RETURN(const CheckReport report, ReportOn(scanned));
    policies = PoliciesToTry(report, !program_.empty());
  }
  if (!json_) *context.out << Conditions(*scanned.catalogue) << std::flush;
  const PassedSignals signals;
  return MeasureAll({scanned, signals, context}, policies);
}

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() {
  return std::make_unique<BenchCommand>();
}

}  // namespace shufflefs
