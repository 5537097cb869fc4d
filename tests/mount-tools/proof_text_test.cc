// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/verify/proof_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/check/quality_text.h"
#include "nlohmann/json.hpp"

namespace shufflefs {
namespace {

EpochProof Proof(uint64_t epoch) {
  EpochProof proof;
  proof.begin.names = 1000;
  proof.begin.epoch = proof.begin.binding = Epoch(epoch);
  proof.begin.policy = "lirs";
  return proof;
}

TEST(ProofText, OneLineAnEpochThenTheVerdict) {
  VerifyResult result;
  result.proof.epochs = {Proof(0), Proof(1), Proof(2), Proof(3)};
  result.proof.epochs[0].consumed = 1000;
  result.proof.epochs[1].begin.binding = Epoch(0);
  result.proof.epochs[1].bijection =
      absl::FailedPreconditionError("other keys");
  result.proof.epochs[2].consumed = 990;
  result.proof.epochs[2].begin.view_path = "a/b";
  result.proof.epochs[3].running = true;
  result.proof.epochs[3].consumed = 5;
  result.proof.epochs[3].switches = {"seed 0 to 6"};
  result.live[""] = absl::OkStatus();
  EXPECT_FALSE(result.broken());
  EXPECT_EQ(ProofText(result),
            "root  epoch 0, lirs: 1,000 of 1,000, each once; bijection\n"
            "root  epoch 1, lirs, held since 0: nothing recorded as read; not "
            "replayed: other keys\n"
            "a~b  epoch 2, lirs: 990 of 1,000, each once; 10 not opened; "
            "bijection\n"
            "root  epoch 3, lirs: 5 of 1,000 so far, each once; bijection; "
            "switched: seed 0 to 6; the mount shows it\n"
            "proven: 2 of 4 epochs, 1 as far as names were opened, 1 "
            "skipped: the dataset or settings changed\n");
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["proven"], true);
  EXPECT_EQ(json["opened_in_part"], 1);
  EXPECT_EQ(json["epochs"][0]["complete"], true);
  EXPECT_EQ(json["epochs"][1]["bijection"], nullptr);
  EXPECT_EQ(json["epochs"][3]["shown_by_mount"], true);
  EXPECT_EQ(json["epochs"][3]["switched"][0], "seed 0 to 6");
}

// [S-3.10o] Whatever happens to the ledger's disk or file, verify claims no
// violation that was none.
TEST(ProofText, WhatTheLedgerLacksIsNotCompared) {
  VerifyResult result;
  result.proof.epochs = {Proof(0), Proof(1)};
  result.proof.epochs[0].consumed = 1000;
  result.proof.epochs[1].consumed = 5;
  result.proof.epochs[1].running = true;
  result.not_compared[""] = "ledger: no space";
  EXPECT_FALSE(result.broken());
  EXPECT_TRUE(result.proven());
  EXPECT_THAT(ProofText(result),
              ::testing::HasSubstr("5 of 1,000 so far, each once; bijection; "
                                   "not compared with the mount: ledger: no "
                                   "space\n"));
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["epochs"][0]["not_compared"], nullptr);
  EXPECT_EQ(json["epochs"][1]["not_compared"], "ledger: no space");
  EXPECT_EQ(json["epochs"][1]["shown_by_mount"], nullptr);
}

TEST(ProofText, EpochsThatAreAllSkippedProveNothing) {
  VerifyResult result;
  result.proof.epochs = {Proof(0), Proof(1)};
  for (EpochProof& epoch : result.proof.epochs) {
    epoch.bijection = absl::FailedPreconditionError("other keys");
  }
  EXPECT_FALSE(result.broken());
  EXPECT_THAT(
      ProofText(result),
      ::testing::EndsWith("nothing is proven: 0 of 2 epochs, 2 "
                          "skipped: the dataset or settings changed\n"));
  EXPECT_EQ(nlohmann::json::parse(ProofJson(result))["proven"], false);
}

// [S-3.10c] The ledger proves each epoch that was counted.
TEST(ProofText, AnEpochWithoutReadsProvesItsBijectionOnly) {
  VerifyResult result;
  result.proof.epochs = {Proof(0)};
  EXPECT_THAT(ProofText(result),
              ::testing::EndsWith(
                  "\nbijection proven, reads not seen: 1 of 1 epoch\n"));
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["proven"], true) << "nothing more can be";
  EXPECT_EQ(json["reads_not_seen"], 1);

  result.proof.epochs.push_back(Proof(1));
  result.proof.epochs[0].consumed = 990;
  EXPECT_THAT(ProofText(result),
              ::testing::EndsWith(
                  "\nproven: 0 of 2 epochs, 1 bijection proven but reads not "
                  "seen, 1 as far as names were opened\n"));
}

JointEpoch Joint(uint64_t epoch) {
  JointEpoch joint;
  joint.epoch = epoch;
  joint.names = joint.consumed = 1000;
  joint.nodes = {0, 1};
  return joint;
}

