// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/pack/index_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/catalogue_loader.h"
#include "core/engine/policy_resolver.h"
#include "core/engine/records_maker.h"
#include "core/engine/state_dir.h"
#include "core/view/view_setup.h"
#include "mount-tools/config/mount_places.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/check/scan_source.h"
#include "mount-tools/ctl/pack/index_text.h"
#include "mount-tools/ctl/progress_line.h"
#include "mount-tools/daemon/command_line.h"
#include "mount-tools/daemon/interrupt.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Receives indexes that could not be saved; keeps the first. Thread-safe.
class NotSaved {
 public:
  void Note(const absl::Status& status) {
    MutexLock lock(mu_);
    if (status_.ok()) status_ = status;
  }
  absl::Status status() {
    MutexLock lock(mu_);
    return status_;
  }

 private:
  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

// A view, and the containers whose records it shuffles. Null if it shuffles
// none.
struct ViewContainers {
  std::shared_ptr<const ViewSetup> setup;
  std::shared_ptr<ContainerSet> containers;
};

class IndexCommand : public Command {
 public:
  absl::string_view name() const override { return "index"; }
  absl::string_view help() const override {
    return "find the records of container files ahead of a mount";
  }

  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_option("mountpoint", mountpoint_,
                   "the later mount point: by default its state is found "
                   "from it")
        ->type_name("MOUNTPOINT");
    app.add_option("--state", state_, "the state of the mount, as -o state=DIR")
        ->type_name("DIR");
    app.add_option("-o", options_, "keys, as shufflefs takes them")
        ->type_name("KEY=VALUE,...")
        ->allow_extra_args(false);
    app.add_option("--config", config_, "a TOML file, as shufflefs takes it")
        ->type_name("FILE");
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override;

 private:
  // The configuration that shufflefs would make from the same words.
  absl::StatusOr<MountConfig> Config(const CommandContext& context) const;
  static absl::StatusOr<std::vector<ViewContainers>> Views(
      const MountConfig& config, const SourceDir& source,
      std::shared_ptr<const Catalogue> catalogue);
  struct Places {
    const SourceDir* source = nullptr;
    const StateDir* state = nullptr;
  };
  static absl::Status IndexAll(const std::vector<ViewContainers>& views,
                               const Places& places,
                               const CommandContext& context,
                               IndexReport& report);

