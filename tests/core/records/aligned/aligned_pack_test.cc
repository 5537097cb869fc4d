// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_pack.h"

#include <errno.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_frame.h"
#include "core/records/aligned/aligned_manifest.h"
#include "core/source/posix_acl.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"
#include "tests/core/formats/tfrecord/tfrecord_index_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::TempTree;
using testing_support::Tfrecord;
using testing_support::Tfrecords;

using Data = std::vector<std::string>;

Data RandomData(size_t count, uint64_t most, std::mt19937_64& rng) {
  Data data(count);
  for (std::string& one : data) {
    one.resize(rng() % (rng() % 40 == 0 ? 5 * most : most));
    for (char& byte : one) byte = static_cast<char>(rng());
  }
  return data;
}

class AlignedPackTest : public ::testing::Test {
 protected:
  absl::StatusOr<AlignResult> Pack(const AlignOptions& options = {}) {
    return WriteAligned(source_.root(), out(), options);
  }
  std::string out() const { return place_.At("p"); }
  std::string Read(const std::string& name) const {
    auto bytes = ReadWholeFile(absl::StrCat(out(), "/", name), 1 << 30);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.ok() ? *bytes : "";
  }
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(out())) {
      contents[entry.path().filename()] = Read(entry.path().filename());
    }
    return contents;
  }
  AlignedManifest Manifest() const {
    auto manifest = AlignedManifest::Open(out());
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return *std::move(manifest);
  }
  // The data of the records of a padded file, in file order; what lies between
  // them is zeros.
  Data Unpack(const std::string& name) const {
    const AlignedManifest manifest = Manifest();
    const AlignedFile* const file = manifest.Find(name);
    Data data;
    if (file == nullptr) {
      ADD_FAILURE() << name << " is not in it";
      return data;
    }
    const std::string index = Read(file->idx_name());
    EXPECT_EQ(index.size(), file->idx_bytes);
    EXPECT_EQ(XXH3_64bits(index.data(), index.size()), file->idx_checksum);
    const auto spans = testing_support::SpansOf(index);
    EXPECT_TRUE(spans.has_value());
    const std::string bytes = Read(name);
    uint64_t end = 0;
    uint64_t pages = 0;
    for (const TfrecordSpan& span : *spans) {
      EXPECT_EQ(bytes.substr(end, span.offset - end),
                std::string(span.offset - end, '\0'));
      end = span.offset + span.bytes;
      pages += PagesOf(span.offset, span.bytes, manifest.page_bytes());
      const auto found =
          TfrecordData(absl::string_view(bytes).substr(span.offset, span.bytes),
                       span.offset);
      EXPECT_TRUE(found.ok()) << found.status();
      data.emplace_back(*found);
    }
    EXPECT_EQ(end, bytes.size());
    EXPECT_EQ(pages, file->padded_pages);
    return data;
  }

  TempTree source_;
  TempTree place_;
};

TEST_F(AlignedPackTest, AnyRecordsComeBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 12; ++round) {
    AlignOptions options;
    options.page_bytes = uint64_t{512} << rng() % 5;
    options.fit = round % 2 == 0 ? PageFit::kNext : PageFit::kBest;
    options.restart = true;
    Data data = RandomData(rng() % 2000, options.page_bytes, rng);
    source_.File("a.tfrecord", Tfrecords(data));
    const auto result = Pack(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->records, data.size());
    EXPECT_EQ(result->stripped_bytes, Tfrecords(data).size());
    EXPECT_LE(result->padded_pages, result->source_pages);
    Data found = Unpack("a.tfrecord");
    if (options.fit == PageFit::kBest) {
      std::sort(found.begin(), found.end());
      std::sort(data.begin(), data.end());
    }
    EXPECT_TRUE(found == data);
  }
}

TEST_F(AlignedPackTest, SizesAroundAPage) {
  for (const PageFit fit : {PageFit::kNext, PageFit::kBest}) {
    for (uint64_t bytes = 510; bytes < 515; ++bytes) {
      const Data data = {"first", std::string(bytes - 16, 'x'), "last"};
      source_.File("a.tfrecord", Tfrecords(data));
      AlignOptions options;
      options.page_bytes = 512;
      options.fit = fit;
      options.restart = true;
      ASSERT_TRUE(Pack(options).ok());
      Data found = Unpack("a.tfrecord");
      std::sort(found.begin(), found.end());
      Data expected = data;
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(found, expected);
    }
  }
}

