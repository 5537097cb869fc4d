// SPDX-License-Identifier: Apache-2.0
// Who may read what: access control lists, the values that keep files apart,
// and what is noticed when rights change.
#include "core/catalogue/access.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/catalogue/credentials.h"
#include "core/dataset/grouping.h"
#include "core/scan/staleness_check.h"
#include "core/source/file_check.h"
#include "core/source/posix_acl.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/source/acl_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::Acl;
using testing_support::AclWith;
using testing_support::kGroup;
using testing_support::kGroupObj;
using testing_support::kMask;
using testing_support::kOther;
using testing_support::kSomebody;
using testing_support::kUser;
using testing_support::kUserObj;
using testing_support::TempTree;

mode_t Within(mode_t mode, const std::string& acl,
              absl::optional<uid_t> owner = 0) {
  return ModeWithinAcl(S_IFREG | mode, owner, acl) & 07777;
}

TEST(PosixAclTest, WhoIsNamedLosesForAllOfHisClass) {
  // He may be of the group or of the others.
  EXPECT_EQ(Within(0644, AclWith(kUser, 0, 4, 4)), 0600u);
  EXPECT_EQ(Within(0664, AclWith(kUser, 4, 6, 4)), 0644u);
  EXPECT_EQ(Within(0644, AclWith(kUser, 4, 4, 4)), 0644u);
  // The owner's own entry comes before one that names him.
  EXPECT_EQ(Within(0644, AclWith(kUser, 0, 4, 4), kSomebody), 0644u);
  // An owner without an id is never named.
  EXPECT_EQ(Within(0644, AclWith(kUser, 0, 4, 4), absl::nullopt), 0600u);
}

TEST(PosixAclTest, ANamedGroupTakesFromTheOthersAlone) {
  EXPECT_EQ(Within(0644, AclWith(kGroup, 0, 4, 4)), 0640u);
}

TEST(PosixAclTest, TheMaskIsNotTheGroupsRight) {
  // setfacl -m u:somebody:r on 0600: the mode says r for the group, which has
  // nothing.
  EXPECT_EQ(Within(0640, AclWith(kUser, 4, 0, 0)), 0600u);
}

TEST(PosixAclTest, AMaskTakesFromTheGroupAndFromThoseNamed) {
  const std::string acl = Acl({{kUserObj, 6},
                               {kUser, 4, kSomebody},
                               {kGroupObj, 6},
                               {kMask, 0},
                               {kOther, 4}});
  EXPECT_EQ(Within(0604, acl), 0600u);
  const std::string plain =
      Acl({{kUserObj, 6}, {kGroupObj, 6}, {kMask, 0}, {kOther, 4}});
  EXPECT_EQ(Within(0604, plain), 0604u);
}

TEST(PosixAclTest, NothingIsEverAdded) {
  for (mode_t mode = 0; mode < 01000; ++mode) {
    for (const uint16_t tag : {kUser, kGroup}) {
      for (uint16_t bits = 0; bits < 8; ++bits) {
        const mode_t within = Within(mode, AclWith(tag, bits, 7, 7));
        EXPECT_EQ(within & ~mode, 0u);
        EXPECT_EQ(within & 7 & ~bits, 0u) << "an other who is named";
      }
    }
  }
}

TEST(PosixAclTest, WhatIsNoListLeavesTheOwnersBits) {
  const std::string acl = AclWith(kUser, 4, 4, 4);
  for (const std::string& bad :
       {std::string(), std::string("\1\0\0\0", 4), acl.substr(0, 4),
        acl.substr(0, acl.size() - 1), acl.substr(0, acl.size() - 8),
        Acl({{kUserObj, 6}, {kUserObj, 6}, {kOther, 4}}).substr(1)}) {
    EXPECT_EQ(Within(0644, bad), 0600u);
  }
}

