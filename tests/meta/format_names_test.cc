// SPDX-License-Identifier: Apache-2.0
// Only core/formats, and what reads or writes TFRecord files and their indexes,
// knows how the files of a container format are named. Comments may: they give
// examples.
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/formats/table/formats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/meta/repository.h"
#include "tests/meta/source_words.h"

namespace shufflefs::meta {
namespace {

// Returns whether `text` has `suffix` at its end, or before another word.
bool HasSuffix(const std::string& text, const std::string& suffix) {
  for (size_t at = text.find(suffix); at != std::string::npos;
       at = text.find(suffix, at + 1)) {
    const size_t end = at + suffix.size();
    if (end == text.size() ||
        std::isalnum(static_cast<unsigned char>(text[end])) == 0) {
      return true;
    }
  }
  return false;
}

// The suffixes and names of formats that a file has in its code.
std::set<std::string> FormatsIn(const std::filesystem::path& file) {
  const Code code = CodeOf(file);
  std::set<std::string> named;
  for (const RecordFormat* format : OwnFormats()) {
    for (const std::string& text : code.strings) {
      for (const absl::string_view suffix : format->suffixes()) {
        if (HasSuffix(text, std::string(suffix)) || text == suffix.substr(1)) {
          named.insert(std::string(suffix));
        }
      }
      for (const absl::string_view suffix : format->index_suffixes()) {
        if (HasSuffix(text, std::string(suffix)))
          named.insert(std::string(suffix));
      }
    }
    // Other names are words for other things, too.
    if (format->suffixes().empty() || format->name() == "tar") continue;
    for (const std::string& word : WordsOf(code.text)) {
      if (word == format->name()) named.insert(word);
    }
  }
  return named;
}

bool KnowsNoFormat(const std::string& file) {
  for (const char* knows :
       {"core/formats/", "core/records/aligned/", "core/records/index/",
        "core/records/order/", "core/records/tfrecord_api/",
        // It names the layout of WebDataset, whose shards are .tar files, as it
        // names those of YOLO and COCO.
        "mount-tools/ctl/check/known_layout.cc"}) {
    if (absl::StartsWith(file, knows)) return false;
  }
  for (const char* folder :
       {"core/", "fs/", "mount-tools/", "policies/", "peers/"}) {
    if (absl::StartsWith(file, folder)) return true;
  }
  return false;
}

TEST(FormatNamesTest, WhatIsNoFormatNamesNone) {
  int files = 0;
  for (const auto& file : FilesWith({".h", ".cc"})) {
    if (!KnowsNoFormat(file.string())) continue;
    ++files;
    EXPECT_THAT(FormatsIn(file), testing::IsEmpty()) << file;
  }
  EXPECT_GT(files, 300);
}

// The search finds what is there to be found.
TEST(FormatNamesTest, FormatsNameThemselves) {
  EXPECT_THAT(FormatsIn("core/formats/tfrecord/tfrecord_format.cc"),
              testing::IsSupersetOf({"tfrecord", ".tfrecords", ".tfindex"}));
  EXPECT_THAT(FormatsIn("core/formats/columnar/columnar_formats.cc"),
              testing::IsSupersetOf({"parquet", ".parquet", ".feather"}));
  EXPECT_THAT(FormatsIn("mount-tools/ctl/check/known_layout.cc"),
              testing::ElementsAre(".tar"));
}

}  // namespace
}  // namespace shufflefs::meta
