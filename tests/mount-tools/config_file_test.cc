// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/random/random.h"
#include "mount-tools/config/option_table.h"
#include "policies/lirs.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

MountConfig ParsedConfig(absl::string_view text) {
  absl::StatusOr<MountConfig> config = ParseConfig(text, "x.toml", "/etc/s");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : MountConfig();
}

std::string ConfigError(absl::string_view text) {
  absl::StatusOr<MountConfig> config = ParseConfig(text, "x.toml", "/etc/s");
  if (config.ok()) return "no error";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

// All keys of two configurations, as text.
std::string AllKeys(const MountConfig& mount, const ViewConfig& view) {
  std::string text;
  for (const Option& option : Options()) {
    absl::StrAppend(&text, option.key, "=", option.Get(mount, view), "\n");
  }
  return text;
}

TEST(ConfigFile, AnEmptyFileIsTheDefaults) {
  const MountConfig config = ParsedConfig("");
  ASSERT_EQ(config.views.size(), 1u);
  EXPECT_EQ(AllKeys(config, config.views[0]),
            AllKeys(MountConfig(), ViewConfig()));
}

TEST(ConfigFile, AlignedFilesAreAListOrListsOrText) {
  const auto align = [](absl::string_view value) {
    return ParsedConfig(absl::StrCat("record.align = ", value))
        .views[0]
        .record.align;
  };
  EXPECT_EQ(align("['X.npy', 'y.npy']"), "X.npy:y.npy");
  EXPECT_EQ(align("[['X', 'y'], ['*.a', '*.b', '*.c']]"), "X:y;*.a:*.b:*.c");
  EXPECT_EQ(align("'X:y;a:b'"), "X:y;a:b");
  for (const char* wrong : {"[['X', 'y'], 'z']", "['X', ['y']]", "['X:y', 'z']",
                            "[[['X', 'y']]]", "[1, 2]"}) {
    EXPECT_THAT(ConfigError(absl::StrCat("record.align = ", wrong)),
                ::testing::HasSubstr("must be a list of names"))
        << wrong;
  }
  EXPECT_THAT(ConfigError("record.align = ['X']"),
              ::testing::HasSubstr("must be rules of patterns"));
  EXPECT_THAT(ConfigError("record.as = ['X']"),
              ::testing::HasSubstr("must be text or a number"));
}

TEST(ConfigFile, SeedsAreAListOrTextOrOneNumber) {
  const auto seeds = [](absl::string_view value) {
    const MountConfig config =
        ParsedConfig(absl::StrCat("clairvoyant.seeds = ", value));
    return (*MakePolicy("clairvoyant", config.views[0].policy_options))
        ->prefetch()
        ->seeds;
  };
  EXPECT_THAT(seeds("[7, 99]"), ::testing::ElementsAre(7, 99));
  EXPECT_THAT(seeds("[7, '18446744073709551615']"),
              ::testing::ElementsAre(7, UINT64_MAX));
  EXPECT_THAT(seeds("'7;99'"), ::testing::ElementsAre(7, 99));
  EXPECT_THAT(seeds("7"), ::testing::ElementsAre(7));
  EXPECT_THAT(seeds("[]"), ::testing::IsEmpty());
  for (const char* wrong : {"[7.5]", "['a']", "['7;8']", "[[7]]", "[true]"}) {
    EXPECT_THAT(ConfigError(absl::StrCat("clairvoyant.seeds = ", wrong)),
                ::testing::HasSubstr("must be a list of whole numbers"))
        << wrong;
  }
  EXPECT_THAT(ConfigError("clairvoyant.seeds = [-1]"),
              ::testing::HasSubstr("must be at most 64 whole numbers"));
}

TEST(ConfigFile, DottedKeysAndTablesAreTheSame) {
  const MountConfig dotted =
      ParsedConfig("lirs.unit = \"page\"\nlirs.page = 8192\n");
  const MountConfig table =
      ParsedConfig("[lirs]\nunit = \"page\"\npage = \"8KiB\"\n");
  EXPECT_EQ(LirsOptions::Of(dotted.views[0].policy_options).unit,
            LirsOptions::Unit::kPage);
  EXPECT_EQ(LirsOptions::Of(dotted.views[0].policy_options).page, 8192u);
  EXPECT_EQ(AllKeys(dotted, dotted.views[0]), AllKeys(table, table.views[0]));
}

TEST(ConfigFile, ViewsInheritAndOverride) {
  const MountConfig config = ParsedConfig(R"(
seed = 3
wait = "1s"
policy = "lirs"
[[view]]
path = "train"
[[view]]
path = "extra/more"
seed = 4
lirs.unit = "page"
)");
  ASSERT_EQ(config.views.size(), 2u);
  EXPECT_EQ(config.wait, std::chrono::seconds(1));
  EXPECT_EQ(config.views[0].path, "train");
  EXPECT_EQ(config.views[0].seed, Seed(3));
  EXPECT_EQ(config.views[1].path, "extra/more");
  EXPECT_EQ(config.views[1].seed, Seed(4));
  EXPECT_EQ(config.views[1].policy, "lirs");
  EXPECT_EQ(LirsOptions::Of(config.views[1].policy_options).unit,
            LirsOptions::Unit::kPage);
}

TEST(ConfigFile, PathsAreBelowTheFilesDirectory) {
  const MountConfig config =
      ParsedConfig("groups = \"folds.tsv\"\nstate = \"/var/x/../y\"\n");
  EXPECT_EQ(config.views[0].groups, "/etc/s/folds.tsv");
  EXPECT_EQ(config.state, "/var/y");
  EXPECT_EQ(ConfigError("[tier]\npath = \"~/x\"\n"),
            "x.toml:2:8: tier.path: ~/x: ~ is not replaced here; write the "
            "whole path");
}

TEST(ConfigFile, ErrorsSayWhere) {
  EXPECT_EQ(ConfigError("seed = 1\npolcy = \"lirs\"\n"),
            "x.toml:2:9: no such key: polcy; did you mean policy?");
  EXPECT_EQ(ConfigError("\n\nlirs.page = \"5KiB\"\n"),
            "x.toml:3:13: lirs.page = 5KiB: must be a power of two from 4KiB "
            "to 16MiB");
  EXPECT_EQ(ConfigError("seed = [1, 2]\n"),
            "x.toml:1:8: seed: the value must be text or a number");
  EXPECT_EQ(ConfigError("view = 3\n"),
            "x.toml:1:8: view: must be written as [[view]]");
  EXPECT_EQ(ConfigError("view = [1]\n"),
            "x.toml:1:8: view: must be written as [[view]]");
  EXPECT_EQ(ConfigError("path = \"a\"\n[[view]]\npath = \"b\"\n"),
            "x.toml:1:8: path: belongs into [[view]]");
  EXPECT_EQ(ConfigError("[[view]]\npath = \"b\"\nwait = \"1s\"\n"),
            "x.toml:3:8: wait: is of the whole mount; write it above the "
            "first [[view]]");
  EXPECT_EQ(
      ConfigError("[[view]]\npath = \"b\"\n[[view]]\npath = \"b/\"\n"),
      "x.toml: two views have the path \"b\"; give each a directory of its "
      "own");
  EXPECT_EQ(ConfigError("seed = 1.5\n"),
            "x.toml:1:8: seed = 1.5: must be a whole number from 0 to "
            "18446744073709551615");
}

TEST(ConfigFile, TomlErrorsSayWhere) {
  const std::string error = ConfigError("seed = 1\npolicy = lirs\n");
  EXPECT_THAT(error, ::testing::StartsWith("x.toml:2:"));
  EXPECT_THAT(ConfigError("seed = 1\nseed = 2\n"),
              ::testing::StartsWith("x.toml:2"));
  EXPECT_THAT(ConfigError("a = \"\xff\""), ::testing::StartsWith("x.toml:1:"));
  EXPECT_THAT(ConfigError(std::string(100000, '[')),
              ::testing::StartsWith("x.toml:1:"));
}

TEST(ConfigFile, FilesAreReadAndRefused) {
  const std::filesystem::path dir =
      std::filesystem::path(::testing::TempDir()) /
      absl::StrCat("config_file_test.", getpid());
  std::filesystem::create_directories(dir);
  const std::string path = dir / "a.toml";
  std::ofstream(path) << "seed = 9\ngroups = \"g\"\n";
  const absl::StatusOr<MountConfig> config =
      LoadConfigFile("a.toml", dir.string());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->views[0].seed, Seed(9));
  EXPECT_EQ(config->views[0].groups, (dir / "g").string());

  const absl::Status missing = LoadConfigFile("b.toml", dir.string()).status();
  EXPECT_EQ(ErrnoOf(missing), ENOENT);
  EXPECT_THAT(std::string(missing.message()), ::testing::HasSubstr("b.toml"));
  const absl::Status folder = LoadConfigFile(".", dir.string()).status();
  EXPECT_EQ(ErrnoOf(folder), EISDIR) << folder;
  std::ofstream(path) << std::string((1 << 20) + 1, '#');
  EXPECT_EQ(LoadConfigFile(path, "/").status().message(),
            path +
                ": is no configuration: larger than 1 MiB; name a TOML "
                "file");
  std::filesystem::remove_all(dir);
}