// As /proc shows the ids of a user namespace.
TEST(OverflowIdsTest, AreThereWhereNotAllIdsAreMapped) {
  constexpr char kAll[] = "         0          0 4294967295\n";
  constexpr char kHalves[] = "0 0 2147483648\n2147483648 2147483648 2147483647";
  for (const char* map : {kAll, kHalves}) {
    EXPECT_EQ(OverflowIdIn(map, "65534\n"), absl::nullopt) << map;
  }
  for (const char* map : {"0 1000 1\n", "0 0 65536\n", "", "what?",
                          "0 0 1\n65534 165534 1\n", "0 0 4294967294\n"}) {
    EXPECT_EQ(OverflowIdIn(map, "65534\n"), 65534u) << map;
    EXPECT_EQ(OverflowIdIn(map, "12\n"), 12u) << map;
    EXPECT_EQ(OverflowIdIn(map, ""), 65534u) << map;
  }
}

TEST(OverflowIdsTest, AreThereOnAMountThatMapsIds) {
  EXPECT_TRUE(OverflowIds::OfIdmapped().uid.has_value());
  EXPECT_TRUE(OverflowIds::OfIdmapped().gid.has_value());
}

TEST(OverflowIdsTest, NobodyGetsMoreThanWhoeverItIsMayHave) {
  constexpr uint32_t kId = 65534;
  const OverflowIds none;
  const OverflowIds ids{kId, kId};
  for (mode_t mode = 0; mode < 010000; ++mode) {
    const mode_t owner = mode >> 6 & 7;
    const mode_t group = mode >> 3 & 7;
    const mode_t other = mode & 7;
    EXPECT_EQ(none.Limit(mode, kId, kId), mode);
    EXPECT_EQ(ids.Limit(mode, 1, 2), mode);
    const mode_t all = (owner & group & other) * 0111;
    for (const gid_t gid : {gid_t{2}, gid_t{kId}}) {
      EXPECT_EQ(ids.Limit(mode, kId, gid) & 0777, all);
    }
    EXPECT_EQ(ids.Limit(mode, 1, kId) & 0777,
              owner * 0100 + (group & other) * 011);
    EXPECT_EQ(ids.Limit(mode, kId, kId) & ~0777u, mode & ~0777u);
  }
}

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() { scan_.serves_others = true; }

  bool SetAcl(const std::string& path, const std::string& acl) {
    return testing_support::SetAcl(tree_.At(path), acl);
  }
  void Mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(tree_.At(path).c_str(), mode), 0);
  }
  AccessId Of(const Catalogue& catalogue, const std::string& path) {
    return catalogue.access(*catalogue.FindPath(path));
  }

  TempTree tree_;
  ScanOptions scan_;
};

TEST_F(AccessTest, FilesThatTheSameUsersMayReadAreEqual) {
  tree_.Files({"a/1", "b/2", "b/3", "c/4", "c/5"});
  Mode("", 0755);
  Mode("a/1", 0644);
  Mode("b/2", 0444);
  Mode("b/3", 0640);
  Mode("c", 0700);
  Mode("c/4", 0644);
  Mode("c/5", 0604);
  const Catalogue catalogue = tree_.Scanned(scan_);
  EXPECT_EQ(Of(catalogue, "a/1"), Of(catalogue, "b/2"));
  const std::set<AccessId> differ = {Of(catalogue, "a/1"), Of(catalogue, "b/3"),
                                     Of(catalogue, "c/4"),
                                     Of(catalogue, "c/5")};
  EXPECT_EQ(differ.size(), 4u);
  // That c is closed makes no difference where the source is.
  Mode("", 0700);
  const Catalogue closed = tree_.Scanned(scan_);
  EXPECT_EQ(Of(closed, "a/1"), Of(closed, "c/4"));
  EXPECT_FALSE(closed.access_table().value(Of(closed, "a/1")).is_open());
}

