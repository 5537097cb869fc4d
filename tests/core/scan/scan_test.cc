// SPDX-License-Identifier: Apache-2.0
#include "core/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::TempTree;

std::vector<std::string> AllPaths(const Catalogue& catalogue) {
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < catalogue.entry_count(); ++i) {
    paths.push_back(catalogue.path(EntryId(i)));
  }
  return paths;
}

void ExpectLikeStat(const Catalogue& catalogue, EntryId entry,
                    const std::string& path) {
  struct stat st;
  ASSERT_EQ(lstat(path.c_str(), &st), 0) << path;
  FileAttributes seen = catalogue.attributes(entry);
  EXPECT_EQ(seen.mode, st.st_mode) << path;
  EXPECT_EQ(seen.uid, st.st_uid) << path;
  EXPECT_EQ(seen.gid, st.st_gid) << path;
  EXPECT_EQ(seen.nlink, st.st_nlink) << path;
  EXPECT_EQ(seen.rdev, st.st_rdev) << path;
  EXPECT_EQ(seen.ino, st.st_ino) << path;
  EXPECT_EQ(seen.size, static_cast<uint64_t>(st.st_size)) << path;
  EXPECT_EQ(seen.blocks, static_cast<uint64_t>(st.st_blocks)) << path;
  EXPECT_EQ(seen.mtime_ns, st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec)
      << path;
  EXPECT_EQ(seen.ctime_ns, st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec)
      << path;
  EXPECT_EQ(seen.device, st.st_dev) << path;
  EXPECT_EQ(seen.inode, st.st_ino) << path;
}

TEST(ScanTest, FindsEveryKindWithItsAttributes) {
  TempTree tree;
  tree.File("b/file", "hello");
  tree.File("b/empty", "");
  tree.Dir("a");
  tree.Link("b/link", "file");
  tree.Link("dangling", "nowhere");
  tree.Fifo("pipe");
  ASSERT_EQ(link(tree.At("b/file").c_str(), tree.At("hard").c_str()), 0);
  ASSERT_EQ(chmod(tree.At("b/empty").c_str(), 0640), 0);
  Catalogue catalogue = tree.Scanned();
  EXPECT_THAT(AllPaths(catalogue),
              ElementsAre("a", "b", "dangling", "hard", "pipe", "b/empty",
                          "b/file", "b/link"));
  for (uint32_t i = 0; i < catalogue.entry_count(); ++i) {
    ExpectLikeStat(catalogue, EntryId(i), tree.At(catalogue.path(EntryId(i))));
  }
  EXPECT_EQ(catalogue.kind(*catalogue.FindPath("b/link")), EntryKind::kLink);
  EXPECT_EQ(catalogue.kind(*catalogue.FindPath("pipe")), EntryKind::kSpecial);
  EXPECT_EQ(catalogue.file_count(), 3u);
  EXPECT_EQ(catalogue.total_bytes(), 10u);
}

TEST(ScanTest, TakesFilesToBeLikeOthersOfTheirExtensionIfAsked) {
  TempTree tree;
  for (uint32_t i = 0; i < 600; ++i) {
    tree.File(absl::StrCat("d/", i, ".jpg"), std::string(100 + i, 'x'));
    if (i < 40) tree.File(absl::StrCat("d/", i, ".json"), "1234567");
  }
  tree.Link("d/link.jpg", "0.jpg");
  const Catalogue exact = tree.Scanned();
  ScanOptions options;
  options.exact_entries = 1;  // the directory itself
  const Catalogue estimated = tree.Scanned(options);
  ASSERT_EQ(AllPaths(estimated), AllPaths(exact));
  std::set<uint64_t> sizes;
  for (uint32_t i = 0; i < exact.entry_count(); ++i) {
    const EntryId entry(i);
    const FileAttributes seen = estimated.attributes(entry);
    EXPECT_EQ(estimated.kind(entry), exact.kind(entry));
    EXPECT_EQ(seen.ino, exact.attributes(entry).ino);
    if (absl::StrContains(exact.name(entry), ".json")) {
      EXPECT_EQ(seen.size, 7);
    } else if (exact.kind(entry) == EntryKind::kFile) {
      sizes.insert(seen.size);
    }
  }
  EXPECT_EQ(sizes.size(), 3 * 16);  // of 256, 256 and 88 files
  EXPECT_GE(*sizes.begin(), 100);
  options.exact_entries = 1000;
  EXPECT_EQ(tree.Scanned(options).total_bytes(), exact.total_bytes());
}

