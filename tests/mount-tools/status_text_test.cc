// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/status_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr char kStatus[] = R"({
  "version": "0.1.0", "source": "/data", "warnings": ["the kernel is old"],
  "views": [
    {"name": "train", "path": "train", "policy": "lirs", "why": "asked for",
     "substitute": "directory", "substitute_why": "10 class folders",
     "groups": 1000, "seed": 3, "epoch": 3,
     "epoch_state": "running", "epoch_verdict": "a", "epoch_held": 0,
     "epoch_hold_reason": "", "samples": 1000, "consumed": 620,
     "source_bytes": 500, "served_bytes": 500, "stall_seconds": 4.0,
     "consumer_seconds": 96.0, "mixing": "", "device": "flash",
     "warnings": []},
    {"name": "extra", "path": "extra", "policy": "native",
     "next_policy": "window", "why": "", "substitute": "never",
     "seed": 0, "epoch": 0, "epoch_state": "held", "epoch_held": 1,
     "epoch_hold_reason": "a name was opened twice", "samples": 0,
     "consumed": null, "source_bytes": null, "served_bytes": 0,
     "stall_seconds": null, "consumer_seconds": null,
     "warnings": ["client-side split suspected"]}
  ]})";

TEST(StatusText, OneLineAViewThenWhatTheDaemonSays) {
  const absl::StatusOr<std::string> text = StatusText(kStatus);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text,
            "train  lirs  epoch 3, 62 % | readers waited 4 % | source 1.00x "
            "read | labels by directory (1,000 classes) | 0 warnings\n"
            "  why: asked for\n"
            "  names: 10 class folders\n"
            "  device: flash\n"
            "extra  native  epoch 0, held | every name shows its own file | 1 "
            "warning\n"
            "  from the next epoch: window\n"
            "  held: a name was opened twice\n"
            "  warning: client-side split suspected\n"
            "warning: the kernel is old\n");
}

TEST(StatusText, TellsWhatTheLedgerLacks) {
  const std::string status = R"({"views": [
      {"name": "root", "warnings": [7, "client-side split suspected"]},
      {"name": "a~b", "warnings": ["other", "ledger: no space; kept"]},
      {"name": "c"}]})";
  EXPECT_EQ(*LedgerWarning(status, "root"), "");
  EXPECT_EQ(*LedgerWarning(status, "a~b"), "ledger: no space; kept");
  EXPECT_EQ(*LedgerWarning(status, "c"), "");
  EXPECT_EQ(*LedgerWarning(status, "none"), "");
  EXPECT_FALSE(LedgerWarning("no JSON", "root").ok());
}

TEST(StatusText, TellsWhichViewsAreIndexed) {
  const std::string status = R"({"views": [
      {"name": "root", "epoch_state": "indexing"},
      {"name": "a", "epoch_state": "running"}]})";
  EXPECT_TRUE(*IsIndexing(status, "root"));
  EXPECT_FALSE(*IsIndexing(status, "a"));
  EXPECT_FALSE(*IsIndexing(status, "b"));
  EXPECT_FALSE(IsIndexing("no JSON", "root").ok());
}

TEST(StatusText, TellsWhatAPoolHasDone) {
  const std::string status =
      R"({"views": [{"name": "root", "policy": "brand", "substitute": "tree",
          "hits": 12345, "misses": 67, "bypass": 8, "chunk_loads": 1234,
          "fill_rate": 0.1234, "warnings": []}]})";
  EXPECT_EQ(*StatusText(status),
            "root  brand  names move in the whole view | 0 warnings\n"
            "  pool: 1,234 chunk loads (fill rate 12.3 %), 12,345 hits, 67 "
            "misses, 8 read alone\n");
  // Before the first load.
  EXPECT_EQ(*StatusText(R"({"views": [{"name": "root", "policy": "brand",
                        "substitute": "tree", "hits": 0, "misses": 0,
                        "bypass": 0, "chunk_loads": 0, "fill_rate": null}]})"),
            "root  brand  names move in the whole view | 0 warnings\n"
            "  pool: 0 chunk loads, 0 hits, 0 misses, 0 read alone\n");
}

TEST(StatusText, TellsHowOpensAreSeenAndWhoReadsLargeFiles) {
  EXPECT_EQ(*StatusText(R"({"views": [],
                "opens": {"seen_by": "requests", "why": "few samples"},
                "passthrough": {"on": true, "why": "16384 KiB on average"}})"),
            "opens: each asks the daemon (few samples)\n"
            "large files: the kernel reads them by itself (16384 KiB on "
            "average)\n");
  EXPECT_EQ(*StatusText(R"({"views": [],
                "opens": {"seen_by": "reports", "why": "epochs end by opens"},
                "passthrough": {"on": false, "why": "files are small"}})"),
            "opens: the kernel reports them (epochs end by opens)\n");
  EXPECT_EQ(*StatusText(R"({"views": [], "passthrough": 1,
                "opens": {"seen_by": "a later way", "why": ""}})"),
            "");
}

