// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policies/lirs.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Set(absl::string_view key, absl::string_view value,
                MountConfig* mount = nullptr, ViewConfig* view = nullptr) {
  MountConfig any_mount;
  ViewConfig any_view;
  const absl::Status status =
      SetOption(key, value, mount != nullptr ? *mount : any_mount,
                view != nullptr ? *view : any_view);
  if (status.ok()) return "ok";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(OptionTable, KeysAreDeclaredOnce) {
  std::set<std::string> keys;
  for (const Option& option : Options()) {
    EXPECT_TRUE(keys.insert(std::string(option.key)).second) << option.key;
    EXPECT_EQ(FindOption(option.key), &option);
  }
}

TEST(OptionTable, RowsAreComplete) {
  for (const Option& option : Options()) {
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_FALSE(option.values.empty()) << option.key;
    EXPECT_FALSE(option.default_text.empty()) << option.key;
    EXPECT_THAT(std::string(option.help), Not(HasSubstr("\n"))) << option.key;
    EXPECT_LE(option.help.size(), 72u) << option.key;
  }
}

// What the table says of a default is what the structs of core/config/config.h
// hold.
TEST(OptionTable, DefaultTextIsTheDefault) {
  const MountConfig mount;
  const ViewConfig view;
  const std::set<std::string> unset = {"groups",          "state",
                                       "memory",          "brand.packed",
                                       "control.gid",     "path",
                                       "nodes",           "record.as",
                                       "record.align",    "clairvoyant.seeds",
                                       "met.mini_epochs", "met.epochs",
                                       "met.model",       "tier.path",
                                       "tier.capacity",   "tier.bandwidth",
                                       "peers",           "peers.listen",
                                       "peers.tls",       "peers.secret"};
  for (const Option& option : Options()) {
    const std::string value = option.Get(mount, view);
    if (unset.count(std::string(option.key)) != 0) {
      EXPECT_EQ(value, "") << option.key;
    } else {
      EXPECT_EQ(value, std::string(option.default_text)) << option.key;
    }
  }
}

// A value of each key that is not its default.
constexpr std::pair<const char*, const char*> kSamples[] = {
    {"policy", "lirs"},
    {"seed", "18446744073709551615"},
    {"epoch.start", "41"},
    {"epoch.advance", "manual"},
    {"epoch.length", "1281"},
    {"epoch.pad", "0"},
    {"substitute", "tree"},
    {"pair", "off"},
    {"groups", "/etc/folds"},
    {"epoch.double_open", "1500ms"},
    {"layout", "ranked"},
    {"state", "/var/lib/x"},
    {"open", "unseen"},
    {"lirs.unit", "page"},
    {"lirs.page", "16MiB"},
    {"lirs.batch", "12"},
    {"reimu.block", "2MiB"},
    {"reimu.window", "9"},
    {"record.as", "*.svm:lines;a/*.bin:fixed"},
    {"record.bytes", "3073"},
    {"record.header", "2"},
    {"record.csv", "quoted"},
    {"record.scope", "view"},
    {"record.align", "X.npy:y.npy;a/*-images:b/*-labels"},
    {"window.samples", "1"},
    {"log.level", "warning"},
    {"log.format", "json"},
    {"log.target", "syslog"},
    {"wait", "0s"},
    {"control.gid", "100"},
    {"path", "train/a"},
    {"memory", "320MiB"},
    {"nodes", "3/16"},
    {"brand.chunk_files", "7"},
    {"brand.chunk_layout", "physical"},
    {"brand.binding", "location"},
    {"brand.locality", "0.25"},
    {"brand.packed", "/p"},
    {"met.mini_epochs", "16"},
    {"met.repeat", "1024"},
    {"met.epochs", "90"},
    {"met.adapt", "bollinger"},
    {"met.patience", "1"},
    {"met.scores", "20"},
    {"met.model", "a b"},
    {"clairvoyant.seeds", "7;99;18446744073709551615"},
    {"clairvoyant.cores", "0"},
    {"tier.path", "/nvme"},
    {"tier.capacity", "1024TiB"},
    {"tier.bandwidth", "64KiB"},
    {"peers", "dns:job:7373"},
    {"peers.listen", "10.0.0.1:7373"},
    {"peers.tls", "/etc/tls"},
    {"peers.secret", "/etc/secret"},
    {"peers.insecure", "yes"}};

// get prints what set reads, for the default and for another value.
TEST(OptionTable, ValuesRoundTrip) {
  EXPECT_EQ(std::size(kSamples), Options().size()) << "a key without a sample";
  for (const auto& [key, value] : kSamples) {
    MountConfig mount;
    ViewConfig view;
    const Option* option = FindOption(key);
    ASSERT_NE(option, nullptr) << key;
    EXPECT_NE(option->Get(mount, view), value) << key;
    ASSERT_EQ(Set(key, value, &mount, &view), "ok") << key;
    EXPECT_EQ(option->Get(mount, view), value) << key;
  }
}

TEST(OptionTable, PoliciesAreThoseOfTheRegistry) {
  std::vector<std::string> names = {"auto"};
  for (absl::string_view name : PolicyNames()) names.emplace_back(name);
  std::string values;
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(Set("policy", names[i]), "ok");
    absl::StrAppend(&values,
                    i == 0                  ? ""
                    : i + 1 == names.size() ? " or "
                                            : ", ",
                    names[i]);
  }
  EXPECT_EQ(std::string(FindOption("policy")->values), values);
}