TEST_F(AlignedPackTest, TakesTheTfrecordFilesOfADirectory) {
  source_.File("train.tfrecord-00000-of-00002", Tfrecords({"one", "two"}));
  source_.File("train.tfrecord-00001-of-00002", "");
  source_.File("train.tfrecord-00000-of-00002.idx", "0 19\n19 19\n");
  source_.File("README", "not one");
  source_.File("deeper/x.tfrecord", Tfrecord("deep"));
  const auto result = Pack();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->files, 2u);
  EXPECT_EQ(result->records, 2u);
  EXPECT_EQ(Contents().size(), 5u);
  EXPECT_EQ(Read("train.tfrecord-00000-of-00002.idx"), "0 19\n19 19\n");
  EXPECT_EQ(Read("train.tfrecord-00001-of-00002"), "");
  EXPECT_EQ(Read("train.tfrecord-00001-of-00002.idx"), "");
  EXPECT_EQ(Unpack("train.tfrecord-00000-of-00002"), (Data{"one", "two"}));
}

TEST_F(AlignedPackTest, OneFileIsEnough) {
  source_.File("any.name", Tfrecord("one"));
  const auto result =
      WriteAligned(source_.At("any.name"), source_.At("beside"), {});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto manifest = AlignedManifest::Open(source_.At("beside"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->files().size(), 1u);
  EXPECT_EQ(manifest->files()[0].name, "any.name");
}

// 40 bytes a record, pages of 512: 12 fit, and of 12.8 one lies across.
TEST_F(AlignedPackTest, CountsPages) {
  source_.File("a.tfrecord", Tfrecords(Data(64, std::string(24, 'x'))));
  AlignOptions options;
  options.page_bytes = 512;
  const auto result = Pack(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->source_pages, 64u + 4);
  EXPECT_EQ(result->padded_pages, 64u);
  EXPECT_EQ(result->padded_bytes, 5 * 512u + 4 * 40);
  EXPECT_DOUBLE_EQ(ReadAmplification(64, 512, 64 * 40), 12.8);
  EXPECT_DOUBLE_EQ(ReadAmplification(0, 512, 0), 1);
}

TEST_F(AlignedPackTest, OthersReadThePackIfAllMayReadTheSource) {
  source_.File("home/data/a.tfrecord", Tfrecord("one"));
  const std::string file = source_.At("home/data/a.tfrecord");
  const std::string home = source_.At("home");
  // The mode of what is written.
  const auto mode = [&](mode_t of_file, mode_t of_home) {
    EXPECT_EQ(chmod(file.c_str(), of_file), 0);
    EXPECT_EQ(chmod(home.c_str(), of_home), 0);
    std::filesystem::remove_all(out());
    EXPECT_TRUE(WriteAligned(source_.At("home/data"), out(), {}).ok());
    struct stat st[2] = {};
    EXPECT_EQ(stat((out() + "/a.tfrecord").c_str(), &st[0]), 0);
    EXPECT_EQ(stat((out() + "/a.tfrecord.idx").c_str(), &st[1]), 0);
    EXPECT_EQ(st[0].st_mode, st[1].st_mode);
    return st[0].st_mode & 0777;
  };
  for (const std::string& dir : {source_.root(), home, home + "/data"}) {
    ASSERT_EQ(chmod(dir.c_str(), 0755), 0);
  }
  // Where the tests run may be a private place, and nothing there is open.
  const bool is_private =
      !AllMayReach(source_.Source().fd(), OverflowIds::OfProcess());
  EXPECT_EQ(mode(0644, 0755), is_private ? 0600u : 0644u);
  EXPECT_EQ(mode(0600, 0755), 0600u);
  EXPECT_EQ(mode(0640, 0755), 0600u) << "its group may be another here";
  EXPECT_EQ(mode(0644, 0700), 0600u) << "others cannot reach it";
  EXPECT_EQ(mode(0644, 0711), is_private ? 0600u : 0644u);
}

TEST_F(AlignedPackTest, GoesOnBehindFilesThatAreFinished) {
  std::mt19937_64 rng(3);
  for (const std::string name : {"a", "b", "c"}) {
    source_.File(name + ".tfrecord", Tfrecords(RandomData(3000, 800, rng)));
  }
  ASSERT_TRUE(Pack().ok());
  const auto whole = Contents();
  std::filesystem::remove_all(out());
  std::stop_source stop;
  AlignOptions options;
  options.stop = stop.get_token();
  options.progress_every = {};
  options.progress = [&](const AlignProgress& progress) {
    EXPECT_EQ(progress.total_files, 3u);
    if (progress.files == 1) stop.request_stop();
  };
  EXPECT_EQ(Pack(options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(AlignedManifest::Open(out()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // As if the power had gone before the names were given.
  std::filesystem::rename(out() + "/a.tfrecord", out() + "/a.tfrecord.tmp");
  place_.File("p/b.tfrecord.idx.tmp", "rest of the run");
  const auto result = Pack();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->resumed_files, 1u);
  EXPECT_FALSE(result->was_complete);
  EXPECT_EQ(Contents(), whole);
  const auto again = Pack();
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->was_complete);
  EXPECT_EQ(again->read_bytes, 0u);
  EXPECT_EQ(again->records, 9000u);
}

TEST_F(AlignedPackTest, ForeignFilesAreNotTouched) {
  source_.File("a.tfrecord", Tfrecord("one"));
  source_.File("b.tfrecord", Tfrecord("two"));
  const auto refusal = [&](const std::string& name) {
    place_.File("p/" + name, "mine");
    AlignOptions options;
    options.restart = true;
    for (const auto& status : {Pack().status(), Pack(options).status()}) {
      EXPECT_EQ(status, absl::FailedPreconditionError(absl::StrCat(
                            out(), ": holds ", name,
                            ", which is not part of a page-aligned pack; give "
                            "an empty directory")));
    }
    EXPECT_EQ(Read(name), "mine");
    std::filesystem::remove(out() + "/" + name);
  };
  refusal("a.tfrecord");
  refusal("notes.txt");
  ASSERT_TRUE(Pack().ok());
  refusal("notes.txt");
  std::filesystem::rename(out() + "/aligned.manifest",
                          out() + "/aligned.manifest.part");
  refusal("c.tfrecord");
}

TEST_F(AlignedPackTest, AnotherPackIsRefused) {
  source_.File("a.tfrecord", Tfrecord("one"));
  ASSERT_TRUE(Pack().ok());
  AlignOptions best;
  best.fit = PageFit::kBest;
  best.page_bytes = 512;
  EXPECT_EQ(Pack(best).status(),
            absl::FailedPreconditionError(absl::StrCat(
                out(),
                ": holds a pack made with --fit next --page 4096, not "
                "--fit best --page 512; give an empty directory, or "
                "--restart to replace it")));
  source_.SetTime("a.tfrecord", 5);
  EXPECT_THAT(std::string(Pack().status().message()),
              HasSubstr("a.tfrecord: was changed since "));
  AlignOptions restart;
  restart.restart = true;
  ASSERT_TRUE(Pack(restart).ok());
  source_.File("b.tfrecord", Tfrecord("two"));
  EXPECT_THAT(std::string(Pack().status().message()),
              HasSubstr("holds a pack of other files"));
  ASSERT_TRUE(Pack(restart).ok());
  std::filesystem::resize_file(out() + "/b.tfrecord", 3);
  EXPECT_EQ(Pack().status().code(), absl::StatusCode::kDataLoss);
  place_.File("p/aligned.manifest", "damaged");
  EXPECT_EQ(Pack().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AlignedPackTest, DamageNamesTheFileAndItsPlace) {
  source_.File("a.tfrecord", Tfrecords({"one", "two"}) + "x");
  const absl::Status cut = Pack().status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(cut.message(),
            absl::StrCat(source_.At("a.tfrecord"),
                         ": the file ends at byte 39, inside the record at "
                         "byte 38; get a whole copy of this TFRecord file"));
  EXPECT_EQ(Contents().size(), 1u);  // the manifest of the unfinished run
  EXPECT_EQ(ErrnoOf(WriteAligned("/nowhere", out(), {}).status()), ENOENT);
  EXPECT_EQ(WriteAligned(source_.root(), source_.At("p"), {}).status(),
            absl::InvalidArgumentError(
                absl::StrCat(source_.At("p"),
                             ": lies in the source, which is "
                             "never written to; give a directory outside")));
  EXPECT_FALSE(std::filesystem::exists(source_.At("p")));
  EXPECT_EQ(WriteAligned(source_.root(), source_.root(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  source_.Dir("none");
  EXPECT_THAT(
      std::string(
          WriteAligned(source_.At("none"), out(), {}).status().message()),
      HasSubstr("there is no file named *.tfrecord* in it"));
}

}  // namespace
}  // namespace shufflefs
