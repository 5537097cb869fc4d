// SPDX-License-Identifier: Apache-2.0
// shufflectl simulate over datasets that are made up and over real trees.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "nlohmann/json.hpp"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

struct SimulateResult {
  int code;
  std::string out;
  std::string err;
};

SimulateResult SimulateNow(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate");
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{"/", &out, &err};
  const int code = RunShufflectl(arguments, context);
  return {code, out.str(), err.str()};
}

nlohmann::json FiguresOf(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const SimulateResult result = SimulateNow(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

TEST(Simulate, AFullShuffleIsAnAAndTheSourceIsAnF) {
  EXPECT_EQ(FiguresOf({"lirs"})["grade"], "A");
  const nlohmann::json native = FiguresOf({"native"});
  EXPECT_EQ(native["grade"], "F");
  EXPECT_EQ(native["neighbour_distance"]["value"], 1.0);
  EXPECT_EQ(native["repeated"]["value"], 1.0);
}

// Of containers, records are mixed, not files.
TEST(Simulate, RecordsOfContainersAreRead) {
  const TempDir dir;
  for (int file = 0; file < 2; ++file) {
    std::string rows;
    for (int i = 0; i < 5000; ++i) absl::StrAppend(&rows, i, " 1:0.5\n");
    dir.Write(absl::StrCat("rows-", file, ".svm"), rows);
  }
  const std::vector<std::string> lirs = {"lirs", "record.as=*.svm:lines",
                                         dir.path()};
  const nlohmann::json figures = FiguresOf(lirs);
  EXPECT_EQ(figures["containers"], 2);
  EXPECT_EQ(figures["records"], 10000);
  const std::string quality = figures["mixing"];
  EXPECT_THAT(quality, HasSubstr("A: of the records of rows-"));
  const SimulateResult text = SimulateNow(lirs);
  EXPECT_EQ(text.out, "lirs over " + dir.path() +
                          ": 10,000 records in 2 containers\ngrade " + quality +
                          "\n");
  const nlohmann::json blocks =
      FiguresOf({"reimu", "reimu.block=4KiB", "reimu.window=1",
                 "record.as=*.svm:lines", dir.path()});
  EXPECT_THAT(std::string(blocks["mixing"]), HasSubstr("blocks of 4096 bytes"));
}

// Records that cross pages are kept, as far as there is memory, or read again.
TEST(Simulate, TheRuleForPagesIsPrinted) {
  const TempDir dir;
  std::string rows;
  for (int i = 0; i < 36000; ++i) {
    absl::StrAppend(&rows, i + 10000000, std::string(321, 'x'), "\n");
  }
  dir.Write("rows.svm", rows);
  std::vector<std::string> pages = {"lirs",           "lirs.unit=page",
                                    "memory=16MiB",   "record.as=*.svm:lines",
                                    "lirs.page=4KiB", dir.path()};
  const nlohmann::json figures = FiguresOf(pages);
  EXPECT_THAT(std::string(figures["block_reads"]),
              HasSubstr("at most 2.0 % of rows.svm is kept (R / 4B"));
  ASSERT_EQ(figures["warnings"].size(), 1u);
  const std::string warning = figures["warnings"][0];
  EXPECT_THAT(warning, ContainsRegex("raise .*lirs.page to [0-9]+KiB"));
  const SimulateResult text = SimulateNow(pages);
  EXPECT_THAT(text.out, HasSubstr("\nblock reads: records of 330 bytes cross "
                                  "blocks of 4KiB: "));
  EXPECT_THAT(text.out, HasSubstr("\nwarning: " + warning + "\n"));
  pages[4] = "lirs.page=1MiB";
  EXPECT_EQ(FiguresOf(pages)["block_reads"], "");
}

TEST(Simulate, APolicyOfRecordsNeedsContainers) {
  const TempDir dir;
  dir.Write("a.jpg", "x");
  const SimulateResult result = SimulateNow({"reimu", dir.path()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("reimu shuffles records, and no file of " +
                                    dir.path() + " is a container"));
}

TEST(Simulate, AWindowMixesAsMuchAsItHolds) {
  const auto distance = [](const std::string& samples) {
    return FiguresOf({"window", "window.samples=" + samples, "--samples",
                      "20000"})["batch_distance"]["value"]
        .get<double>();
  };
  EXPECT_LT(distance("500"), distance("5000"));
  EXPECT_EQ(FiguresOf({"window", "window.samples=20000", "--samples",
                       "20000"})["grade"],
            "A");
}

// Ten samples of 100 KiB lie in a mebibyte and so come together.
TEST(Simulate, PagesKeepNeighboursTogether) {
  const nlohmann::json pages = FiguresOf(
      {"lirs", "lirs.unit=page", "lirs.page=1MiB", "--samples", "20000"});
  EXPECT_GT(pages["together"]["value"], 0.8);
  const nlohmann::json small = FiguresOf(
      {"lirs", "lirs.unit=page", "lirs.page=4KiB", "--samples", "20000"});
  EXPECT_LT(small["together"]["value"], 0.05);
}

TEST(Simulate, SaysWhatWasShuffled) {
  const SimulateResult result = SimulateNow(
      {"lirs", "--samples", "5000", "--classes", "10", "--bytes", "2MiB"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              HasSubstr("lirs over 5,000 samples of 2.00 MiB in 10 classes"));
  EXPECT_THAT(result.out, HasSubstr("full shuffle"));
  EXPECT_THAT(result.out, HasSubstr("grade A: "));
}

TEST(Simulate, SameSeedSameFigures) {
  const std::vector<std::string> one = {"lirs", "seed=5", "--samples", "3000"};
  EXPECT_EQ(SimulateNow(one).out, SimulateNow(one).out);
  EXPECT_NE(FiguresOf(one)["neighbour_distance"]["value"],
            FiguresOf({"lirs", "seed=6", "--samples",
                       "3000"})["neighbour_distance"]["value"]);
  EXPECT_NE(FiguresOf(one)["neighbour_distance"]["value"],
            FiguresOf({"lirs", "seed=5", "--samples", "3000", "--epoch",
                       "1"})["neighbour_distance"]["value"]);
}

std::vector<std::string> Brand(std::vector<std::string> more) {
  more.insert(more.begin(), {"brand", "memory=500MiB", "--samples", "20000"});
  return more;
}

TEST(Simulate, BrandReadsEachChunkAboutOnce) {
  const nlohmann::json one = FiguresOf(Brand({"--classes", "40"}));
  EXPECT_EQ(one["grade"], "A");
  const nlohmann::json& pool = one["pool"];
  EXPECT_EQ(pool["chunks"], 313);
  EXPECT_LT(pool["chunk_loads"], 420);
  EXPECT_EQ(pool["hits"].get<int>() + pool["misses"].get<int>(), 20000);
  EXPECT_EQ(pool["bypass"], 0);
  EXPECT_EQ(pool["memory"], 500 << 20);
  // Smaller chunks are more loads; more classes more misses.
  EXPECT_GT(FiguresOf(Brand({"brand.chunk_files=16"}))["pool"]["chunk_loads"],
            1200);
  EXPECT_GT(FiguresOf(Brand({"--classes", "5000"}))["pool"]["bypass"], 2000);
}

// Of the figures with the epoch before.
nlohmann::json WithTheEpochBefore(std::vector<std::string> arguments) {
  return FiguresOf(std::move(arguments))["epoch_memory"][0];
}

double Correlation(std::vector<std::string> arguments) {
  return WithTheEpochBefore(std::move(arguments))["correlation"]["value"];
}

TEST(Simulate, TellsWhatEpochsHaveInCommon) {
  EXPECT_NEAR(Correlation({"native", "--samples", "5000"}), 1, 1e-9);
  EXPECT_LT(std::abs(Correlation({"lirs", "--samples", "5000"})), 0.02);
  for (const std::string memory : {"500MiB", "1500MiB", "3GiB"}) {
    EXPECT_LT(std::abs(Correlation({"brand", "memory=" + memory, "--samples",
                                    "20000", "--epochs", "10"})),
              0.02)
        << memory;
  }
  const nlohmann::json figures =
      WithTheEpochBefore({"lirs", "--samples", "5000", "--epochs", "8"});
  EXPECT_EQ(figures["pairs"], 7);
  EXPECT_LT(figures["correlation"]["error"], 0.01);
  EXPECT_THAT(SimulateNow({"lirs", "--samples", "5000"}).out,
              HasSubstr("position in the group, and the epoch before"));
  EXPECT_EQ(SimulateNow({"lirs", "--epochs", "1"}).code, 2);
}

TEST(Simulate, BrandInPlaceHasSmallChunksOfAClass) {
  const nlohmann::json pool =
      FiguresOf(Brand({"--classes", "1000", "--in-place"}))["pool"];
  // Three of each class.
  EXPECT_GE(pool["chunks"], 3000);
  EXPECT_THAT(pool["how"].get<std::string>(), HasSubstr("of one group each"));
}

TEST(Simulate, LocationsReloadChunksAndTheFillRateHelps) {
  const auto loads = [](const std::string& refill) {
    return FiguresOf(Brand({"brand.binding=location", "--classes", "1",
                            "--refill", refill}))["pool"]["chunk_loads"]
        .get<int>();
  };
  const int full = loads("fill-rate");
  EXPECT_GT(full, 6 * 313);
  EXPECT_LT(full, 8 * 313);
  EXPECT_GT(loads("random"), full);
  EXPECT_GT(loads("none"), full);
  EXPECT_EQ(FiguresOf(Brand({"brand.binding=location", "--classes",
                             "1"}))["pool"]["chunk_loads"],
            full);
}

TEST(Simulate, NodesCostWhatThePaperSays) {
  const std::vector<std::string> words =
      Brand({"--classes", "1", "--nodes", "3", "memory=64MiB"});
  const nlohmann::json found = FiguresOf(words);
  EXPECT_EQ(found["nodes"], 3);
  EXPECT_LT(found["no_prefetching"]["misses"], found["none"]["misses"]);
  EXPECT_LT(found["all"]["misses"], found["random"]["misses"]);
  EXPECT_LT(found["all"]["requests"], found["none"]["requests"]);
  const std::string text = SimulateNow(words).out;
  EXPECT_THAT(text, HasSubstr("3 nodes with 64.0 MiB of memory each"));
  EXPECT_THAT(text, ContainsRegex("the whole protocol .* 1\\.26 +0\\.41"));
}

TEST(Simulate, PeersReadTheSourceOnceAndAskAhead) {
  const std::vector<std::string> words =
      Brand({"--classes", "1", "--nodes", "4", "memory=256MiB"});
  const nlohmann::json found = FiguresOf(words)["peers"];
  EXPECT_EQ(found["names_ahead"], 64);
  EXPECT_EQ(found["room"], 15 << 20);
  const nlohmann::json& next = found["next"];
  EXPECT_GT(found["first"]["source"], 0.99);
  EXPECT_LT(next["source"], 1.01);
  // Each name of another node cost at least one without asking ahead.
  EXPECT_LT(
      next["name_requests"].get<double>() + next["byte_requests"].get<double>(),
      0.3);
  EXPECT_NEAR(next["own"], 0.25, 0.02);
  const std::string text = SimulateNow(words).out;
  EXPECT_THAT(text, HasSubstr("4 nodes with 256 MiB of memory each, 15.0 MiB "
                              "of it for samples that come with names"));
  EXPECT_THAT(text,
              ContainsRegex("requests of other nodes, a sample +0\\.[0-9]"));
  EXPECT_THAT(text, HasSubstr("By chance, an owner shows 0.250.\n"));
}

// Nothing is fetched before somebody waits for it, so less comes with names.
TEST(Simulate, PeersOfTheLocationBindingAskMore) {
  const auto next = [](const std::string& binding) {
    return FiguresOf(Brand({"brand.binding=" + binding, "--classes", "1",
                            "--nodes", "4", "memory=256MiB"}))["peers"]["next"];
  };
  const auto requests = [](const nlohmann::json& epoch) {
    return epoch["name_requests"].get<double>() +
           epoch["byte_requests"].get<double>();
  };
  const nlohmann::json location = next("location");
  EXPECT_NEAR(location["source"], 1, 0.01);
  EXPECT_NEAR(location["own"], 0.25, 0.02);
  EXPECT_GT(requests(location), requests(next("group")));
  EXPECT_LT(requests(location), 1.5);
}

TEST(Simulate, LocalityLeavesSamplesWithTheirOwners) {
  const auto next = [](const std::string& locality) {
    return FiguresOf(Brand({"brand.locality=" + locality, "--classes", "1",
                            "--nodes", "4", "memory=256MiB"}))["peers"]["next"];
  };
  const double source = next("0")["source"];
  const nlohmann::json half = next("0.5");
  EXPECT_NEAR(half["own"], 0.625, 0.02);
  EXPECT_NEAR(half["source"], source, 0.01);
  const nlohmann::json whole = next("1");
  EXPECT_GT(whole["own"], 0.97);
  EXPECT_LT(whole["byte_requests"], 0.03);
  EXPECT_NEAR(whole["source"], source, 0.01);
}

TEST(Simulate, PeersSayWhatAskingAheadSaves) {
  const nlohmann::json peers = FiguresOf(
      Brand({"--classes", "1", "--nodes", "4", "memory=256MiB"}))["peers"];
  EXPECT_NEAR(peers["one_by_one"]["name_requests"], 0.75, 0.02);
  EXPECT_NEAR(peers["one_by_one"]["byte_requests"], 0.75, 0.02);
}

TEST(Simulate, BrandSaysWhatItReads) {
  const SimulateResult result =
      SimulateNow(Brand({"--classes", "40", "--epoch", "1"}));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("\n500 MiB of memory, 313 chunks of 64 "
                                    "files at random\n"));
  EXPECT_THAT(result.out, HasSubstr("  chunk loads  "));
  EXPECT_THAT(result.out, HasSubstr("  samples read alone  "));
  EXPECT_THAT(result.out, HasSubstr("grade A: "));
  EXPECT_EQ(FiguresOf({"lirs"}).contains("pool"), false);
}

class TreeTest : public ::testing::Test {
 protected:
  TreeTest() {
    for (int label = 0; label < 4; ++label) {
      for (int i = 0; i < 50; ++i) {
        tree_.Write(
            absl::StrCat("train/c", label, "/", label * 1000 + i * i, ".jpg"),
            "x");
      }
    }
    tree_.Write("val/c0/v.jpg", "x");
  }
  const TempDir tree_;
};

TEST_F(TreeTest, ARealTreeHasItsDirectoriesAsLabels) {
  const nlohmann::json native =
      FiguresOf({"native", tree_.path(), "--batch", "50"});
  EXPECT_EQ(native["samples"], 200);  // val is a split
  EXPECT_EQ(native["label_entropy"]["value"], 0.0);
  const nlohmann::json lirs =
      FiguresOf({"lirs", tree_.path(), "--batch", "50"});
  EXPECT_GT(lirs["label_entropy"]["value"], 1.5);
  const SimulateResult text = SimulateNow({"lirs", tree_.path()});
  EXPECT_THAT(text.out, HasSubstr(tree_.path() + ": 200 samples in 4 groups"));
}

TEST_F(TreeTest, AutoAndPathWorkWithATree) {
  EXPECT_EQ(SimulateNow({"auto", tree_.path()}).code, 0);
  EXPECT_EQ(FiguresOf({"lirs", "path=train/c1", tree_.path()})["samples"], 50);
  EXPECT_EQ(FiguresOf({"lirs", "lirs.unit=page", tree_.path()})["samples"],
            200);
}

TEST_F(TreeTest, BrandOverATree) {
  for (const char* place : {"--in-place", "--json"}) {
    const nlohmann::json brand = FiguresOf(
        {"brand", "substitute=directory", "memory=4MiB", tree_.path(), place});
    EXPECT_EQ(brand["samples"], 200);
    EXPECT_EQ(
        brand["pool"]["hits"].get<int>() + brand["pool"]["misses"].get<int>(),
        200);
  }
  const SimulateResult fixed =
      SimulateNow({"brand", "substitute=never", tree_.path()});
  EXPECT_EQ(fixed.code, 1);
  EXPECT_THAT(
      fixed.err,
      HasSubstr(tree_.path() + ": names would always show their own samples"));
}

TEST_F(TreeTest, ErrorsOfATree) {
  const SimulateResult gone = SimulateNow({"lirs", tree_.path() + "/gone"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_EQ(gone.err, absl::StrCat("shufflectl: ", tree_.path(),
                                   "/gone: No such file or directory; name the "
                                   "directory of the dataset\n"));
  const SimulateResult empty = SimulateNow({"lirs", tree_.path() + "/val"});
  EXPECT_EQ(empty.code, 0) << "a source's own name makes no split";
  const SimulateResult split = SimulateNow({"lirs", "path=val", tree_.path()});
  EXPECT_EQ(split.err,
            absl::StrCat("shufflectl: ", tree_.path(),
                         ": there are no samples outside of splits; name "
                         "the directory of the training data\n"));
}

TEST(Simulate, WrongUsage) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"brand", "brand.binding=location", "--refill", "best"},
       "--refill best: must be none, random or fill-rate"},
      {{"lirs", "--nodes", "3"},
       "lirs: --nodes is for brand; use shufflectl simulate brand"},
      {{"brand", "--nodes", "3", "--refill", "none"},
       "--nodes shows all that --refill can be: leave one of them out"},
      {{"brand", "--nodes", "0"}, "--nodes: must be from 1 to 1024"},
      {{"brand", "--refill", "none"}, "--refill is for brand.binding=location"},
      {{"brand", "memory=1MiB"},
       "memory = 1MiB: must be a size such as 512M or 8GiB, from 4MiB to "
       "64TiB, or 1% to 100%"},
      {{"mte"},
       "policy = mte: must be auto, native, lirs, brand, met, reimu, "
       "clairvoyant, window or static; did you mean met?"},
      {{}, "simulate: name a policy, e.g. shufflectl simulate lirs DATA"},
      {{"static"},
       "static: not graded, because your program decides the order"},
      {{"clairvoyant"},
       "clairvoyant: not graded, because your program decides the order"},
      {{"auto"},
       "auto chooses by what a source is; name a policy, or a SOURCE"},
      {{"lirs", "lirs.page=3KiB"},
       "lirs.page = 3KiB: must be a power of two from 4KiB to 16MiB"},
      {{"lirs", "sed=3"}, "no such key: sed; did you mean seed?"},
      {{"lirs", "a", "b"},
       "b: is neither key=value nor the only SOURCE; see shufflectl "
       "simulate --help"},
      {{"lirs", "--samples", "0"}, "--samples: must be from 1 to 4294967295"},
      {{"lirs", "--samples", "5", "--classes", "6"},
       "--classes: must be from 1 to 5"},
      {{"lirs", "--bytes", "1XB"}, "--bytes: must be from 1 to 1073741824"},
      {{"lirs", "--batch", "1"}, "--batch: must be from 2 to 1048576"},
      {{"lirs", "--epoch", "-1"},
       "--epoch: must be from 0 to 9223372036854775806"}};
  for (const auto& [arguments, message] : cases) {
    const SimulateResult result = SimulateNow(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_EQ(result.err, "shufflectl: " + message + "\n");
  }
}

}  // namespace
}  // namespace shufflefs