TEST(ScanTest, AnEmptySourceIsOneDirectory) {
  TempTree tree;
  Catalogue catalogue = tree.Scanned();
  EXPECT_EQ(catalogue.entry_count(), 0u);
  EXPECT_EQ(catalogue.dir_count(), 1u);
  struct stat st;
  ASSERT_EQ(stat(tree.root().c_str(), &st), 0);
  EXPECT_EQ(catalogue.dir_attributes(DirId(0)).ino, st.st_ino);
  EXPECT_EQ(catalogue.dir_attributes(DirId(0)).mode, st.st_mode);
}

TEST(ScanTest, KeepsTheOrderOfReaddir) {
  TempTree tree;
  for (int i = 0; i < 3000; ++i) tree.File(absl::StrCat("d/", i * 7919 % 3001));
  std::vector<std::string> listed;
  for (const auto& entry : std::filesystem::directory_iterator(tree.At("d"))) {
    listed.push_back(entry.path().filename());
  }
  Catalogue catalogue = tree.Scanned();
  DirId dir = *catalogue.FindDir("d");
  std::vector<std::string> seen;
  for (uint32_t k = 0; k < catalogue.dir_size(dir); ++k) {
    seen.emplace_back(catalogue.name(catalogue.in_source_order(dir, k)));
  }
  EXPECT_EQ(seen, listed);
}

// Many batches, several threads, names of all lengths that need the whole
// name to be told apart.
TEST(ScanTest, SortsByNameBytesHoweverManyThreadsThereAre) {
  TempTree tree;
  std::mt19937 random(7);
  std::set<std::string> names;
  while (names.size() < 5000) {
    std::string name = "common-prefix-";
    for (size_t n = random() % 40; n > 0; --n) {
      name += "ab\xc3\xa9"[random() % 4];
    }
    if (names.insert(name).second) tree.File("d/" + name, "");
  }
  ScanOptions one;
  one.threads = 1;
  Catalogue single = tree.Scanned(one);
  ScanOptions many;
  many.threads = 13;
  Catalogue parallel = tree.Scanned(many);
  std::vector<std::string> expected = {"d"};
  for (const std::string& name : names) expected.push_back("d/" + name);
  EXPECT_EQ(AllPaths(single), expected);
  EXPECT_EQ(AllPaths(parallel), expected);
  EXPECT_EQ(single.fingerprint(), parallel.fingerprint());
}

TEST(ScanTest, NamesWithAnyBytes) {
  TempTree tree;
  std::string longest(255, 'n');
  tree.Files({"with space", "new\nline", "\xff\xfe", "tab\t", longest});
  Catalogue catalogue = tree.Scanned();
  for (const std::string& name :
       {std::string("with space"), std::string("new\nline"),
        std::string("\xff\xfe"), std::string("tab\t"), longest}) {
    absl::optional<EntryId> entry = catalogue.Find(DirId(0), name);
    ASSERT_TRUE(entry.has_value()) << name;
    EXPECT_EQ(catalogue.name(*entry), name);
  }
}

TEST(ScanTest, DirectoriesComeInPathOrderAndSubtreesAreRanges) {
  TempTree tree;
  tree.Files({"b/z/f", "b/a/f", "a/f", "a-b/f", "c"});
  Catalogue catalogue = tree.Scanned();
  std::vector<std::string> dirs;
  for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
    dirs.push_back(catalogue.path(DirId(d)));
    EXPECT_EQ(catalogue.FindDir(dirs.back()), DirId(d));
  }
  EXPECT_THAT(dirs, ElementsAre("", "a", "a-b", "b", "b/a", "b/z"));
  DirId b = *catalogue.FindDir("b");
  EXPECT_EQ(catalogue.subtree_end(b), DirId(6));
  EXPECT_EQ(catalogue.subtree_end(DirId(0)), DirId(6));
  EXPECT_EQ(catalogue.subtree_end(*catalogue.FindDir("b/a")), DirId(5));
  EXPECT_EQ(catalogue.entries_end(b).value() - catalogue.first_entry(b).value(),
            4u);
  EXPECT_EQ(catalogue.entry_of(DirId(0)), absl::nullopt);
  EXPECT_EQ(catalogue.as_dir(*catalogue.entry_of(b)), b);
  EXPECT_EQ(catalogue.parent(*catalogue.FindDir("b/z")), b);
}

TEST(ScanTest, FindsNothingThatIsNotThere) {
  TempTree tree;
  tree.Files({"a/f", "g"});
  tree.Link("l", "a");
  Catalogue catalogue = tree.Scanned();
  for (const char* path : {"", "x", "a/x", "a/f/x", "l/f", "/a", "a/", "."}) {
    EXPECT_EQ(catalogue.FindPath(path), absl::nullopt) << path;
  }
  for (const char* path : {"g", "l", "a/f", "nope"}) {
    EXPECT_EQ(catalogue.FindDir(path), absl::nullopt) << path;
  }
}

