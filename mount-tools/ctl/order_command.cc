// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/order_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/status.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/value_text.h"

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
    if (!json_) return mount.Copy("order", *context.out);
    ASSIGN_OR_RETURN(const std::string order, mount.Read("order"));
    return PrintOrderJson(order, *context.out);
  }

 private:
  MountChoice choice_;
  bool json_ = false;
};

// \t, \n and \\ as the bytes that they stand for.
std::string Unescape(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\' || (next != 't' && next != 'n' && next != '\\')) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(next == 't' ? '\t' : next == 'n' ? '\n' : '\\');
    ++i;
  }
  return plain;
}

}  // namespace

std::unique_ptr<Command> MakeOrderCommand() {
  return std::make_unique<OrderCommand>();
}

absl::Status PrintOrderJson(absl::string_view order, std::ostream& out) {
  absl::ConsumeSuffix(&order, "\n");
  if (order.empty()) return absl::OkStatus();
  uint64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(order, '\n')) {
    ++line_number;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    const absl::optional<uint64_t> rank = ParseNumber(fields[0]);
    if (fields.size() != 3 || !rank) {
      return absl::DataLossError(absl::StrCat(
          "order, line ", line_number, ": is not rank TAB name TAB sample"));
    }
    const nlohmann::ordered_json json = {{"rank", *rank},
                                         {"name", Unescape(fields[1])},
                                         {"sample", Unescape(fields[2])}};
    out << json.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace)
        << "\n";
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