  std::string source_;
  std::string mountpoint_;
  std::string state_;
  std::vector<std::string> options_;
  std::string config_;
  bool json_ = false;
};

absl::StatusOr<MountConfig> IndexCommand::Config(
    const CommandContext& context) const {
  std::vector<std::string> words;
  for (const std::string& option : options_) {
    words.insert(words.end(), {"-o", option});
  }
  if (!config_.empty()) words.insert(words.end(), {"--config", config_});
  const std::string source = AbsolutePath(source_, context.cwd);
  words.push_back(source);
  words.push_back(mountpoint_.empty() ? source
                                      : AbsolutePath(mountpoint_, context.cwd));
  ASSIGN_OR_RETURN(CommandLine line, ParseCommandLine(words, context.cwd));
  if (!state_.empty()) line.config.state = AbsolutePath(state_, context.cwd);
  if (line.config.state.empty() && mountpoint_.empty()) {
    return absl::InvalidArgumentError(
        "where the mount will look for indexes is not known: give its "
        "MOUNTPOINT, or --state DIR here and -o state=DIR there");
  }
  line.config.mountpoint = WithoutLinks(line.config.mountpoint);
  ASSIGN_OR_RETURN(line.config.state, StatePath(line.config));
  RETURN_IF_ERROR(CheckPlaces(line.config));
  return std::move(line.config);
}

absl::StatusOr<std::vector<ViewContainers>> IndexCommand::Views(
    const MountConfig& config, const SourceDir& source,
    std::shared_ptr<const Catalogue> catalogue) {
  SetupTools tools = ToolsWithoutMount(source, AllPolicies(), &config);
  tools.containers = [&](const ViewConfig& keys,
                         std::shared_ptr<const Dataset> dataset,
                         const Policy& policy)
      -> absl::StatusOr<std::shared_ptr<ContainerSet>> {
    if (!ShufflesRecords(policy, keys, *dataset)) return nullptr;
    ContainerSetOptions options;
    options.padded = PaddedOf(source, *dataset);
    return ContainersOf(config, keys, std::move(dataset), options);
  };
  std::vector<ViewContainers> views;
  for (const ViewConfig& view : config.views) {
    ViewContainers made;
    absl::StatusOr<std::shared_ptr<const ViewSetup>> setup =
        MakeViewSetup(view, catalogue, tools, nullptr);
    if (!setup.ok()) {
      if (view.path.empty()) return setup.status();
      return Annotate(setup.status(), absl::StrCat("view '", view.path, "'"));
    }
    made.setup = *std::move(setup);
    made.containers = made.setup->records.containers;
    views.push_back(std::move(made));
  }
  return views;
}

absl::Status IndexCommand::IndexAll(const std::vector<ViewContainers>& views,
                                    const Places& places,
                                    const CommandContext& context,
                                    IndexReport& report) {
  for (const ViewContainers& view : views) {
    if (view.containers != nullptr) {
      report.bytes += view.containers->total_bytes();
    }
  }
  absl::optional<OwnedDir> saved;
  if (report.bytes > 0) {
    ASSIGN_OR_RETURN(saved, places.state->dir().Sub(kRecordIndexes));
  }
  NotSaved not_saved;
  uint64_t before = 0;  // bytes of the views that are done
  {
    const Interrupt interrupt;
    ProgressLine line(context, "indexing");
    for (const ViewContainers& view : views) {
      if (view.containers == nullptr || interrupt.asked()) continue;
      ContainerSet::IndexOptions options;
      options.saved = saved;
      options.stop = interrupt.token();
      options.progress = [&](uint64_t done, uint64_t) {
        line.Show(before + done, report.bytes);
      };
      options.not_saved = [&](const absl::Status& status) {
        not_saved.Note(status);
      };
      view.containers->Index(*places.source, options);
      before += view.containers->total_bytes();
    }
    report.interrupted = interrupt.asked();
  }
  return not_saved.status();
}

absl::Status IndexCommand::Run(const CommandContext& context) {
  const auto begin = Clock::now();
  // The report has what the log would say about files.
  InitLog({.level = LogLevel::kError});
  ASSIGN_OR_RETURN(const MountConfig config, Config(context));
  RETURN_IF_ERROR(RefuseMount(config.source));
  ASSIGN_OR_RETURN(const SourceDir source, SourceDir::At(config.source));
  ASSIGN_OR_RETURN(const StateDir state, StateDir::Open(config.state));
  // A saved catalogue is checked by its directories, which do not show a file
  // that was rewritten in place. So the catalogue is made again.
  RETURN_IF_ERROR(state.catalogue().Remove());
  CatalogueRequest request;
  request.config = &config;
  request.source = &source;
  request.saved = state.catalogue();
  if (context.err_terminal) {
    request.progress = [&context](uint64_t entries) {
      *context.err << kClearLine << "scanning: " << HumanCount(entries)
                   << " names" << std::flush;
    };
  }
  const absl::StatusOr<FoundCatalogue> found = FindCatalogue(request);
  if (context.err_terminal) *context.err << kClearLine << std::flush;
  if (!found.ok()) return found.status();
  ASSIGN_OR_RETURN(const std::vector<ViewContainers> views,
                   Views(config, source, found->catalogue));
  IndexReport report;
  report.source = config.source;
  report.saved = absl::StrCat(state.path(), "/", kRecordIndexes);
  const absl::Status saved =
      IndexAll(views, {&source, &state}, context, report);
  report.seconds = SecondsSince(begin);
  for (const ViewContainers& view : views) {
    IndexReport::View& told = report.views.emplace_back();
    told.path = view.setup->config.path;
    told.policy = std::string(view.setup->policy->name());
    told.why = view.setup->why;
    told.shuffles_records = view.containers != nullptr;
    if (told.shuffles_records) told.containers = view.containers->Report();
  }
  *context.out << (json_ ? IndexJson(report) : IndexText(report));
  RETURN_IF_ERROR(saved);
  if (!report.interrupted) return absl::OkStatus();
  const ContainerReport sum = report.Sum();
  return absl::CancelledError(absl::StrCat(
      "interrupted: ", sum.indexed, " of ", sum.containers,
      " containers are indexed; the same command goes on with the others"));
}

}  // namespace

std::unique_ptr<Command> MakeIndexCommand() {
  return std::make_unique<IndexCommand>();
}

}  // namespace shufflefs