// Every value that a key takes is one that the policies take, and (up to the
// most samples there can be) the other way round.
TEST(OptionTable, RangesAreThoseOfThePolicies) {
  const auto policies_take = [](absl::string_view key, uint64_t value) {
    PolicyOptions options;
    options.Set(key, value);
    return CheckPolicyOptions(options).ok();
  };
  for (int shift = 0; shift < 40; ++shift) {
    for (int64_t offset = -1; offset <= 1; ++offset) {
      const uint64_t value = (uint64_t{1} << shift) + offset;
      const std::string text = absl::StrCat(value);
      EXPECT_EQ(Set("lirs.page", text) == "ok",
                policies_take("lirs.page", value))
          << value;
      EXPECT_EQ(Set("lirs.batch", text) == "ok",
                policies_take("lirs.batch", value))
          << value;
      EXPECT_EQ(Set("brand.chunk_files", text) == "ok",
                policies_take("brand.chunk_files", value))
          << value;
      EXPECT_EQ(Set("window.samples", text) == "ok",
                policies_take("window.samples", value))
          << value;
    }
  }
}

TEST(OptionTable, MemoryMayBeAShareOfTheMachine) {
  MountConfig mount;
  ViewConfig view;
  const Option* memory = FindOption("memory");
  EXPECT_EQ(Set("memory", "50%", &mount, &view), "ok");
  EXPECT_EQ(mount.memory_percent, 50u);
  EXPECT_EQ(memory->Get(mount, view), "50%");
  EXPECT_EQ(Set("memory", "1G", &mount, &view), "ok");
  EXPECT_EQ(memory->Get(mount, view), "1GiB") << "a size replaces it";
  for (const char* bad : {"0%", "101%", "5.5%", "%"}) {
    EXPECT_THAT(Set("memory", bad), HasSubstr("must be a size")) << bad;
  }
}

TEST(OptionTable, TheTierMayTakeAShareOfItsDevice) {
  MountConfig mount;
  ViewConfig view;
  const Option* capacity = FindOption("tier.capacity");
  EXPECT_EQ(Set("tier.capacity", "80%", &mount, &view), "ok");
  EXPECT_EQ(mount.tier_percent, 80u);
  EXPECT_EQ(capacity->Get(mount, view), "80%");
  EXPECT_EQ(Set("tier.capacity", "1T", &mount, &view), "ok");
  EXPECT_EQ(capacity->Get(mount, view), "1TiB") << "a size replaces it";
  EXPECT_EQ(mount.tier_percent, 0u);
  for (const char* bad : {"0%", "101%", "5.5%", "%"}) {
    EXPECT_THAT(Set("tier.capacity", bad), HasSubstr("must be a size")) << bad;
  }
}

TEST(OptionTable, SwitchesAreWrittenAsInOtherPrograms) {
  const Option* pair = FindOption("pair");
  for (const char* on : {"stem", "on", "yes", "true"}) {
    MountConfig mount;
    ViewConfig view;
    view.pair = PairMode::kOff;
    EXPECT_EQ(Set("pair", on, &mount, &view), "ok") << on;
    EXPECT_EQ(pair->Get(mount, view), "stem") << on;
  }
  for (const char* off : {"off", "no", "false"}) {
    MountConfig mount;
    ViewConfig view;
    EXPECT_EQ(Set("pair", off, &mount, &view), "ok") << off;
    EXPECT_EQ(pair->Get(mount, view), "off") << off;
    EXPECT_EQ(Set("met.adapt", off, &mount, &view), "ok") << off;
    EXPECT_EQ(FindOption("met.adapt")->Get(mount, view), "off") << off;
  }
  EXPECT_THAT(Set("met.adapt", "on"), HasSubstr("must be off, score"))
      << "which";
  EXPECT_THAT(Set("layout", "on"), HasSubstr("must be tree or ranked"));
}

