// SPDX-License-Identifier: Apache-2.0
// examples/tfrecord_sgd.cc does what it says: it reads every record once an
// epoch, and learns in shuffled orders.
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/meta/repository.h"
#include "tests/testing/paths.h"

namespace shufflefs {
namespace {

const std::string kProgram =
    testing_support::BuildDir() + "/examples/tfrecord_sgd";

// The losses of the epochs by order.
std::map<std::string, std::vector<double>> Losses(const std::string& output) {
  std::map<std::string, std::vector<double>> losses;
  const std::regex line(
      "([a-z]+) +epoch ([0-9]+): loss ([0-9.]+), ([0-9]+) records read, "
      "([0-9]+) of ([0-9]+)\n");
  for (std::sregex_iterator it(output.begin(), output.end(), line), end;
       it != end; ++it) {
    const std::smatch& match = *it;
    std::vector<double>& of_order = losses[match[1]];
    EXPECT_EQ(std::stoul(match[2]), of_order.size());
    EXPECT_EQ(match[4], match[6]) << match[0];
    EXPECT_EQ(match[5], match[6]) << match[0];
    EXPECT_EQ(match[6], "20000");
    of_order.push_back(std::stod(match[3]));
  }
  return losses;
}

TEST(TfrecordExample, LearnsWhereTheOrderIsShuffled) {
  const testing_support::TempTree tree;
  const meta::ShellResult run = meta::Shell(kProgram + " '" +
                                            tree.At("data.tfrecord") + "'");
  ASSERT_EQ(run.code, 0) << run.output;
  auto losses = Losses(run.output);
  ASSERT_EQ(losses.size(), 3u) << run.output;
  for (const auto& [order, by_epoch] : losses) {
    ASSERT_EQ(by_epoch.size(), 4u) << order;
  }
  // The best that there is has some 0.22; who knows nothing has 0.69.
  EXPECT_LT(losses["instance"].back(), 0.30);
  EXPECT_LT(losses["page"].back(), 0.30);
  EXPECT_LT(losses["instance"].back(), losses["instance"].front());
  EXPECT_LT(losses["page"].back(), losses["page"].front());
  EXPECT_GT(losses["none"].back(), 2 * losses["page"].back());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tree.root()), {}),
            1);
}

TEST(TfrecordExample, TellsWhatItCannotWrite) {
  const meta::ShellResult run =
      meta::Shell(kProgram + " /proc/none 2>&1");
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.output.find("/proc/none"), std::string::npos) << run.output;
  EXPECT_EQ(meta::Shell(kProgram + " 2>&1").code, 2);
}

}  // namespace
}  // namespace shufflefs
