// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/list/list_command.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "mount-tools/ctl/list/list_text.h"
#include "mount-tools/ctl/list/mount_facts.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {
namespace {

class ListCommand : public Command {
 public:
  absl::string_view name() const override { return "list"; }
  absl::string_view help() const override {
    return "list the mounts of this machine";
  }

  void Declare(CLI::App& app) override {
    app.add_flag("--json", json_, "print a JSON object a line");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts, ReadMountInfo());
    std::vector<MountFacts> facts;
    for (const MountEntry& mount : ShufflefsMounts(mounts)) {
      facts.push_back(AskFacts(mount, /*view=*/""));
      FindDaemon(facts.back());
    }
    if (facts.empty()) {
      *context.err << "shufflectl: nothing is mounted by shufflefs; mount "
                      "with: shufflefs DATA MOUNTPOINT\n";
    }
    *context.out << (json_ ? ListJson(facts) : ListText(facts));
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() {
  return std::make_unique<ListCommand>();
}

}  // namespace shufflefs
