// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/control_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/status_text.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

// A mount point among the words replaces -m.
absl::Status TakeMountpoint(const ControlWords& words, MountChoice& choice) {
  if (words.mountpoint.empty()) return absl::OkStatus();
  if (!choice.path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        words.mountpoint, ": the mount is given twice, also with -m"));
  }
  choice.path = words.mountpoint;
  return absl::OkStatus();
}

bool IsMountpoint(const std::string& path) {
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return false;
  const std::vector<MountEntry> ours = ShufflefsMounts(*mounts);
  return std::any_of(ours.begin(), ours.end(), [&](const MountEntry& mount) {
    return mount.mountpoint == path;
  });
}

absl::Status RefuseSettings(const ControlWords& words) {
  if (words.settings.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(words.settings.front(), ": is a key; use shufflectl policy ",
                   words.settings.front()));
}

// Writes what its words request, if anything, and prints the resulting state of
// the view.
class ControlCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    const WordsHelp help = words_help();
    app.add_option("words", words_, help.what)->type_name(help.type);
    DeclareMountChoice(app, /*positional=*/false, choice_);
    app.add_flag("--json", json_, "print JSON");
  }

  absl::Status Run(const CommandContext& context) override {
    const auto is_mount = [&](const std::string& word) {
      return !IsValue(word) && IsMountpoint(AbsolutePath(word, context.cwd));
    };
    const absl::StatusOr<ControlWords> split =
        SplitControlWords(words_, is_mount);
    if (!split.ok()) {
      return WithNext(split.status(),
                      absl::StrCat("see shufflectl ", name(), " --help"));
    }
    const ControlWords& words = *split;
    RETURN_IF_ERROR(TakeMountpoint(words, choice_));
    ASSIGN_OR_RETURN(const std::string control, ControlText(words));
    RETURN_IF_ERROR(WriteAndShow(control, context));
    if (control.empty() && !json_) *context.out << Choices();
    return absl::OkStatus();
  }

 protected:
  struct WordsHelp {
    const char* what;
    const char* type;
  };

 private:
  virtual WordsHelp words_help() const = 0;
  // Whether a word can only be a value, whatever is mounted.
  virtual bool IsValue(const std::string& word) const = 0;
  // "" if nothing is to be written. Errors: InvalidArgument.
  virtual absl::StatusOr<std::string> ControlText(
      const ControlWords& words) const = 0;
  // The possible values, for a user who gave none.
  virtual std::string Choices() const { return ""; }

  absl::Status WriteAndShow(const std::string& control,
                            const CommandContext& context) const {
    ASSIGN_OR_RETURN(const MountClient mount,
                     MountClient::Find(choice_, context.cwd));
    // The status names all views, whichever directory it is read from.
    absl::StatusOr<std::string> before;
    if (!control.empty()) {
      before = mount.Read("status");
      RETURN_IF_ERROR(mount.WriteControl(control));
    }
    ASSIGN_OR_RETURN(const std::string status, mount.Read("status"));
    ASSIGN_OR_RETURN(const std::string text,
                     json_ ? EpochJson(status, choice_.view)
                     : before.ok()
                         ? AfterWriteText(*before, status, choice_.view)
                         : EpochText(status, choice_.view));
    *context.out << text;
    return absl::OkStatus();
  }

  MountChoice choice_;
  std::vector<std::string> words_;
  bool json_ = false;
};

class EpochCommand : public ControlCommand {
 public:
  absl::string_view name() const override { return "epoch"; }
  absl::string_view help() const override {
    return "show the epoch, or move it";
  }

 private:
  WordsHelp words_help() const override {
    return {"the mount, and `next` or the number of an epoch",
            "[MOUNTPOINT] [next|N]"};
  }
  bool IsValue(const std::string& word) const override {
    return EpochControlText(word).ok();
  }
  absl::StatusOr<std::string> ControlText(
      const ControlWords& words) const override {
    RETURN_IF_ERROR(RefuseSettings(words));
    if (words.value.empty()) return std::string();
    return EpochControlText(words.value);
  }
};

class PolicyCommand : public ControlCommand {
 public:
  absl::string_view name() const override { return "policy"; }
  absl::string_view help() const override {
    return "show the policy, or switch it at the next epoch";
  }