TEST_F(AccessTest, EveryDirectoryAboveCounts) {
  tree_.Files({"a/x/1", "b/x/1"});
  Mode("", 0755);
  Mode("a", 0750);
  Catalogue catalogue = tree_.Scanned(scan_);
  EXPECT_NE(Of(catalogue, "a/x/1"), Of(catalogue, "b/x/1"));
  EXPECT_TRUE(catalogue.access_table().value(Of(catalogue, "b/x/1")).is_open());
  Mode("b", 0750);
  catalogue = tree_.Scanned(scan_);
  EXPECT_EQ(Of(catalogue, "a/x/1"), Of(catalogue, "b/x/1"));
}

TEST_F(AccessTest, OneUserAloneReadsWhatHeCan) {
  tree_.Files({"a/1", "a/2"});
  Mode("a/2", 0600);
  const Catalogue catalogue = tree_.Scanned();
  EXPECT_EQ(Of(catalogue, "a/1"), Of(catalogue, "a/2"));
}

TEST(AccessRuleTest, WhatMakesNoDifferenceIsLeftOut) {
  CatalogueTables::AttributeClass one;
  one.mode = S_IFREG | 0644;
  one.uid = 1;
  one.gid = 2;
  CatalogueTables::AttributeClass other = one;
  other.uid = 3;
  other.gid = 4;
  EXPECT_EQ(AccessRule::Of(one, 4), AccessRule::Of(other, 4));
  one.mode = other.mode = S_IFREG | 0600;
  EXPECT_NE(AccessRule::Of(one, 4), AccessRule::Of(other, 4));
  other.uid = one.uid;
  EXPECT_EQ(AccessRule::Of(one, 4), AccessRule::Of(other, 4));
  one.mode = other.mode = S_IFREG | 0640;
  EXPECT_NE(AccessRule::Of(one, 4), AccessRule::Of(other, 4));
  EXPECT_EQ(AccessRule::Of(one, 1), AccessRule::Of(other, 1));
}

TEST_F(AccessTest, GroupsAreOfOneAccess) {
  Mode("", 0755);
  tree_.Files({"a/1.jpg", "a/2.jpg", "b/3.jpg", "b/4.jpg", "b/5.jpg"});
  Mode("b", 0700);
  GroupingOptions options;
  options.substitute = Substitute::kTree;
  const Catalogue open = tree_.Scanned();
  EXPECT_EQ(Grouping::Make(open, options)->group_count(), 1u);
  const Catalogue catalogue = tree_.Scanned(scan_);
  const Grouping grouping = *Grouping::Make(catalogue, options);
  ASSERT_EQ(grouping.group_count(), 2u);
  EXPECT_EQ(grouping.group(GroupId(0)).samples, 2u);
  EXPECT_EQ(grouping.group(GroupId(1)).samples, 3u);
  EXPECT_NE(grouping.group(GroupId(0)).key, grouping.group(GroupId(1)).key);
  // What everybody may read is shuffled as ever.
  EXPECT_EQ(grouping.group(GroupId(0)).key,
            Grouping::Make(open, options)->group(GroupId(0)).key);
  EXPECT_NE(open.samples_fingerprint(), catalogue.samples_fingerprint());
  EXPECT_EQ(open.fingerprint(), catalogue.fingerprint());
}

TEST_F(AccessTest, APairIsOfTheAccessOfBothItsFiles) {
  Mode("", 0755);
  tree_.Files({"a/1.jpg", "a/1.json", "a/2.jpg", "a/2.json"});
  Mode("a/2.json", 0600);
  GroupingOptions options;
  options.substitute = Substitute::kDirectory;
  EXPECT_EQ(Grouping::Make(tree_.Scanned(scan_), options)->group_count(), 2u);
}