TEST(ProofText, WhatNodesSayTogetherHasAVerdict) {
  VerifyResult result;
  result.proof.epochs = {Proof(0)};
  result.proof.epochs[0].consumed = 1000;
  result.others.push_back({"/b", LedgerProof{.epochs = {Proof(0)}}});
  result.joint = {Joint(0), Joint(1), Joint(2), Joint(3)};
  result.joint[1].consumed = 900;
  result.joint[2].again = 3;
  result.joint[3].running = true;
  EXPECT_FALSE(result.broken());
  EXPECT_THAT(ProofText(result),
              ::testing::EndsWith(
                  "all nodes together  proven: 1 of 3 epochs, 1 as far as "
                  "names were opened, 1 not as one, as said above\n"));
  EXPECT_EQ(nlohmann::json::parse(ProofJson(result))["joint"][2]["once"],
            false);

  // The one that was left behind is no broken promise, the other is.
  result.joint[0].nodes = {0};
  result.joint[0].others = {1};
  EXPECT_FALSE(result.broken());
  EXPECT_EQ(nlohmann::json::parse(ProofJson(result))["proven"], true);
  result.joint[0].apart = {1};
  EXPECT_TRUE(result.broken());
  const std::string text = ProofText(result);
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "each once; BROKEN: names showed other samples on "
                        "/b\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("\nnot proven: 1 of 1 epoch\n"));
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["proven"], false);
  EXPECT_EQ(json["joint"][0]["bound_differently"][0], "/b");
  result.joint[0].held = true;
  EXPECT_FALSE(result.broken());
}

EpochProof Reactive(uint64_t epoch, uint64_t consumed) {
  EpochProof proof = Proof(epoch);
  proof.begin.policy = "brand";
  proof.begin.reactive = true;
  proof.consumed = consumed;
  return proof;
}

TEST(ProofText, OfAReactiveEpochWhatIsMissingIsNamed) {
  VerifyResult result;
  result.proof.epochs = {Reactive(0, 1000), Reactive(1, 998), Reactive(2, 998),
                         Reactive(3, 7), Reactive(4, 0)};
  std::vector<EpochProof>& epochs = result.proof.epochs;
  epochs[1].not_shown = "c1/x.jpg";
  epochs[1].not_read = "c1/a.jpg";
  epochs[2].unnamed = 4;
  epochs[3].running = true;
  epochs[3].not_shown = epochs[4].not_shown = "c0/a.jpg";
  EXPECT_TRUE(result.broken());
  EXPECT_EQ(
      ProofText(result),
      "root  epoch 0, brand: 1,000 of 1,000, each once; pairs one to one "
      "within groups\n"
      "root  epoch 1, brand: 998 of 1,000, each once; 2 not opened; 2 not "
      "shown, first c1/x.jpg, for nobody read c1/a.jpg; pairs one to one "
      "within groups\n"
      "root  epoch 2, brand: BROKEN: 4 shown, and not recorded under which "
      "name; pairs one to one within groups\n"
      "root  epoch 3, brand: 7 of 1,000 so far, each once; pairs one to one "
      "within groups\n"
      "root  epoch 4, brand: nothing recorded as read; pairs one to one within "
      "groups\n"
      "not proven: 2 of 5 epochs, 2 as far as names were opened\n");
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["epochs"][0]["reactive"], true);
  EXPECT_EQ(json["epochs"][0]["first_not_shown"], nullptr);
  EXPECT_EQ(json["epochs"][1]["first_not_shown"], "c1/x.jpg");
  EXPECT_EQ(json["epochs"][1]["first_not_read"], "c1/a.jpg");
  EXPECT_EQ(json["epochs"][2]["consumed_without_name"], 4);
}

TEST(ProofText, NamesCannotWriteToTheTerminal) {
  VerifyResult result;
  result.proof.epochs = {Reactive(1, 998)};
  result.proof.epochs[0].not_shown = "a\x1b[2J";
  result.proof.epochs[0].not_read = "b\nroot  epoch 2";
  const std::string text = ProofText(result);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\nroot  epoch 2"), std::string::npos);
}