TEST(OptionTable, AGroupHasANameOrANumber) {
  MountConfig mount;
  ViewConfig view;
  EXPECT_EQ(Set("control.gid", "root", &mount, &view), "ok");
  EXPECT_EQ(mount.control_gid, 0u);
  EXPECT_EQ(FindOption("control.gid")->Get(mount, view), "0");
  EXPECT_EQ(Set("control.gid", "1234567", &mount, &view), "ok");
  EXPECT_EQ(mount.control_gid, 1234567u) << "it need not exist";
  EXPECT_EQ(Set("control.gid", "no such group", &mount, &view),
            "control.gid = no such group: must be the name of a group, or its "
            "id from 0 to 4294967294");
  EXPECT_EQ(mount.control_gid, 1234567u);
}

TEST(OptionTable, AnErrorSaysWhatIsMeant) {
  EXPECT_EQ(Set("memory", "lots"),
            "memory: \"lots\" is not a size (examples: 512M, 8GiB)");
  EXPECT_EQ(Set("substitute", "nevr"),
            "substitute = nevr: must be auto, never, directory or tree; did "
            "you mean never?");
  EXPECT_THAT(Set("policy", "lris"), HasSubstr("did you mean lirs?"));
  EXPECT_THAT(Set("policy", "quite another"), Not(HasSubstr("did you mean")));
}

TEST(OptionTable, OldNamesOfKeysWorkAndLeaveANote) {
  MountConfig mount;
  ViewConfig view;
  EXPECT_EQ(FindOption("brand.chunk"), FindOption("brand.chunk_files"));
  EXPECT_EQ(Set("brand.chunks", "physical", &mount, &view), "ok");
  EXPECT_EQ(Set("brand.chunks", "physical", &mount, &view), "ok");
  EXPECT_EQ(FindOption("brand.chunk_layout")->Get(mount, view), "physical");
  EXPECT_THAT(mount.notes,
              ::testing::ElementsAre(
                  "brand.chunks is now called brand.chunk_layout; the next "
                  "release takes only that name"));
  EXPECT_EQ(Set("brand.chunk_files", "8", &mount, &view), "ok");
  EXPECT_EQ(mount.notes.size(), 1u);
}

TEST(OptionTable, SetsTypedFields) {
  MountConfig mount;
  ViewConfig view;
  EXPECT_EQ(Set("lirs.page", "64 KiB", &mount, &view), "ok");
  EXPECT_EQ(LirsOptions::Of(view.policy_options).page, 65536u);
  EXPECT_EQ(Set("lirs.page", "4096", &mount, &view), "ok");
  EXPECT_EQ(LirsOptions::Of(view.policy_options).page, 4096u);
  EXPECT_EQ(Set("wait", "250ms", &mount, &view), "ok");
  EXPECT_EQ(mount.wait, std::chrono::milliseconds(250));
  EXPECT_EQ(Set("wait", "2", &mount, &view), "ok");
  EXPECT_EQ(mount.wait, std::chrono::seconds(2));
  EXPECT_EQ(Set("memory", "320MiB", &mount, &view), "ok");
  EXPECT_EQ(mount.memory, uint64_t{320} << 20);
  EXPECT_EQ(Set("memory", "2 GiB", &mount, &view), "ok");
  EXPECT_EQ(mount.memory, uint64_t{2} << 30);
  EXPECT_EQ(Set("epoch.length", "all", &mount, &view), "ok");
  EXPECT_EQ(view.epoch_length, 0u);
  EXPECT_EQ(Set("path", "train/", &mount, &view), "ok");
  EXPECT_EQ(view.path, "train");
  EXPECT_EQ(Set("path", ".", &mount, &view), "ok");
  EXPECT_EQ(view.path, "");
}