TEST(EffectiveToml, ReadsBackAsTheSameConfiguration) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  Rng random{RandomKey(seed)};
  const auto word = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random.Next() % words.size()]);
  };
  for (int i = 0; i < 300; ++i) {
    MountConfig mount;
    ViewConfig view;
    const std::pair<const char*, std::string> values[] = {
        {"policy", word({"auto", "native", "brand", "window"})},
        {"seed", absl::StrCat(random.Next())},
        {"epoch.start", absl::StrCat(random.Next() >> 1)},
        {"epoch.length", word({"all", "17"})},
        {"substitute", word({"auto", "directory", "tree"})},
        {"lirs.page", word({"4096", "1MiB"})},
        {"epoch.double_open", absl::StrCat(random.Next() % 100000, "ms")},
        {"state", word({"/a \"quoted\\\" \x01\x7f\n\xc3\xa9", "/b"})},
        {"peers", word({"slurm", "a:1;b:2", "etcd:a:1;b:2/job"})},
        {"peers.listen", word({"a:1", "[::1]:7373"})},
        {"peers.insecure", word({"yes", "off"})},
        {"path", word({"", "train", "a b/\xe2\x82\xac"})}};
    for (const auto& [key, value] : values) {
      ASSERT_TRUE(SetOption(key, value, mount, view).ok()) << key << value;
    }
    const std::string text = EffectiveToml(mount, view);
    const MountConfig back = ParsedConfig(text);
    ASSERT_EQ(back.views.size(), 1u);
    EXPECT_EQ(AllKeys(back, back.views[0]), AllKeys(mount, view)) << text;
  }
}

