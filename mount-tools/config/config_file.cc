// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/config_file.h"

#include <toml++/toml.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/option_table.h"
#include "mount-tools/config/paths.h"

namespace shufflefs {
namespace {

// A configuration is about a page. The limit keeps a wrong path from filling
// memory.
constexpr size_t kMaxFileBytes = size_t{1} << 20;

// Each part of a dotted key is a nested table, and recursive functions read and
// destroy tables. No key and no list of patterns has this many dots in a line.
constexpr size_t kMostDots = 1000;

// Between the key and the escaped path in a comment of the control file.
constexpr char kNotUtf8[] = ": a path that is not UTF-8: ";

absl::Status CheckDepth(absl::string_view text) {
  size_t line = 1;
  size_t dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kMostDots) {
      return absl::InvalidArgumentError(absl::StrCat(
          line, ":1: the line has more than ", kMostDots, " dots"));
    }
  }
  return absl::OkStatus();
}

absl::Status ErrorAt(const toml::source_region& where, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(where.begin.line, ":", where.begin.column, ": ", what));
}

// A list of patterns, or of such lists, as one text for the key.
absl::StatusOr<std::string> AlignText(const toml::array& list) {
  const bool is_of_lists = !list.empty() && list[0].is_array();
  std::vector<std::string> words;
  for (const toml::node& node : list) {
    const auto* text = node.as_string();
    if (is_of_lists && node.is_array() &&
        (node.as_array()->empty() || !(*node.as_array())[0].is_array())) {
      ASSIGN_OR_RETURN(std::string rule, AlignText(*node.as_array()));
      words.push_back(std::move(rule));
    } else if (!is_of_lists && text != nullptr &&
               text->get().find_first_of(":;") == std::string::npos) {
      words.push_back(text->get());
    } else {
      return ErrorAt(node.source(),
                     "record.align: must be a list of names without : and ;, "
                     "or a list of such lists");
    }
  }
  return absl::StrJoin(words, is_of_lists ? ";" : ":");
}

// A list of whole numbers, as one text for the key. Numbers that TOML's
// integers cannot hold are written as text.
absl::StatusOr<std::string> NumbersText(const toml::array& list,
                                        absl::string_view key) {
  std::vector<std::string> words;
  for (const toml::node& node : list) {
    const auto* text = node.as_string();
    const auto* number = node.as_integer();
    if (number != nullptr) {
      words.push_back(absl::StrCat(number->get()));
    } else if (text != nullptr && ParseNumber(text->get())) {
      words.push_back(text->get());
    } else {
      return ErrorAt(node.source(),
                     absl::StrCat(key, ": must be a list of whole numbers"));
    }
  }
  return absl::StrJoin(words, ";");
}

// The fewest digits that give the same number back.
std::string ShortestText(double number) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), number);
  return std::string(text, end.ptr);
}

absl::StatusOr<std::string> ValueText(const toml::node& node,
                                      absl::string_view key) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) {
    return absl::StrCat(number->get());
  }
  if (const auto* number = node.as_floating_point()) {
    return ShortestText(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return std::string(flag->get() ? "true" : "false");
  }
  if (const auto* list = node.as_array(); list && key == "record.align") {
    return AlignText(*list);
  } else if (list) {
    const Option* const option = FindOption(key);
    if (option != nullptr && option->is_numbers()) {
      return NumbersText(*list, key);
    }
  }
  return ErrorAt(node.source(),
                 absl::StrCat(key, ": the value must be text or a number"));
}

// Appends the settings below `table`, in the order of their keys.
absl::Status Flatten(const toml::table& table, absl::string_view prefix,
                     std::vector<TomlSetting>& settings) {
  for (const auto& [name, node] : table) {
    const std::string_view part = name.str();
    const std::string key =
        absl::StrCat(prefix, absl::string_view(part.data(), part.size()));
    if (const toml::table* inner = node.as_table()) {
      RETURN_IF_ERROR(Flatten(*inner, absl::StrCat(key, "."), settings));
      continue;
    }
    ASSIGN_OR_RETURN(std::string value, ValueText(node, key));
    settings.push_back({key, std::move(value), node.is_string(),
                        node.source().begin.line, node.source().begin.column});
  }
  return absl::OkStatus();
}