TEST(OptionTable, ErrorsNameKeyValueAndWhatIsAllowed) {
  EXPECT_EQ(Set("policy", "mte"),
            "policy = mte: must be auto, native, lirs, brand, met, reimu, "
            "clairvoyant, window or static; did you mean met?");
  EXPECT_EQ(Set("seed", "-1"),
            "seed = -1: must be a whole number from 0 to "
            "18446744073709551615");
  EXPECT_EQ(Set("lirs.page", "3KiB"),
            "lirs.page = 3KiB: must be a power of two from 4KiB to 16MiB");
  EXPECT_EQ(Set("memory", "1MiB"),
            "memory = 1MiB: must be a size such as 512M or 8GiB, from 4MiB to "
            "64TiB, or 1% to 100%");
  EXPECT_EQ(Set("memory", "8"),
            "memory = 8: must be a size such as 512M or 8GiB, from 4MiB to "
            "64TiB, or 1% to 100%; a number without a unit counts bytes");
  EXPECT_EQ(Set("brand.chunk_files", "0"),
            "brand.chunk_files = 0: must be a number of files from 1 to 65536");
  EXPECT_EQ(Set("brand.chunk_layout", "packed"),
            "brand.chunk_layout = packed: must be auto, random or physical");
  EXPECT_EQ(Set("brand.binding", "chunk"),
            "brand.binding = chunk: must be group or location");
  for (const char* locality : {"", "-0.1", "1.1", "nan", "half"}) {
    EXPECT_EQ(Set("brand.locality", locality),
              absl::StrCat("brand.locality = ", locality,
                           ": must be a number from 0 to 1"));
  }
  for (const char* nodes : {"", "1", "/", "0/1", "2/1", "1/0", "1/65537",
                            "1/2/3", "-1/2", "a/b", " 1/2"}) {
    EXPECT_EQ(Set("nodes", nodes),
              absl::StrCat("nodes = ", nodes,
                           ": must be k/n, two whole numbers from 1 to 65536, "
                           "k at most n"));
  }
  EXPECT_EQ(
      Set("brand.packed", "here"),
      "brand.packed = here: must be the path of a directory, and absolute");
  EXPECT_EQ(Set("pair", ""), "pair = : must be stem or off");
  EXPECT_EQ(Set("wait", "2h"),
            "wait = 2h: must be a time such as 500ms or 10s, at most 1h");
  EXPECT_EQ(Set("control.gid", "4294967295"),
            "control.gid = 4294967295: must be the name of a group, or its id "
            "from 0 to 4294967294");
}

TEST(OptionTable, RefusesValuesOutOfRange) {
  EXPECT_NE(Set("lirs.page", "2KiB"), "ok");
  EXPECT_NE(Set("lirs.page", "32MiB"), "ok");
  EXPECT_NE(Set("lirs.page", "12KiB"), "ok");
  EXPECT_NE(Set("lirs.page", "18446744073709551615TiB"), "ok");
  EXPECT_NE(Set("window.samples", "0"), "ok");
  EXPECT_NE(Set("epoch.length", "0"), "ok");
  EXPECT_NE(Set("epoch.pad", "1000001"), "ok");
  EXPECT_NE(Set("epoch.start", "9223372036854775808"), "ok");
  EXPECT_NE(Set("seed", "18446744073709551616"), "ok");
  EXPECT_NE(Set("seed", "0x10"), "ok");
  EXPECT_NE(Set("seed", " 1"), "ok");
  EXPECT_NE(Set("state", "relative"), "ok");
  for (const char* path : {"/abs", "a/../b", "..", "a//b", "a/./b",
                           ".shufflefs", ".shufflefs/view"}) {
    EXPECT_NE(Set("path", path), "ok") << path;
  }
}

PrefetchFacet RequestsOf(const PolicyOptions& options) {
  return *(*MakePolicy("clairvoyant", options))->prefetch();
}