TEST_F(AccessTest, TheScanShowsModesWithinTheLists) {
  tree_.Files({"a/1", "a/2", "b/3"});
  ASSERT_TRUE(SetAcl("a/1", AclWith(kUser, 0, 4, 4)));
  ASSERT_TRUE(SetAcl("b", AclWith(kUser, 0, 5, 5)));
  const Catalogue catalogue = tree_.Scanned(scan_);
  const auto mode = [&](const char* path) {
    return catalogue.attributes(*catalogue.FindPath(path)).mode & 0777;
  };
  EXPECT_EQ(mode("a/1"), 0600u);
  EXPECT_EQ(mode("a/2"), 0644u);
  EXPECT_EQ(mode("b"), 0600u);
  // Who serves himself is served by the source's own rules.
  EXPECT_EQ(tree_.Scanned().attributes(*catalogue.FindPath("a/1")).mode & 0777,
            0644u);
}

bool WriteMap(const char* path, const std::string& text) {
  const UniqueFd fd(open(path, O_WRONLY));
  return fd.valid() && write(fd.get(), text.data(), text.size()) ==
                           static_cast<ssize_t>(text.size());
}

// This process maps its own user and group alone, and so nobody else has an id.
bool EnterUserNamespace() {
  const std::string uid = absl::StrCat("0 ", geteuid(), " 1");
  const std::string gid = absl::StrCat("0 ", getegid(), " 1");
  return unshare(CLONE_NEWUSER) == 0 &&
         WriteMap("/proc/self/setgroups", "deny") &&
         WriteMap("/proc/self/uid_map", uid) &&
         WriteMap("/proc/self/gid_map", gid);
}

