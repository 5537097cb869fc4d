// SPDX-License-Identifier: Apache-2.0
// Tar archives that are not to be shuffled, and those that are damaged: each
// is refused, and the reason and the place are named.
#include "core/formats/tar/tar_scanner.h"
#include "gtest/gtest.h"
#include "tests/core/formats/scanner_fixture.h"
#include "tests/core/formats/tar/tar_fixture.h"

namespace shufflefs {
namespace {

using testing_support::Base256Field;
using testing_support::PaxRecord;
using testing_support::ScanEveryWay;
using testing_support::ScanInPieces;
using testing_support::SealTar;
using testing_support::SetField;
using testing_support::TarEnd;
using testing_support::TarExtension;
using testing_support::TarFormat;
using testing_support::TarHeaderBlock;
using testing_support::TarMember;

absl::Status ScanOf(const std::string& file) {
  return ScanEveryWay([&] { return MakeTarScanner(file.size()); }, file).status;
}

absl::Status ScanAtOnce(const std::string& file) {
  return ScanInPieces(*MakeTarScanner(file.size()), file,
                      [](size_t left) { return left; })
      .status;
}

absl::Status Refused(uint64_t at, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the member at byte ", at, ": ", why));
}

absl::Status Damaged(uint64_t at, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("the member at byte ", at, ": ", why));
}

// One member of 1024 bytes, before those that are refused.
std::string Good() { return TarMember("good.jpg", "x"); }

// What is said of a member behind it.
absl::Status After(const std::string& member) {
  return ScanOf(Good() + member + TarEnd());
}

TEST(TarHostile, MembersThatAreNotMoved) {
  const struct {
    char type;
    const char* why;
  } cases[] = {
      {'g', "a pax global header"},  {'1', "a hard link"},
      {'2', "a symbolic link"},      {'3', "a device or pipe"},
      {'4', "a device or pipe"},     {'6', "a device or pipe"},
      {'S', "a sparse member"},      {'V', "a member of type 'V'"},
      {'M', "a member of type 'M'"}, {'\x01', "a member of type '\\x01'"}};
  for (const auto& [type, why] : cases) {
    EXPECT_EQ(After(TarHeaderBlock("1.jpg", 0, type)), Refused(1024, why));
    EXPECT_EQ(ScanOf(TarHeaderBlock("1.jpg", 0, type)), Refused(0, why));
    // The place is where all that belongs to the member begins.
    EXPECT_EQ(
        After(TarExtension('L', "name") + TarHeaderBlock("1.jpg", 0, type)),
        Refused(1024, why));
  }
}

TEST(TarHostile, SparseMembersOfPax) {
  for (const char* key :
       {"GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.size"}) {
    EXPECT_EQ(
        After(TarExtension('x', PaxRecord("mtime", "1") + PaxRecord(key, "1")) +
              Good()),
        Refused(1024, "a sparse member"));
  }
}

TEST(TarHostile, KeysAndNamesThatComeAgain) {
  const std::string other = TarMember("other.jpg", "x");
  EXPECT_EQ(ScanOf(Good() + other + TarMember("good.cls", "x")),
            Refused(2048, "a key comes again"));
  // The same file, where it is unpacked.
  for (const char* name : {"./good.cls", "/good.cls", ".//./good.cls"}) {
    EXPECT_EQ(After(TarMember(name, "x")).code(),
              absl::StatusCode::kFailedPrecondition)
        << name;
  }
  EXPECT_EQ(ScanOf(TarMember("README", "1") + other + TarMember("README", "2")),
            Refused(2048, "a name comes again"));
  EXPECT_EQ(ScanOf(TarMember("d/.a", "1") + other + TarMember("d/.b", "2")),
            Refused(2048, "a key comes again"));
  // These are no repetitions.
  EXPECT_EQ(ScanOf(TarMember("d/.a", "1") + TarMember("d.jpg", "2") +
                   TarMember("d", "3") + TarMember("D.jpg", "4")),
            absl::OkStatus());
}

TEST(TarHostile, NamesThatReadersTakeDifferently) {
  EXPECT_EQ(After(TarMember("a/../1.jpg", "x")),
            Refused(1024, "a name with '..'"));
  EXPECT_EQ(After(TarMember("a/../README", "x")),
            Refused(1024, "a name with '..'"));
  EXPECT_EQ(After(TarMember("", "x")),
            Refused(1024, "a member without a name"));
  EXPECT_EQ(After(TarExtension('L', std::string("\0\0", 2)) + Good()),
            Refused(1024, "a member without a name"));
  EXPECT_EQ(After(TarExtension('x', PaxRecord("path", "")) + Good()),
            Refused(1024, "a member without a name"));
  EXPECT_EQ(After(TarMember("a\nb.jpg", "x")),
            Refused(1024, "a newline or a NUL in a name"));
  EXPECT_EQ(After(TarExtension('x', PaxRecord("path", {"a\0.jpg", 6})) +
                  TarHeaderBlock("a", 0, '0')),
            Refused(1024, "a newline or a NUL in a name"));
}

TEST(TarHostile, HeadersThatReadersTakeDifferently) {
  const char kWhy[] = "a header that programs read in different ways";
  // A directory by its name, a directory with data, a prefix that is none.
  EXPECT_EQ(After(TarMember("dir/", "")), Refused(1024, kWhy));
  EXPECT_EQ(After(TarMember("dir/", "x", TarFormat::kUstar, '5')),
            Refused(1024, kWhy));
  EXPECT_EQ(After(TarMember("dir/", "x", TarFormat::kUstar, '\0')),
            Refused(1024, kWhy));
  std::string block = TarHeaderBlock("1.jpg", 0, '0', true);
  SetField(block, 345, "14000000000");  // a time, in GNU's format
  SealTar(block);
  EXPECT_EQ(After(block), Refused(1024, kWhy));
}

TEST(TarHostile, ExtensionsOfOneMemberThatDisagree) {
  const std::string name = TarExtension('L', "name.jpg");
  const std::string path = TarExtension('x', PaxRecord("path", "other.jpg"));
  const std::string time = TarExtension('x', PaxRecord("mtime", "1"));
  const std::string block = TarHeaderBlock("1.jpg", 0, '0');
  EXPECT_EQ(After(name + name + block),
            Refused(1024, "two headers for one member"));
  EXPECT_EQ(After(time + time + block),
            Refused(1024, "two headers for one member"));
  EXPECT_EQ(After(name + path + block),
            Refused(1024, "two headers that name the same member"));
  EXPECT_EQ(After(path + name + block),
            Refused(1024, "two headers that name the same member"));
  EXPECT_EQ(After(name + time + block), absl::OkStatus());
  // What they say holds for one member only.
  EXPECT_EQ(After(name + block + block), absl::OkStatus());
}

TEST(TarHostile, ExtensionsThatMakeNoSense) {
  for (const std::string& records :
       {std::string("x"), std::string("11 path=ab"), std::string(" path=a\n"),
        std::string("99 path=a\n"), std::string("8 path=a\n"),
        std::string("11 path=a\n"), std::string("0 path=a\n"),
        std::string("+10 path=a\n"), std::string("2 \n"), std::string("3 \n"),
        std::string("8 patha\n"), PaxRecord("size", ""),
        PaxRecord("size", "-1"), PaxRecord("size", "1.5"),
        PaxRecord("size", "18446744073709551616"),
        PaxRecord("mtime", "1") + std::string(7, '\0')}) {
    EXPECT_EQ(After(TarExtension('x', records) + Good()),
              Damaged(1024, "its pax records are invalid"))
        << records;
  }
  EXPECT_EQ(After(TarExtension('L', "") + Good()),
            Damaged(1024, "a header that holds nothing"));
  EXPECT_EQ(
      After(TarExtension('x', PaxRecord("comment", std::string(1 << 20, 'c'))) +
            Good())
          .code(),
      absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(After(TarExtension('L', "name.jpg")),
            Damaged(1024, "a header of no member"));
}

TEST(TarHostile, WrongChecksums) {
  for (const size_t at : {0, 124, 150, 156, 257, 511}) {
    std::string block = TarHeaderBlock("1.jpg", 0, '0');
    block[at] = static_cast<char>(block[at] ^ 0x01);
    EXPECT_EQ(After(block), Damaged(1024, "its checksum is wrong")) << at;
  }
  EXPECT_EQ(ScanOf(Good() + std::string(512, 'x')),
            Damaged(1024, "its checksum is wrong"));
}

TEST(TarHostile, SizesThatMakeNoSense) {
  for (const std::string& field :
       {std::string(12, '\0'), std::string(12, ' '), std::string("00000000009"),
        std::string("1_0"), std::string("-1"), std::string("0x10"),
        std::string("1 1"), std::string(12, '\xFF'),
        "\x81" + std::string(11, '\0'), "\x80\x01" + std::string(10, '\0')}) {
    std::string block = TarHeaderBlock("1.jpg", 0, '0');
    SetField(block, 124, std::string(12, '\0'));
    SetField(block, 124, field);
    SealTar(block);
    EXPECT_EQ(After(block), Damaged(1024, "its size is invalid"));
  }
}

TEST(TarHostile, SizesThatRunOverTheEnd) {
  const auto over = [](uint64_t size) {
    return Damaged(
        1024, absl::StrCat(
                  size, " bytes of data, which go past the end of the file"));
  };
  EXPECT_EQ(After(TarHeaderBlock("1.jpg", 1025, '0')), over(1025));
  EXPECT_EQ(After(TarHeaderBlock("1.jpg", 077777777777, '0')),
            over(077777777777));
  EXPECT_EQ(After(TarHeaderBlock("LongLink", 1025, 'L')), over(1025));
  for (const uint64_t size :
       {~uint64_t{0}, ~uint64_t{0} - 510, uint64_t{1} << 63}) {
    std::string block = TarHeaderBlock("1.jpg", 0, '0');
    SetField(block, 124, Base256Field(size));
    SealTar(block);
    EXPECT_EQ(After(block), over(size));
    EXPECT_EQ(After(TarExtension('x', PaxRecord("size", absl::StrCat(size))) +
                    TarHeaderBlock("1.jpg", 0, '0')),
              over(size));
  }
}

TEST(TarHostile, EveryTruncationIsNamed) {
  const std::string file =
      Good() + TarMember(std::string(120, 'n') + "/1.jpg",
                         std::string(700, 'x'), TarFormat::kPax);
  for (size_t size = 1; size < file.size(); ++size) {
    // Byte by byte only near the borders of blocks, and some others.
    const bool every_way = (size + 2) % 512 < 5 || size % 16 == 0;
    const std::string part = file.substr(0, size);
    const absl::Status status = every_way ? ScanOf(part) : ScanAtOnce(part);
    if (size == 1024) {
      EXPECT_EQ(status, absl::OkStatus());  // an archive without its end
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    }
  }
  EXPECT_EQ(ScanOf(file.substr(0, 100)),
            absl::DataLossError("it ends inside the member at byte 0"));
  EXPECT_EQ(ScanOf(file.substr(0, 2100)),
            absl::DataLossError("it ends inside the member at byte 1024"));
  EXPECT_EQ(ScanOf(file.substr(0, 2048)),
            absl::DataLossError("it ends inside the member at byte 1024"));
}

TEST(TarHostile, FilesThatChangeWhileTheyAreRead) {
  const std::string file = Good() + TarMember("1.jpg", "x");
  const auto scan = [&file](uint64_t file_bytes) {
    return ScanEveryWay([&] { return MakeTarScanner(file_bytes); }, file)
        .status;
  };
  EXPECT_EQ(scan(2048), absl::OkStatus());
  EXPECT_EQ(scan(4096), absl::DataLossError("it has 2048 bytes, not its 4096"));
  EXPECT_EQ(scan(1024), absl::DataLossError("it has more than its 1024 bytes"));
  EXPECT_EQ(scan(0), absl::DataLossError("it has more than its 0 bytes"));
}

TEST(TarHostile, AMemberBehindALoneZeroBlock) {
  EXPECT_EQ(ScanOf(Good() + std::string(512, '\0') + TarMember("1.jpg", "x")),
            Refused(1536, "a member after a zero block"));
}

}  // namespace
}  // namespace shufflefs
