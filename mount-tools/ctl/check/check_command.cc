// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/check_command.h"

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/machine_memory.h"
#include "core/base/status.h"
#include "core/engine/device_finder.h"
#include "core/engine/producer_factory.h"

namespace shufflefs {
namespace {

class CheckCommand : public Command {
 public:
  absl::string_view name() const override { return "check"; }
  absl::string_view help() const override {
    return "what shufflefs would do with a dataset, without mounting it";
  }

  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "the directory of the dataset")
        ->type_name("SOURCE")
        ->required();
    app.add_flag("-v,--verbose", verbose_,
                 "print the evidence, and other commands");
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ScannedSource scanned,
                     ScanSource(source_, context, kMostExact));
    RETURN_IF_ERROR(RefuseNoFiles(scanned));
    ASSIGN_OR_RETURN(const CheckReport report, ReportOn(scanned));
    *context.out << (json_      ? CheckJson(report)
                     : verbose_ ? CheckText(report)
                                : CheckSummary(report));
    return absl::OkStatus();
  }

 private:
  std::string source_;
  bool verbose_ = false;
  bool json_ = false;
};

}  // namespace

absl::StatusOr<CheckReport> ReportOn(const ScannedSource& scanned) {
  CheckInput input;
  input.path = scanned.path;
  input.catalogue = scanned.catalogue.get();
  input.scan_seconds = scanned.seconds;
  input.estimated = scanned.estimated;
  input.memory = FindMachineMemory();
  input.view_memory = GuaranteeOf(DefaultMemory(), 1);
  input.device =
      DeviceFinder(scanned.source).Find(*scanned.catalogue, DirId(0));
  return MakeCheckReport(input);
}

std::unique_ptr<Command> MakeCheckCommand() {
  return std::make_unique<CheckCommand>();
}

}  // namespace shufflefs