// What a process in a user namespace prints.
template <typename Print>
std::string InUserNamespace(const Print& print) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = EnterUserNamespace() ? print() : "";
    _exit(write(ends[1], text.data(), text.size()) < 0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = read(ends[0], text.data(), text.size());
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

// All of them appear as one user, and may be anybody.
TEST_F(AccessTest, WhoHasNoIdIsNotTakenForTheUserOfItsName) {
  struct Case {
    const char* path;
    uid_t uid;
    gid_t gid;
    mode_t mode;
    mode_t shown;
  };
  constexpr uid_t kMe = 0;
  const std::vector<Case> cases = {
      {"a/1", kMe, kMe, 0640, 0640},   {"a/2", 1000, kMe, 0640, 0},
      {"a/3", 1000, 1000, 0644, 0444}, {"a/4", kMe, 1000, 0640, 0600},
      {"a/5", kMe, 1000, 0646, 0644},  {"a/6", 1000, kMe, 0604, 0},
      {"a/7", 1000, 1000, 0600, 0},    {"b", 1000, kMe, 0751, 0111},
      {"", kMe, 1000, 0751, 0711}};
  tree_.Dir("b");
  for (const Case& each : cases) {
    if (each.path[0] == 'a') tree_.File(each.path);
    if (chown(tree_.At(each.path).c_str(), each.uid, each.gid) != 0) {
      return;  // only root can give files away
    }
    Mode(each.path, each.mode);
  }
  std::string expected;
  for (const Case& each : cases) {
    absl::StrAppend(&expected, each.path, " ", each.shown, " ", each.shown,
                    "\n");
  }
  const std::string found = InUserNamespace([&] {
    const SourceDir source = tree_.Source();
    const absl::StatusOr<Catalogue> catalogue = Scan(source, scan_);
    std::string text;
    for (const Case& each : cases) {
      const std::string path = each.path;
      const FileAttributes scanned =
          path.empty() ? catalogue->dir_attributes(DirId(0))
                       : catalogue->attributes(*catalogue->FindPath(path));
      const auto now = ReadRights(source, path, {.list = true});
      absl::StrAppend(&text, path, " ", scanned.mode & 0777, " ",
                      now->mode & 0777, "\n");
    }
    return text;
  });
  if (found.empty()) return;  // no user namespaces here
  EXPECT_EQ(found, expected);
}

// What is asked of a file before its bytes are given.
class FileCheckTest : public AccessTest {
 protected:
  FileCheckTest() { tree_.File("f", "bytes"); }
  absl::optional<int> Check() {
    const UniqueFd fd(open(tree_.At("f").c_str(), O_RDONLY));
    EXPECT_TRUE(fd.valid());
    return ErrnoOf(CheckUnchanged(fd.get(), known_));
  }
  void Know(const ScanOptions& scan) {
    const Catalogue catalogue = tree_.Scanned(scan);
    known_ = catalogue.attributes(*catalogue.FindPath("f"));
  }
  FileAttributes known_;
};

TEST_F(FileCheckTest, AReadPermissionThatWasLostIsRefused) {
  for (const mode_t lost : {0400, 0040, 0004}) {
    Mode("f", 0644);
    Know({});
    EXPECT_EQ(Check(), absl::nullopt);
    Mode("f", 0644 & ~lost);
    if (geteuid() != 0 && lost == 0400) continue;  // not even we can open it
    EXPECT_EQ(Check(), EACCES) << lost;
  }
  Mode("f", 0600);
  Know({});
  Mode("f", 0644);
  EXPECT_EQ(Check(), absl::nullopt) << "more is no harm";
}

TEST_F(FileCheckTest, AListThatTakesReadingIsRefusedWhereOthersAreServed) {
  Mode("f", 0644);
  Know(scan_);
  const FileAttributes own = tree_.Scanned().attributes(EntryId(0));
  EXPECT_EQ(Check(), absl::nullopt);
  ASSERT_TRUE(SetAcl("f", AclWith(kUser, 0, 4, 4)));
  EXPECT_EQ(Check(), EACCES);
  known_ = own;  // of whom it takes nothing; the file is another one though
  EXPECT_EQ(Check(), ESTALE);
}

class RightsStalenessTest : public AccessTest {
 protected:
  RightsStalenessTest() {
    tree_.Files({"a/1", "a/2"});
    tree_.SetTime("a", 1000);
    tree_.SetTime("", 1000);
    staleness_.serves_others = true;
  }
  std::string Staleness(const Catalogue& catalogue) {
    return FindStaleness(tree_.Source(), catalogue, staleness_).value_or("");
  }
  StalenessOptions staleness_;
};

TEST_F(RightsStalenessTest, ASavedCatalogueNoticesRightsThatChanged) {
  const Catalogue catalogue = tree_.Scanned(scan_);
  EXPECT_EQ(Staleness(catalogue), "");
  Mode("a/2", 0600);
  EXPECT_THAT(Staleness(catalogue), HasSubstr("a/2"));
  EXPECT_THAT(*FindChangedRights(tree_.Source(), catalogue, {}),
              HasSubstr("a/2"));
  Mode("a/2", 0644);
  EXPECT_EQ(FindChangedRights(tree_.Source(), catalogue, {}), absl::nullopt);
  ASSERT_TRUE(SetAcl("a/2", AclWith(kUser, 0, 4, 4)));
  EXPECT_THAT(Staleness(catalogue), HasSubstr("a/2"));
}

TEST_F(RightsStalenessTest, ADirectorysListCounts) {
  const Catalogue catalogue = tree_.Scanned(scan_);
  const std::string acl = AclWith(kUser, 0, 5, 5);
  ASSERT_TRUE(SetAcl("a", acl));
  EXPECT_THAT(Staleness(catalogue), HasSubstr("a was modified since"));
}

TEST_F(RightsStalenessTest, ACatalogueIsForThoseItWasMadeFor) {
  EXPECT_THAT(Staleness(tree_.Scanned()), HasSubstr("other users"));
  const Catalogue catalogue = tree_.Scanned(scan_);
  staleness_.reader.uid = 12345;
  staleness_.reader.gid = 12345;
  staleness_.reader.groups.clear();
  staleness_.reader.reads_all = false;
  EXPECT_EQ(Staleness(catalogue), "") << "all is 0644";
  Mode("a/2", 0600);
  const Catalogue closed = tree_.Scanned(scan_);
  EXPECT_THAT(Staleness(closed), HasSubstr("other files"));
}

}  // namespace
}  // namespace shufflefs