absl::StatusOr<TomlDocument> ToDocument(toml::table root) {
  TomlDocument document;
  if (const toml::node* node = root.get("view")) {
    const toml::array* views = node->as_array();
    if (views == nullptr || views->empty() ||
        !views->is_homogeneous(toml::node_type::table)) {
      return ErrorAt(node->source(), "view: must be written as [[view]]");
    }
    for (const toml::node& view : *views) {
      document.views.emplace_back();
      RETURN_IF_ERROR(Flatten(*view.as_table(), "", document.views.back()));
    }
    root.erase("view");
  }
  RETURN_IF_ERROR(Flatten(root, "", document.settings));
  return document;
}

struct FileContext {
  absl::string_view name;
  absl::string_view base;
};

absl::Status Apply(const TomlSetting& setting, const FileContext& file,
                   MountConfig& mount, ViewConfig& view) {
  return Annotate(
      SetOptionBelow(file.base, setting.key, setting.value, mount, view),
      absl::StrCat(file.name, ":", setting.line, ":", setting.column));
}

absl::Status ApplyView(const std::vector<TomlSetting>& settings,
                       const FileContext& file, MountConfig& mount) {
  ViewConfig view = mount.views.front();  // the defaults
  for (const TomlSetting& setting : settings) {
    const Option* option = FindOption(setting.key);
    if (option != nullptr && option->scope == OptionScope::kMount) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.name, ":", setting.line, ":", setting.column, ": ", setting.key,
          ": is of the whole mount; write it above the first [[view]]"));
    }
    RETURN_IF_ERROR(Apply(setting, file, mount, view));
  }
  mount.views.push_back(std::move(view));
  return absl::OkStatus();
}

// Rejects the bytes that UTF-8 forbids: overlong forms, surrogates, stray
// bytes.
bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xc2 ? 0
                          : lead < 0xe0 ? 2
                          : lead < 0xf0 ? 3
                          : lead < 0xf5 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      if (k == 1 &&
          ((lead == 0xe0 && byte < 0xa0) || (lead == 0xed && byte > 0x9f) ||
           (lead == 0xf0 && byte < 0x90) || (lead == 0xf4 && byte > 0x8f))) {
        return false;
      }
    }
    i += length;
  }
  return true;
}

// A bare number if TOML's 64-bit integers can hold it, else text.
std::string TomlValue(const Option& option, const std::string& value) {
  const absl::optional<uint64_t> number = ParseNumber(value);
  const bool bare = option.kind == ValueKind::kNumber && number &&
                    *number <= uint64_t{std::numeric_limits<int64_t>::max()};
  return bare ? value : TomlString(value);
}

// `peers` is a key and begins other keys, which TOML forbids without quotes.
std::string TomlKey(absl::string_view key) {
  const size_t dot = key.find('.');
  const bool needs_quotes = dot != absl::string_view::npos &&
                            FindOption(key.substr(0, dot)) != nullptr;
  return needs_quotes ? TomlString(key) : std::string(key);
}

}  // namespace

absl::StatusOr<TomlDocument> ParseToml(absl::string_view text) {
  RETURN_IF_ERROR(CheckDepth(text));
  try {
    return ToDocument(toml::parse(std::string_view(text.data(), text.size())));
  } catch (const toml::parse_error& error) {
    const std::string_view what = error.description();
    return ErrorAt(error.source(), absl::string_view(what.data(), what.size()));
  }
}

namespace {

absl::StatusOr<TomlDocument> ParseNamed(absl::string_view text,
                                        absl::string_view name) {
  absl::StatusOr<TomlDocument> document = ParseToml(text);
  if (document.ok()) return document;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ":", document.status().message()));
}

// ParseConfig without ValidateMount.
absl::StatusOr<MountConfig> ReadSettings(
    const absl::StatusOr<TomlDocument>& document, absl::string_view name,
    absl::string_view base) {
  RETURN_IF_ERROR(document.status());
  const FileContext file{name, base};
  MountConfig mount;
  mount.views.emplace_back();
  for (const TomlSetting& setting : document->settings) {
    if (setting.key == "path" && !document->views.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ":", setting.line, ":", setting.column,
                       ": path: belongs into [[view]]"));
    }
    RETURN_IF_ERROR(Apply(setting, file, mount, mount.views.front()));
  }
  for (const std::vector<TomlSetting>& view : document->views) {
    RETURN_IF_ERROR(ApplyView(view, file, mount));
  }
  if (!document->views.empty()) mount.views.erase(mount.views.begin());
  return mount;
}

// Paths that TOML cannot hold, by the line.
using OtherPaths = absl::flat_hash_map<uint32_t, std::string>;

