// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/file_kinds.h"

#include <cctype>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

TEST(FileKindsTest, Extensions) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"a.jpg", "jpg"},
      {"a.JPG", "JPG"},
      {"a.tar.gz", "gz"},
      {"x.seg.png", "png"},
      {"a.mp3", "mp3"},
      {"a.h5", "h5"},
      {"noext", ""},
      {".hidden", ""},
      {"trailing.", ""},
      {"frame.0001", ""},
      {"v1.5", ""},
      {"00001.7c53336b37003a9286aba55d2945844c", ""},
      {"0001.deadbeef", ""},
      {"a.b c", ""},
      {"a.averylongending", ""},
  };
  for (const auto& [name, extension] : cases) {
    EXPECT_EQ(ExtensionOf(name), extension) << name;
  }
  EXPECT_EQ(StemOf("x.seg.png"), "x.seg");
  EXPECT_EQ(StemOf("frame.0001"), "frame.0001");
}

TEST(FileKindsTest, Kinds) {
  const std::vector<std::pair<const char*, FileKind>> cases = {
      {"a.jpg", FileKind::kImage},
      {"a.JPEG", FileKind::kImage},
      {"a.wav", FileKind::kAudio},
      {"a.npy", FileKind::kArray},
      {"a.txt", FileKind::kText},
      {"49960", FileKind::kText},
      {"00001.7c53336b37003a9286aba55d2945844c", FileKind::kText},
      {"train-00000-of-01024", FileKind::kContainer},
      {"train.tfrecord-00000-of-01024", FileKind::kContainer},
      {"a.tar", FileKind::kContainer},
      {"a.parquet", FileKind::kContainer},
      {"a.npz", FileKind::kContainer},
      {"labels.csv", FileKind::kManifest},
      {"metadata.jsonl", FileKind::kManifest},
      {"SHA256SUMS", FileKind::kManifest},
      {"readme.txt", FileKind::kDocument},
      {"README", FileKind::kDocument},
      {"README.md", FileKind::kDocument},
      {"LICENSE-2.0.txt", FileKind::kDocument},
      {"readmes.txt", FileKind::kText},
      {"README.csv", FileKind::kManifest},
      {".DS_Store", FileKind::kHidden},
      {"Thumbs.db", FileKind::kHidden},
      {"a.xyz", FileKind::kUnknown},
      {"license.jpg", FileKind::kImage},
  };
  for (const auto& [name, kind] : cases) {
    EXPECT_EQ(NameOfKind(KindOfFile(name)), NameOfKind(kind)) << name;
  }
}

TEST(FileKindsTest, Directories) {
  EXPECT_EQ(KindOfDirectoryName("0.zarr"), FileKind::kContainer);
  EXPECT_EQ(KindOfDirectoryName("train.lmdb"), FileKind::kContainer);
  EXPECT_EQ(KindOfDirectoryName(".git"), FileKind::kHidden);
  EXPECT_EQ(KindOfDirectoryName("__MACOSX"), FileKind::kHidden);
  EXPECT_EQ(KindOfDirectoryName("comp.os.ms-windows.misc"), FileKind::kUnknown);
}

// The rule of the header, word by word.
std::string PlainExtension(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return "";
  const std::string extension = name.substr(dot + 1);
  if (extension.empty() || extension.size() > 10) return "";
  bool letter = false;
  bool hex = true;
  for (const char c : extension) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) && c != '_') return "";
    letter |= std::isalpha(byte) != 0;
    hex &= std::isxdigit(byte) != 0;
  }
  return letter && !(hex && extension.size() >= 8) ? extension : "";
}

TEST(FileKindsTest, ExtensionsOfRandomNamesFollowTheRule) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string bytes = "..ab0f_Z9-\xc3";
  int found = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string name(random() % 16, ' ');
    for (char& c : name) c = bytes[random() % bytes.size()];
    EXPECT_EQ(ExtensionOf(name), PlainExtension(name)) << name;
    found += !ExtensionOf(name).empty();
  }
  EXPECT_GT(found, 1000);
}

TEST(FileKindsTest, AMemoSaysTheSameOfRandomNames) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> stems = {"a",      "b.c", ".d",     "",
                                          "README", "x.",  "thumbs", "e-1"};
  const std::vector<std::string> endings = {".jpg", ".JPG",  ".jpeg", ".db",
                                            ".wav", ".json", "jpg",   ".md"};
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) {
    // Runs of one ending, as directories have them.
    names.push_back(stems[random() % 8] +
                    endings[random() % 8 < 6 ? i / 50 % 8 : random() % 8]);
  }
  KindMemo memo;
  for (const std::string& name : names) {
    ASSERT_EQ(memo.KindOf(name), KindOfFile(name)) << name;
    ASSERT_EQ(memo.ExtensionOf(name), ExtensionOf(name)) << name;
    ASSERT_EQ(memo.StemOf(name), StemOf(name)) << name;
  }
}

TEST(FileKindsTest, OnlyWholeExtensionsAreKnown) {
  EXPECT_EQ(KindOfFile("a.tar_gz"), FileKind::kContainer);
  EXPECT_EQ(KindOfFile("a.TEXTGRID"), FileKind::kManifest);
  EXPECT_EQ(KindOfFile("a.textgrid2"), FileKind::kUnknown);
  EXPECT_EQ(KindOfFile("a.jp"), FileKind::kUnknown);
  EXPECT_EQ(KindOfFile("a.jpgx"), FileKind::kUnknown);
  EXPECT_EQ(KindOfFile("THUMBS.db"), FileKind::kHidden);
  EXPECT_EQ(KindOfFile("Desktop.ini"), FileKind::kHidden);
}

}  // namespace
}  // namespace shufflefs