TEST(EffectiveToml, APathThatIsNotUtf8IsAComment) {
  for (const char* bytes : {"/\xff", "/\xc0\x80", "/\xed\xa0\x80", "/\xc3",
                            "/\xf4\x90\x80\x80", "/\xe0\x80\x80", "/\x80"}) {
    MountConfig mount;
    mount.state = bytes;
    const std::string text = EffectiveToml(mount, ViewConfig());
    EXPECT_THAT(
        text, ::testing::HasSubstr("# state: a path that is not UTF-8: /\\x"));
    EXPECT_EQ(ParsedConfig(text).state, "");
    EXPECT_EQ(StateIn(text), bytes);
  }
}

TEST(ParseEffective, KnowsPathsOfAnyBytes) {
  MountConfig mount;
  mount.state = "/\xff \"\n[[view]]\n\\";
  mount.tier_path = "/tier\xc3";
  mount.views.resize(2);
  mount.views[0].path = "a\xff";
  mount.views[0].policy = "lirs";
  mount.views[1].path = "b\xfe\n# path: a path that is not UTF-8: c";
  for (const size_t count : {1, 2}) {
    const std::vector<ViewConfig> views(mount.views.begin(),
                                        mount.views.begin() + count);
    const absl::StatusOr<MountConfig> back =
        ParseEffective(TomlOfViews(mount, views), "control");
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->state, mount.state);
    EXPECT_EQ(back->tier_path, mount.tier_path);
    ASSERT_EQ(back->views.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(back->views[i].path, mount.views[i].path);
      EXPECT_EQ(back->views[i].policy, mount.views[i].policy);
    }
  }
  EXPECT_FALSE(ParseEffective("policy = 3\n", "control").ok());
}

TEST(StateIn, FindsTheStateAmongSeveralViews) {
  MountConfig mount;
  mount.state = "/a \"b\"\n# state: a path that is not UTF-8: /x";
  ViewConfig view;
  view.path = "/\xff\nstate = \"/x\"";
  const std::string text = EffectiveToml(mount, view);
  EXPECT_EQ(StateIn(text + text), mount.state);
  EXPECT_EQ(StateIn("policy = \"lirs\"\n"), "");
  EXPECT_EQ(StateIn("state = \"/a\n"), "");
  EXPECT_EQ(StateIn("# state: a path that is not UTF-8: /\\x\n"), "");
}

}  // namespace
}  // namespace shufflefs