TEST(StatusText, TellsWhatIsReadAhead) {
  EXPECT_EQ(*StatusText(R"({"views": [{"name": "root", "policy": "clairvoyant",
        "substitute": "directory", "clairvoyant": {"jobs": [{"path": "train",
        "files": 20000, "state": "recognised",
        "order": "DistributedSampler, seed 42, epoch 3", "after_opens": 38,
        "evidence": "38 of 38 opens in 2 lanes", "searched": null,
        "epochs": 4, "recognised_epochs": 4}], "opens": 60000, "ready": 58200,
        "ready_share": 0.97, "prefetched_bytes": 5000000,
        "wasted_bytes": 10000}}]})"),
            "root  clairvoyant  every name shows its own file | 0 warnings\n"
            "  reads ahead: train (20,000 files) DistributedSampler, seed 42, "
            "epoch 3, found after 38 opens | 97 % of opens found their data | "
            "0.2 % wasted\n");
}

TEST(StatusText, TellsOfEachJobWhatIsKnownOfIt) {
  EXPECT_EQ(*StatusText(R"({"views": [{"name": "root", "policy": "clairvoyant",
        "clairvoyant": {"jobs": [
          {"path": "train", "files": 5000, "state": "searching",
           "order": "", "searched": 0.256},
          {"path": "", "files": 1, "state": "watching", "searched": null},
          {"path": "b\u001b", "files": 7, "state": "unknown", "order": null}, 3],
        "opens": 10, "ready": 5, "ready_share": 0.5,
        "prefetched_bytes": 0, "wasted_bytes": 0}}]})"),
            "root  clairvoyant  every name shows its own file | 0 warnings\n"
            "  reads ahead: train (5,000 files) tries all seeds, 26 % done\n"
            "  reads ahead: . (1 file) watches the opens\n"
            "  reads ahead: b? (7 files) nothing, for its order is not known\n"
            "  reads ahead: in all 50 % of opens found their data\n");
  // Before anything was opened.
  EXPECT_EQ(*StatusText(R"({"views": [{"name": "root", "policy": "clairvoyant",
        "clairvoyant": {"jobs": [], "opens": 0, "ready": 0,
        "ready_share": null, "prefetched_bytes": 0, "wasted_bytes": 0}}]})"),
            "root  clairvoyant  every name shows its own file | 0 warnings\n");
}

TEST(StatusText, EpochOfAViewOrOfAll) {
  EXPECT_EQ(*EpochText(kStatus, "train"), "train  lirs  epoch 3, 62 %\n");
  EXPECT_EQ(*EpochText(kStatus, ""),
            "train  lirs  epoch 3, 62 %\n"
            "extra  native  epoch 0, held | from the next epoch: window\n");
  EXPECT_EQ(*EpochJson(kStatus, "extra"),
            "{\"view\":\"extra\",\"policy\":\"native\","
            "\"next_policy\":\"window\",\"seed\":0,\"epoch\":0,"
            "\"epoch_state\":\"held\"}\n");
  EXPECT_EQ(
      EpochText(kStatus, "val").status().message(),
      "the status names no view \"val\"; shufflectl status lists the views");
}

TEST(StatusText, AWriteShowsTheWarningsThatItCaused) {
  const std::string before =
      R"({"views": [{"name": "a", "policy": "native", "warnings": ["old"]},
                    {"name": "b", "policy": "native", "warnings": ["new"]}]})";
  const std::string after =
      R"({"views": [{"name": "a", "policy": "brand",
                     "warnings": ["new\u001b", "old", "new"]},
                    {"name": "b", "policy": "native", "warnings": ["new"]}]})";
  EXPECT_EQ(*AfterWriteText(before, after, ""),
            "a  brand  \n  warning: new?\n  warning: new\nb  native  \n");
  EXPECT_EQ(*AfterWriteText(before, before, "b"), "b  native  \n");
  EXPECT_EQ(*AfterWriteText(R"({"views": [7]})", before, "a"),
            "a  native  \n  warning: old\n");
  EXPECT_FALSE(AfterWriteText("no JSON", after, "").ok());
}