// `control` with an empty path in place of each comment of such a path.
std::string WithoutOtherPaths(absl::string_view control, OtherPaths& paths) {
  std::string text;
  uint32_t number = 0;
  for (absl::string_view line : absl::StrSplit(control, '\n')) {
    ++number;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(kNotUtf8, 1));
    absl::string_view key = parts.first;
    std::string path;
    if (absl::ConsumePrefix(&key, "# ") && FindOption(key) != nullptr &&
        absl::CUnescape(parts.second, &path)) {
      paths[number] = std::move(path);
      absl::StrAppend(&text, TomlKey(key), " = \"\"\n");
    } else {
      absl::StrAppend(&text, line, "\n");
    }
  }
  return text;
}

void PutBack(const OtherPaths& paths, std::vector<TomlSetting>& settings) {
  for (TomlSetting& setting : settings) {
    const auto path = paths.find(setting.line);
    if (path != paths.end()) setting.value = path->second;
  }
}

}  // namespace

absl::StatusOr<MountConfig> ParseConfig(absl::string_view text,
                                        absl::string_view name,
                                        absl::string_view base) {
  ASSIGN_OR_RETURN(MountConfig mount,
                   ReadSettings(ParseNamed(text, name), name, base));
  RETURN_IF_ERROR(Annotate(ValidateMount(mount), name));
  return mount;
}

absl::StatusOr<MountConfig> ParseEffective(absl::string_view control,
                                           absl::string_view name) {
  OtherPaths paths;
  ASSIGN_OR_RETURN(TomlDocument document,
                   ParseNamed(WithoutOtherPaths(control, paths), name));
  PutBack(paths, document.settings);
  for (std::vector<TomlSetting>& view : document.views) PutBack(paths, view);
  ASSIGN_OR_RETURN(MountConfig mount, ReadSettings(document, name, "/"));
  RETURN_IF_ERROR(Annotate(ValidateMount(mount), name));
  return mount;
}

absl::StatusOr<MountConfig> LoadConfigFile(const std::string& path,
                                           absl::string_view cwd) {
  RETURN_IF_ERROR(Annotate(RefuseHome(path), "config"));
  const std::string absolute = AbsolutePath(path, cwd);
  errno = 0;
  std::ifstream file(absolute, std::ios::binary);
  if (!file) return ErrnoStatus(errno != 0 ? errno : EIO, path);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return ErrnoStatus(errno != 0 ? errno : EIO, path);
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is no configuration: larger than 1 MiB; name a TOML file"));
  }
  return ReadSettings(ParseNamed(text, path), path, DirName(absolute));
}

namespace {

// The keys of one scope, or of both.
std::string TomlOfScope(const MountConfig& mount, const ViewConfig& view,
                        absl::optional<OptionScope> scope) {
  std::string text;
  for (const Option& option : Options()) {
    if (scope && option.scope != *scope) continue;
    const std::string value = option.Get(mount, view);
    if (value.empty()) continue;
    if (!IsUtf8(value)) {
      absl::StrAppend(&text, "# ", option.key, kNotUtf8,
                      absl::CHexEscape(value), "\n");
      continue;
    }
    absl::StrAppend(&text, TomlLine(option, value));
  }
  return text;
}

}  // namespace

std::string EffectiveToml(const MountConfig& mount, const ViewConfig& view) {
  return TomlOfScope(mount, view, absl::nullopt);
}

std::string TomlOfViews(const MountConfig& mount,
                        const std::vector<ViewConfig>& views) {
  if (views.size() == 1) return EffectiveToml(mount, views.front());
  std::string text = TomlOfScope(mount, ViewConfig(), OptionScope::kMount);
  for (const ViewConfig& view : views) {
    absl::StrAppend(&text, "[[view]]\n",
                    TomlOfScope(mount, view, OptionScope::kView));
  }
  return text;
}

std::string StateIn(absl::string_view control) {
  std::string state;
  for (absl::string_view line : absl::StrSplit(control, '\n')) {
    if (absl::StartsWith(line, "state = ")) {
      const absl::StatusOr<MountConfig> config = ParseConfig(line, "", "/");
      return config.ok() ? config->state : "";
    }
    if (absl::ConsumePrefix(&line, absl::StrCat("# state", kNotUtf8))) {
      return absl::CUnescape(line, &state) ? state : "";
    }
  }
  return state;
}

std::string TomlLine(const Option& option, const std::string& value) {
  return absl::StrCat(TomlKey(option.key), " = ", TomlValue(option, value),
                      "\n");
}

std::string TomlString(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&quoted, "\\u%04X", static_cast<unsigned char>(c));
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

}  // namespace shufflefs