TEST(ProofText, TheMeasuresOfEachViewsLastEpochFollow) {
  QualityReport report;
  report.samples = 2000;
  report.batch = 256;
  report.batches = 7;
  report.neighbour_distance = {.value = 612, .uniform = 667};
  report.batch_distance = {.value = 640, .uniform = 667};
  report.label_entropy = QualityMeasure{.value = 4.2, .uniform = 5.2};
  report.together = {.value = 0.3, .uniform = 0.1};
  report.grade = 'C';
  report.reason = "labels vary less";
  VerifyResult result;
  result.proof.epochs = {Reactive(0, 1000), Reactive(1, 1000), Proof(2),
                         Proof(3)};
  std::vector<EpochProof>& epochs = result.proof.epochs;
  epochs[0].quality = epochs[1].quality = epochs[2].quality = report;
  epochs[1].quality->repeated = QualityMeasure{.value = 0.25, .uniform = 0.001};
  epochs[2].begin.view_path = "other";
  EXPECT_EQ(
      ProofText(result),
      "root  epoch 0, brand: 1,000 of 1,000, each once; pairs one to one "
      "within groups; mixing C\n"
      "root  epoch 1, brand: 1,000 of 1,000, each once; pairs one to one "
      "within groups; mixing C\n"
      "other  epoch 2, lirs: nothing recorded as read; bijection; mixing C\n"
      "root  epoch 3, lirs: nothing recorded as read; bijection\n"
      "proven: 2 of 4 epochs, 2 bijections proven but reads not seen\n" +
          absl::StrCat("other  epoch 2 as it is planned:\n",
                       QualityText(report), "root  epoch 1 as it was read:\n",
                       QualityText(*epochs[1].quality, "the epoch before")));
  EXPECT_THAT(ProofText(result),
              ::testing::HasSubstr("same place in the epoch before"));
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["epochs"][1]["mixing_of"], "reading");
  EXPECT_EQ(json["epochs"][1]["mixing"]["repeated"]["value"], 0.25);
  EXPECT_EQ(json["epochs"][2]["mixing_of"], "plan");
  EXPECT_EQ(json["epochs"][2]["mixing"]["grade"], "C");
  EXPECT_EQ(json["epochs"][3]["mixing_of"], nullptr);
  EXPECT_EQ(json["epochs"][3]["mixing"], nullptr);
}

TEST(ProofText, WhatWasBoundAnewInMidPassIsSaid) {
  VerifyResult result;
  result.proof.epochs = {Proof(0)};
  result.proof.epochs[0].bound_anew = 2;
  EXPECT_EQ(ProofText(result),
            "root  epoch 0, lirs: BROKEN: 2 names had been opened for it, and "
            "were bound anew; bijection\n"
            "not proven: 0 of 1 epoch\n");
}

TEST(ProofText, WhatAViewsEpochsHaveInCommonFollowsItsMeasures) {
  VerifyResult result;
  result.proof.epochs = {Reactive(0, 1000), Reactive(1, 1000)};
  result.proof.epochs[1].quality = QualityReport();
  EpochMemory& memory = result.proof.memory[""];
  memory.before[0] = {.pairs = 1,
                      .correlation = {.value = 0.137, .error = 0.0316},
                      .neighbours = {.value = 0.02, .uniform = 0.016}};
  const std::string text = ProofText(result);
  EXPECT_THAT(text, ::testing::HasSubstr("of 2 epochs"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("position in the group, and the epoch before"
                                   "        +0.1370      +-0.0316\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("neighbours in it, near in the epoch "
                                         "before         2.000 %"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("2 epochs before")));
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["epoch_memory"]["root"][0]["correlation"]["value"], 0.137);
  EXPECT_EQ(json["epoch_memory"]["root"][0]["pairs"], 1);
  EXPECT_EQ(json["epoch_memory"]["root"][1], nullptr);
}

TEST(ProofText, ALedgerCannotWriteToTheTerminal) {
  VerifyResult result;
  result.proof.epochs = {Proof(0)};
  result.proof.epochs[0].begin.view_path = "a\x1b[2J";
  result.proof.epochs[0].bijection = absl::DataLossError("x\n\x1b: shows y");
  result.proof.epochs[0].switches = {"a\a"};
  const std::string text = ProofText(result);
  EXPECT_EQ(text.find_first_of("\x1b\a"), std::string::npos);
  EXPECT_THAT(text, ::testing::HasSubstr("a?[2J  epoch 0"));
  EXPECT_THAT(text, ::testing::HasSubstr("x??: shows y"));
}

TEST(ProofText, WhatIsBrokenIsSaid) {
  VerifyResult result;
  result.proof.epochs = {Proof(0), Proof(1)};
  result.proof.epochs[0].twice = 3;
  result.proof.epochs[0].bijection = absl::DataLossError("x: shows y");
  result.proof.epochs[1].running = true;
  result.live[""] = absl::DataLossError("the mount shows z");
  result.proof.ledger = absl::DataLossError("ledger: damaged");
  EXPECT_TRUE(result.broken());
  EXPECT_EQ(ProofText(result),
            "root  epoch 0, lirs: BROKEN: 3 consumed again; BROKEN: no "
            "bijection: x: shows y\n"
            "root  epoch 1, lirs: nothing recorded as read; bijection; BROKEN: "
            "the mount shows z\n"
            "BROKEN: ledger: damaged\n"
            "not proven: 0 of 2 epochs, 1 bijection proven but reads not "
            "seen\n");
  const nlohmann::json json = nlohmann::json::parse(ProofJson(result));
  EXPECT_EQ(json["proven"], false);
  EXPECT_EQ(json["epochs"][0]["bijection"], false);
}

}  // namespace
}  // namespace shufflefs