TEST(StatusText, SaysWhatNamesShow) {
  const auto line = [](const std::string& view) {
    return *StatusText("{\"views\": [{" + view + "}]}");
  };
  EXPECT_THAT(line(R"("policy": "lirs", "substitute": "tree")"),
              ::testing::HasSubstr("names move in the whole view"));
  EXPECT_THAT(
      line(R"("policy": "lirs", "substitute": "directory", "groups": 1)"),
      ::testing::HasSubstr("labels by directory (1 class)"));
  EXPECT_THAT(line(R"("policy": "native", "substitute": "directory")"),
              ::testing::HasSubstr("every name shows its own file"));
}

// The records of containers are shuffled although each name shows its own file.
TEST(StatusText, SaysThatRecordsAreShuffled) {
  const auto line = [](const std::string& view) {
    return *StatusText("{\"views\": [{\"name\": \"root\", " + view + "}]}");
  };
  EXPECT_EQ(line(R"("policy": "reimu", "substitute": "never",
                    "records": {"containers": 4})"),
            "root  reimu  records of 4 containers are shuffled | 0 warnings\n");
  EXPECT_EQ(line(R"("policy": "lirs", "substitute": "never",
                    "records": {"containers": 1})"),
            "root  lirs  records of 1 container are shuffled | 0 warnings\n");
  for (
      const char* none :
      {R"("policy": "lirs", "substitute": "never", "records": null)",
       R"("policy": "lirs", "substitute": "never", "records": {"containers": 0})",
       R"("policy": "native", "substitute": "never",
           "records": {"containers": 4})"}) {
    EXPECT_THAT(line(none),
                ::testing::HasSubstr("every name shows its own file"))
        << none;
  }
  EXPECT_THAT(line(R"("policy": "lirs", "substitute": "directory", "groups": 2,
                      "records": {"containers": 4})"),
              ::testing::HasSubstr("labels by directory (2 classes)"));
}

// Who reads the first line only must not miss them.
TEST(StatusText, WarningsOfTheMountCountWithItsOnlyView) {
  const auto text = StatusText(
      R"({"warnings": ["train/dog: cannot be read"],
          "views": [{"name": "root", "policy": "lirs", "warnings": ["w"]}]})");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, ::testing::HasSubstr("lirs  2 warnings\n"));
  EXPECT_THAT(*text, ::testing::HasSubstr("\n  warning: train/dog: cannot"));
}

TEST(StatusText, WhatIsNoStatusIsRefused) {
  for (const char* text : {"", "[]", "{", "{\"views\": 3}", "\xff", "null"}) {
    EXPECT_TRUE(absl::IsDataLoss(StatusText(text).status())) << text;
    EXPECT_TRUE(absl::IsDataLoss(EpochText(text, "").status())) << text;
  }
}

// A later daemon may write fields that this program does not know, or other
// kinds of values.
TEST(StatusText, OtherKindsOfValuesAreLeftOut) {
  const absl::StatusOr<std::string> text = StatusText(
      R"({"views": [7, {"name": 3, "epoch": "x", "warnings": [1, "w"],
          "samples": -1, "consumed": 2, "mixing": {"grade": 1}}]})");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, ::testing::HasSubstr("1 warning"));
}

// JSON has no such bytes: the daemon writes U+FFFD in their place.
TEST(StatusText, AViewIsFoundWhateverBytesItsNameHas) {
  const std::string status =
      "{\"views\": [{\"name\": \"a\xef\xbf\xbd~b\", \"policy\": "
      "\"lirs\", \"epoch_state\": \"indexing\", \"warnings\": "
      "[\"ledger: no space\"]}]}";
  EXPECT_TRUE(EpochText(status, "a\xff~b").ok());
  EXPECT_TRUE(EpochJson(status, "a\xff~b").ok());
  EXPECT_TRUE(*IsIndexing(status, "a\xff~b"));
  EXPECT_EQ(*LedgerWarning(status, "a\xff~b"), "ledger: no space");
  EXPECT_FALSE(EpochText(status, "b\xff~b").ok());
}

TEST(StatusTextTest, NamesCannotWriteToTheTerminal) {
  const std::string status =
      "{\"views\": [{\"name\": \"a\\u001b[2J\", \"policy\": \"lirs\", "
      "\"warnings\": [\"x\\u001b[31m\\nroot  native\"]}], "
      "\"warnings\": [\"y\\u0007\\nz\"]}";
  const std::string text = *StatusText(status);
  EXPECT_EQ(text.find_first_of("\x1b\a"), std::string::npos);
  EXPECT_EQ(text.find("\nroot"), std::string::npos);
  EXPECT_THAT(text, testing::HasSubstr("  warning: x?[31m?root  native\n"));
  EXPECT_THAT(*EpochText(status, ""), testing::HasSubstr("a?[2J  lirs"));
}

}  // namespace
}  // namespace shufflefs