TEST(OptionTable, SeedsOfSamplers) {
  ViewConfig view;
  const auto set = [&](const std::string& text) {
    return Set("clairvoyant.seeds", text, nullptr, &view);
  };
  EXPECT_EQ(set("7;99"), "ok");
  EXPECT_THAT(RequestsOf(view.policy_options).seeds,
              ::testing::ElementsAre(7, 99));
  for (const char* wrong :
       {"7;", ";", "7,99", "7; 99", "-1", "a", "0x7", "18446744073709551616"}) {
    EXPECT_EQ(set(wrong),
              absl::StrCat("clairvoyant.seeds = ", wrong,
                           ": must be at most 64 whole numbers from 0 to "
                           "18446744073709551615, separated by ;"));
  }
  std::string many = "0";
  for (int i = 1; i < 64; ++i) absl::StrAppend(&many, ";", i);
  EXPECT_EQ(set(many), "ok");
  EXPECT_EQ(RequestsOf(view.policy_options).seeds.size(), 64u);
  EXPECT_THAT(set(many + ";64"), HasSubstr("must be at most 64 whole numbers"));
  EXPECT_EQ(RequestsOf(view.policy_options).seeds.size(), 64u);
  EXPECT_EQ(set(""), "ok") << "takes them back while mounted";
  EXPECT_TRUE(RequestsOf(view.policy_options).seeds.empty());
}

TEST(OptionTable, CoresOfTheSearch) {
  MountConfig mount;
  EXPECT_EQ(RequestsOf(mount.policy_options).search_cores, 1u);
  EXPECT_EQ(Set("clairvoyant.cores", "1024", &mount), "ok");
  EXPECT_EQ(RequestsOf(mount.policy_options).search_cores, 1024u);
  for (const char* wrong : {"1025", "-1", "", "all"}) {
    EXPECT_EQ(Set("clairvoyant.cores", wrong, &mount),
              absl::StrCat("clairvoyant.cores = ", wrong,
                           ": must be a whole number from 0 to 1024"));
  }
  EXPECT_EQ(RequestsOf(mount.policy_options).search_cores, 1024u);
}

TEST(OptionTable, AWrongValueChangesNothing) {
  MountConfig mount;
  ViewConfig view;
  view.seed = Seed(7);
  EXPECT_NE(Set("seed", "7x", &mount, &view), "ok");
  EXPECT_EQ(view.seed, Seed(7));
}

TEST(OptionTable, AnUnknownKeySuggestsTheNearest) {
  EXPECT_EQ(Set("polcy", "lirs"), "no such key: polcy; did you mean policy?");
  EXPECT_EQ(Set("groups", "folds.tsv"),
            "groups = folds.tsv: must be the path of a file, and absolute");
  EXPECT_EQ(Set("page", "4KiB"), "no such key: page; did you mean lirs.page?");
  EXPECT_EQ(Set("advance", "auto"),
            "no such key: advance; did you mean epoch.advance?");
  EXPECT_EQ(Set("epoch_start", "1"),
            "no such key: epoch_start; did you mean epoch.start?");
  EXPECT_EQ(Set("Seed", "1"), "no such key: Seed; did you mean seed?");
  EXPECT_EQ(Set("prefetch.distance", "64"),
            "no such key: prefetch.distance; see shufflefs --help=all");
  EXPECT_EQ(Set("", "1"), "no such key: ; see shufflefs --help=all");
}

TEST(OptionTable, RulesAcrossKeys) {
  MountConfig mount;
  mount.views.resize(2);
  mount.views[0].path = "train";
  mount.views[1].path = "extra";
  EXPECT_TRUE(ValidateMount(mount).ok());
  mount.views[1].path = "train";
  EXPECT_EQ(
      ValidateMount(mount).message(),
      "two views have the path \"train\"; give each a directory of its own");
  mount.views[0].path = "a/b";
  mount.views[1].path = "a~b";
  EXPECT_EQ(ValidateMount(mount).message(),
            "the views at \"a/b\" and \"a~b\" would have one name, a~b; rename "
            "a directory");
  mount.views[0].path = "";
  mount.views[1].path = "root";
  EXPECT_FALSE(ValidateMount(mount).ok());
  mount.views[0].path = "train";
  mount.views[1].path = "extra";
  mount.views[1].groups = "/folds";
  mount.views[1].substitute = Substitute::kNever;
  EXPECT_EQ(
      ValidateMount(mount).message(),
      "groups has no meaning with substitute = never; remove one of them");
}

TEST(OptionTable, AMountHasAtMost254Views) {
  MountConfig mount;
  for (int i = 0; i < 254; ++i) {
    mount.views.emplace_back().path = absl::StrCat("v", i);
  }
  EXPECT_TRUE(ValidateMount(mount).ok());
  mount.views.emplace_back().path = "one more";
  EXPECT_EQ(ValidateMount(mount).message(),
            "there are 255 views; a mount can have 254");
}

}  // namespace
}  // namespace shufflefs