 private:
  WordsHelp words_help() const override {
    return {"the mount, the policy, and keys to set with it",
            "[MOUNTPOINT] [POLICY] [key=value...]"};
  }
  bool IsValue(const std::string& word) const override {
    const std::vector<absl::string_view> names = PolicyNames();
    return word == "auto" ||
           std::find(names.begin(), names.end(), word) != names.end();
  }
  absl::StatusOr<std::string> ControlText(
      const ControlWords& words) const override {
    if (words.value.empty() && words.settings.empty()) return std::string();
    return PolicyControlText(words.value, words.settings);
  }
  std::string Choices() const override {
    std::string choices;
    const auto add = [&](absl::string_view policy, absl::string_view help) {
      absl::StrAppendFormat(&choices, "  %-11s  %s\n", policy, help);
    };
    add("auto", "chooses by what it finds");
    for (absl::string_view policy : PolicyNames()) {
      add(policy, PolicyHelp(policy));
    }
    return choices;
  }
};

class FeedbackCommand : public ControlCommand {
 public:
  absl::string_view name() const override { return "feedback"; }
  absl::string_view help() const override { return help_; }

 private:
  WordsHelp words_help() const override {
    return {"the mount, and the loss: less is better", "[MOUNTPOINT] LOSS"};
  }
  bool IsValue(const std::string& word) const override {
    return FeedbackControlText(word).ok();
  }
  absl::StatusOr<std::string> ControlText(
      const ControlWords& words) const override {
    RETURN_IF_ERROR(RefuseSettings(words));
    return FeedbackControlText(words.value);
  }

  const std::string help_ = absl::StrCat("report the job's loss, so that ",
                                         FeedbackPolicies(), " can adapt");
};

}  // namespace

std::unique_ptr<Command> MakeEpochCommand() {
  return std::make_unique<EpochCommand>();
}

std::unique_ptr<Command> MakePolicyCommand() {
  return std::make_unique<PolicyCommand>();
}

std::unique_ptr<Command> MakeFeedbackCommand() {
  return std::make_unique<FeedbackCommand>();
}

absl::StatusOr<ControlWords> SplitControlWords(
    const std::vector<std::string>& words,
    const std::function<bool(const std::string&)>& is_mount) {
  ControlWords split;
  std::vector<std::string> plain;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos && word.find('/') > equals) {
      split.settings.push_back(word);
    } else {
      plain.push_back(word);
    }
  }
  if (plain.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(plain[2], ": was not expected"));
  }
  const bool path_first =
      plain.size() == 2 ||
      (plain.size() == 1 &&
       (absl::StrContains(plain[0], '/') || is_mount(plain[0])));
  if (path_first) split.mountpoint = plain[0];
  if (!plain.empty() && plain.size() > (path_first ? 1u : 0u)) {
    split.value = plain.back();
  }
  return split;
}

absl::StatusOr<std::string> EpochControlText(const std::string& what) {
  if (what == "next") return std::string("epoch = \"next\"\n");
  if (ParseNumber(what)) return absl::StrCat("epoch = ", what, "\n");
  return absl::InvalidArgumentError(
      absl::StrCat("epoch ", what, ": must be next or the number of an epoch"));
}

absl::StatusOr<std::string> FeedbackControlText(const std::string& loss) {
  double number = 0;
  if (!absl::SimpleAtod(loss, &number) || !std::isfinite(number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("feedback ", loss, loss.empty() ? "LOSS" : "",
                     ": the loss must be a finite number, such as 0.531"));
  }
  // In TOML's form, which users need not know: .5 is no number there.
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), number);
  return absl::StrCat("feedback = ", std::string(text, end.ptr), "\n");
}

absl::StatusOr<std::string> PolicyControlText(
    const std::string& name, const std::vector<std::string>& settings) {
  std::string text;
  if (!name.empty()) text = absl::StrCat("policy = ", TomlString(name), "\n");
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(setting, ": must be key=value"));
    }
    const std::string key = setting.substr(0, equals);
    const std::string value = setting.substr(equals + 1);
    if (key == "feedback") {
      ASSIGN_OR_RETURN(const std::string loss, FeedbackControlText(value));
      text += loss;
      continue;
    }
    if (key == "epoch") {
      ASSIGN_OR_RETURN(const std::string epoch, EpochControlText(value));
      text += epoch;
      continue;
    }
    if (FindOption(key) == nullptr) return NoSuchKey(key);
    absl::StrAppend(&text, key, " = ", TomlString(value), "\n");
  }
  return text;
}

}  // namespace shufflefs