TEST(ScanTest, FortyLevelsOfLongNames) {
  TempTree tree;
  UniqueFd at(open(tree.root().c_str(), O_RDONLY | O_DIRECTORY));
  std::string deep;
  for (int level = 0; level < 45; ++level) {
    std::string name(250, static_cast<char>('a' + level % 26));
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = UniqueFd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    deep += name + "/";
  }
  UniqueFd file(openat(at.get(), "f", O_CREAT | O_WRONLY, 0644));
  Catalogue catalogue = tree.Scanned();
  EXPECT_THAT(catalogue.unreadable(), IsEmpty());
  absl::optional<EntryId> entry = catalogue.FindPath(deep + "f");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(catalogue.path(*entry), deep + "f");
}

TEST(ScanTest, LeavesOutTheMountpoint) {
  TempTree tree;
  tree.Files({"in/mnt/f", "in/keep", "mnt"});
  ScanOptions by_path;
  by_path.skip_path = "in/mnt";
  EXPECT_THAT(AllPaths(tree.Scanned(by_path)),
              ElementsAre("in", "mnt", "in/keep"));
  struct stat st;
  ASSERT_EQ(stat(tree.At("in/mnt").c_str(), &st), 0);
  ScanOptions by_inode;
  by_inode.skip_inode = ScanOptions::Inode{st.st_dev, st.st_ino};
  EXPECT_THAT(AllPaths(tree.Scanned(by_inode)),
              ElementsAre("in", "mnt", "in/keep"));
  by_path.skip_path = "mnt";
  EXPECT_THAT(AllPaths(tree.Scanned(by_path)),
              ElementsAre("in", "in/keep", "in/mnt", "in/mnt/f"));
}

TEST(ScanTest, StopsWhenAsked) {
  TempTree tree;
  tree.File("a/f");
  std::stop_source stop;
  stop.request_stop();
  ScanOptions options;
  options.stop = stop.get_token();
  EXPECT_EQ(Scan(tree.Source(), options).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(ScanTest, SaysHowFarItIs) {
  TempTree tree;
  tree.Files({"a/f", "a/g", "h"});
  uint64_t last = 0;
  ScanOptions options;
  options.progress = [&](uint64_t entries) {
    EXPECT_GE(entries, last);
    last = entries;
  };
  EXPECT_EQ(tree.Scanned(options).entry_count(), last);
  EXPECT_EQ(last, 4u);
}

// Runs `check` as an ordinary user, who is bound by permissions.
int AsNobody(const std::function<bool()>& check) {
  pid_t child = fork();
  if (child == 0) {
    bool dropped = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
    _exit(dropped && check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(ScanTest, WhatCannotBeReadIsShownEmptyAndListed) {
  TempTree tree;
  tree.Files({"ok/f", "closed/f", "unsearchable/f", "unsearchable/g"});
  chmod(tree.root().c_str(), 0755);
  chmod(tree.At("closed").c_str(), 0000);
  chmod(tree.At("unsearchable").c_str(), 0444);
  int status = AsNobody([&] {
    absl::StatusOr<SourceDir> source = SourceDir::At(tree.root());
    absl::StatusOr<Catalogue> catalogue = Scan(*source, ScanOptions());
    return catalogue.ok() &&
           AllPaths(*catalogue) == std::vector<std::string>{"closed", "ok",
                                                            "unsearchable",
                                                            "ok/f"} &&
           catalogue->unreadable() ==
               std::vector<std::string>{"closed", "unsearchable"};
  });
  EXPECT_EQ(status, 0);
  chmod(tree.At("closed").c_str(), 0755);
  chmod(tree.At("unsearchable").c_str(), 0755);
}

// Whoever owns the directory above may exchange two directories at any time. A
// catalogue never has the rights of one with the files of another.
TEST(ScanTest, NoDirectoryHasTheRightsOfAnother) {
  TempTree tree;
  tree.File("mine/own", "");
  tree.File("victim/secret", "");
  const std::string mine = tree.At("mine");
  const std::string victim = tree.At("victim");
  ASSERT_EQ(chmod(victim.c_str(), 0700), 0);
  std::jthread swapper([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      renameat2(AT_FDCWD, mine.c_str(), AT_FDCWD, victim.c_str(),
                RENAME_EXCHANGE);
    }
  });
  ScanOptions options;
  options.serves_others = true;
  for (int round = 0; round < 200; ++round) {
    const Catalogue catalogue = tree.Scanned(options);
    for (uint32_t i = 0; i < catalogue.entry_count(); ++i) {
      const EntryId entry(i);
      if (catalogue.kind(entry) == EntryKind::kDirectory) continue;
      const bool is_open =
          (catalogue.dir_attributes(catalogue.parent(entry)).mode & 0001) != 0;
      ASSERT_EQ(is_open, catalogue.name(entry) == "own") << round;
    }
  }
}

}  // namespace
}  // namespace shufflefs
