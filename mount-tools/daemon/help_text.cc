// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/help_text.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "mount-tools/config/nearest_word.h"
#include "mount-tools/config/option_table.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 21;  // of what is said about a key

constexpr absl::string_view kUsage =
    "usage: shufflefs [options] SOURCE MOUNTPOINT\n"
    "\n"
    "Shows SOURCE, a training dataset, at MOUNTPOINT and reshuffles it every\n"
    "epoch. SOURCE is never written.\n"
    "\n"
    "options:\n"
    "  -o KEY=VALUE,...   set keys; may be repeated\n"
    "  -o config=FILE     read keys from a TOML file; other -o win over it\n"
    "  -o ro, -o rw       without or with a writable control file\n"
    "  -o allow_other     let other users see the mount\n"
    "  --config FILE      as -o config=FILE\n"
    "  -f, --foreground   stay in the foreground and log to stderr\n"
    "  -d, --debug        as -f, and log every request\n"
    "  -h, --help         print this\n"
    "  --help=POLICY      print the keys of a policy, for example --help=met\n"
    "  --help=all         print every key\n"
    "  -V, --version      print the version\n";
constexpr absl::string_view kSeeAlso =
    "\n"
    "See shufflefs(1) and shufflefs.toml(5). shufflectl check SOURCE says what "
    "to\n"
    "expect of a dataset before you mount it.\n";

// The keys that most mounts need.
constexpr absl::string_view kCommonKeys[] = {
    "policy",     "seed",         "memory",        "state",
    "substitute", "layout",       "epoch.advance", "epoch.length",
    "record.as",  "record.bytes", "tier.path",     "control.gid"};

bool IsCommon(const Option& option) {
  if (option.of_policy != nullptr) return option.of_policy->common;
  return std::find(std::begin(kCommonKeys), std::end(kCommonKeys),
                   option.key) != std::end(kCommonKeys);
}

// Appends words to `text`, whose last line has `column` columns.
void AppendWrapped(absl::string_view words, size_t column, std::string& text) {
  const std::string margin(kIndent, ' ');
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    if (column + 1 + word.size() > kColumns) {
      absl::StrAppend(&text, "\n", margin, word);
      column = kIndent + word.size();
    } else {
      const absl::string_view space = column == kIndent ? "" : " ";
      absl::StrAppend(&text, space, word);
      column += space.size() + word.size();
    }
  }
  text += "\n";
}

// `name` and what is said about it, which may follow on more lines.
std::string Item(absl::string_view name, absl::string_view words) {
  std::string text = absl::StrFormat("  %-19s", name);
  AppendWrapped(words, kIndent, text);
  return text;
}

// Help and default on one line, if they fit.
std::string KeyItem(const Option& option) {
  const std::string by_default =
      absl::StrCat("(default: ", option.default_text, ")");
  const size_t length = kIndent + option.help.size() + 1 + by_default.size();
  std::string text = Item(option.key, option.help);
  if (length <= kColumns) {
    text.pop_back();
    absl::StrAppend(&text, " ", by_default, "\n");
  } else {
    text.append(kIndent, ' ');
    AppendWrapped(by_default, kIndent, text);
  }
  return text;
}

std::string KeyItemWithValues(const Option& option) {
  std::string text = KeyItem(option);
  text.append(kIndent, ' ');
  AppendWrapped(absl::StrCat("must be ", option.values), kIndent, text);
  return text;
}

std::string PoliciesHelp() {
  std::string text = "\npolicies:\n";
  text += Item("auto", "one of the others, by what shufflefs measures");
  for (const absl::string_view name : PolicyNames()) {
    text += Item(name, PolicyHelp(name));
  }
  return text;
}

std::string ShortHelp() {
  std::string text(kUsage);
  text += "\nkeys that most mounts need:\n";
  for (const Option& option : Options()) {
    if (IsCommon(option)) text += KeyItem(option);
  }
  return absl::StrCat(text, PoliciesHelp(), kSeeAlso);
}

std::string LongHelp() {
  std::string text(kUsage);
  text +=
      "\nkeys (the same in -o, in the TOML file and in the control file):\n";
  for (const Option& option : Options()) text += KeyItem(option);
  return absl::StrCat(text, kSeeAlso);
}

// Whether --help=`topic` shows the key.
bool IsAbout(absl::string_view key, absl::string_view topic) {
  return key == topic || absl::StartsWith(key, absl::StrCat(topic, "."));
}

absl::Status NoSuchTopic(absl::string_view topic) {
  std::vector<absl::string_view> topics = PolicyNames();
  topics.push_back("all");
  for (const Option& option : Options()) {
    topics.push_back(option.key.substr(0, option.key.find('.')));
    topics.push_back(option.key);
  }
  const absl::string_view nearest = NearestWord(topic, topics);
  return absl::InvalidArgumentError(absl::StrCat(
      "no help about ", topic, "; ",
      nearest.empty() ? "see shufflefs --help=all"
                      : absl::StrCat("did you mean --help=", nearest, "?")));
}

}  // namespace

absl::StatusOr<std::string> HelpText(absl::string_view topic) {
  if (topic.empty()) return ShortHelp();
  if (topic == "all") return LongHelp();
  std::string keys;
  for (const Option& option : Options()) {
    if (IsAbout(option.key, topic)) keys += KeyItemWithValues(option);
  }
  const std::string policy(PolicyHelp(topic));
  if (keys.empty() && policy.empty()) return NoSuchTopic(topic);
  std::string text;
  if (!policy.empty()) {
    absl::StrAppend(&text, "policy ", topic, ": ", policy, "\n\n",
                    keys.empty() ? "It has no keys of its own.\n" : "keys:\n");
  }
  return absl::StrCat(text, keys, "\nSee shufflefs.toml(5).\n");
}

}  // namespace shufflefs
