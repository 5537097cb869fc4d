// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/token_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "core/view/epoch_token.h"
#include "fs/control/token_parts.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/status_text.h"
#include "mount-tools/ctl/whole_token.h"

namespace shufflefs {
namespace {

std::string FileIn(const std::string& dir) { return dir + "/token"; }

class TokenCommand : public Command {
 public:
  absl::string_view name() const override { return "token"; }
  absl::string_view help() const override {
    return "save the epoch with a checkpoint, or resume a saved one";
  }

  void Declare(CLI::App& app) override {
    DeclareMountChoice(app, /*positional=*/true, choice_);
    CLI::Option* save =
        app.add_option("--save", save_,
                       "write the epoch, and what was read of it, to DIR/token")
            ->type_name("DIR");
    app.add_option("--restore", restore_,
                   "go on with the epoch that was saved in DIR")
        ->type_name("DIR")
        ->excludes(save);
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    if (!restore_.empty()) {
      RETURN_IF_ERROR(Restore(mount, AbsolutePath(restore_, context.cwd)));
      ASSIGN_OR_RETURN(const std::string status, mount.Read("status"));
      ASSIGN_OR_RETURN(const std::string text, EpochText(status, choice_.view));
      *context.out << text;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string token, ReadWholeToken(mount));
    if (save_.empty()) {
      *context.out << token;
      return absl::OkStatus();
    }
    return Save(token, AbsolutePath(save_, context.cwd));
  }

 private:
  static absl::Status Save(const std::string& token, const std::string& dir) {
    std::error_code error;
    std::filesystem::create_directories(dir, error);
    if (error) return ErrnoStatus(error.value(), dir);
    return ReplaceFile(FileIn(dir), {token});
  }

  static absl::Status Restore(const MountClient& mount,
                              const std::string& dir) {
    ASSIGN_OR_RETURN(const std::string token,
                     ReadWholeFile(FileIn(dir), TokenParts::kMostBytes));
    RETURN_IF_ERROR(ParseToken(token).status());
    const uint64_t count = TokenParts::Count(token);
    if (count == 1) return mount.WriteToken(token);
    for (uint64_t number = 1; number <= count; ++number) {
      RETURN_IF_ERROR(mount.WriteToken(TokenParts::Part(token, number)));
    }
    return absl::OkStatus();
  }

  MountChoice choice_;
  std::string save_;
  std::string restore_;
};

}  // namespace

std::unique_ptr<Command> MakeTokenCommand() {
  return std::make_unique<TokenCommand>();
}

}  // namespace shufflefs
