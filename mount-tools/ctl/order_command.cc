// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/order_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/check/order_line.h"
#include "mount-tools/ctl/mount_client.h"

namespace shufflefs {
namespace {

class OrderCommand : public Command {
 public:
  absl::string_view name() const override { return "order"; }
  absl::string_view help() const override {
    return "print the epoch's order: rank, name, sample";
  }

  void Declare(CLI::App& app) override {
    DeclareMountChoice(app, /*positional=*/true, choice_);
    app.add_flag("--json", json_, "print a JSON object a line");
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    // Programs need the bytes of names; a terminal must not.
    if (!json_ && !context.out_terminal) {
      return mount.Copy("order", *context.out);
    }
    ASSIGN_OR_RETURN(const std::string order, mount.Read("order"));
    if (json_) return PrintOrderJson(order, *context.out);
    *context.out << ShownLines(order);
    return absl::OkStatus();
  }

 private:
  MountChoice choice_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOrderCommand() {
  return std::make_unique<OrderCommand>();
}

absl::Status PrintOrderJson(absl::string_view order, std::ostream& out) {
  return ForEachOrderLine(order, [&](const OrderLine& line) {
    const nlohmann::ordered_json json = {
        {"rank", line.rank}, {"name", line.name}, {"sample", line.sample}};
    out << json.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace)
        << "\n";
    return absl::OkStatus();
  });
}

}  // namespace shufflefs
