// SPDX-License-Identifier: Apache-2.0
// Packs that are opened: every file is found where it lies, and what is no
// pack of the dataset is refused by name.
#include "core/staging/pack/pack_index.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>

#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/staging/pack/pack_chunks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"

namespace shufflefs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::PackedTree;
using testing_support::Slurp;
using testing_support::Spill;
using testing_support::TempTree;

absl::StatusOr<std::shared_ptr<const PackIndex>> OpenAt(
    const std::string& path, const PackedTree& packed) {
  absl::StatusOr<SourceDir> dir = SourceDir::At(path);
  EXPECT_TRUE(dir.ok()) << dir.status();
  return PackIndex::Open(*dir, packed.catalogue);
}

absl::Status OpenStatus(const PackedTree& packed) {
  return OpenAt(packed.dest(), packed).status();
}

// The manifest after `change`, with a checksum that fits.
void Forge(const PackedTree& packed,
           const std::function<void(PackManifest&)>& change) {
  const std::string path = packed.dest() + "/manifest";
  absl::StatusOr<PackManifest> manifest = ParseManifest(Slurp(path));
  ASSERT_TRUE(manifest.ok());
  change(*manifest);
  Spill(path, SerializeManifest(*manifest));
}

// Who writes there decides what others read.
TEST(OpenPackDir, ADirectoryThatOthersCanHaveFilledIsRefused) {
  TempTree source;
  TempTree place;
  const std::string path = place.At("pack");
  const SourceDir of = *SourceDir::At(source.At(""));
  const auto opened = [&] { return OpenPackDir(path, path, of).status(); };
  fs::create_directory(path);
  for (const mode_t mode : {0755, 0700, 0555}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(opened().ok()) << opened();
  }
  for (const mode_t mode : {0775, 0757, 01777}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(ErrnoOf(opened()), EPERM);
    EXPECT_THAT(opened().message(), HasSubstr(path + ": others may write"));
  }
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  if (geteuid() != 0) return;  // only root can give files away
  constexpr uid_t kStranger = 54321;
  ASSERT_EQ(chown(path.c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(ErrnoOf(opened()), EPERM);
  EXPECT_THAT(opened().message(), HasSubstr("belongs to user 54321"));
  ASSERT_EQ(chown(source.At("").c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(opened().ok()) << "who owns the source decides all the same";
}

TEST(PackIndex, EveryFileIsFoundWhereItLies) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    PackedTree packed(rng, 40, 1 + rng.Bounded(12));
    ASSERT_TRUE(packed.Pack().ok());
    const auto index = OpenAt(packed.dest(), packed);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->file_count(), 40u);
    EXPECT_EQ((*index)->bytes(), packed.catalogue->total_bytes());
    ASSERT_EQ((*index)->chunk_count(), packed.composition.chunks.size());
    for (uint32_t c = 0; c < (*index)->chunk_count(); ++c) {
      EXPECT_THAT((*index)->files(c),
                  ::testing::ElementsAreArray(packed.composition.chunks[c]));
      const std::string bytes = Slurp(packed.dest() + "/" + PackChunkName(c));
      EXPECT_EQ((*index)->chunk_attributes(c).size, bytes.size());
      for (EntryId file : packed.composition.chunks[c]) {
        const auto place = (*index)->Find(file);
        ASSERT_TRUE(place.has_value());
        EXPECT_EQ(place->chunk, c);
        EXPECT_EQ(bytes.substr(place->offset, place->length),
                  Slurp(packed.tree.At(packed.catalogue->path(file))));
        EXPECT_EQ(place->checks.size(), PackChecksOf(place->length));
      }
    }
    for (uint32_t e = 0; e < packed.catalogue->entry_count(); ++e) {
      if (packed.catalogue->kind(EntryId(e)) == EntryKind::kFile) continue;
      EXPECT_EQ((*index)->Find(EntryId(e)), absl::nullopt);
    }
    EXPECT_EQ((*index)->Find(EntryId(packed.catalogue->entry_count())),
              absl::nullopt);
  }
}

TEST(PackIndex, WhereThereIsNoPack) {
  Rng rng{RandomKey(1)};
  PackedTree packed(rng, 10, 4);
  EXPECT_EQ(OpenAt(packed.place.root(), packed).status(),
            absl::FailedPreconditionError(
                packed.place.root() +
                ": holds no pack; make one by shufflectl pack"));
  ASSERT_TRUE(packed.Pack().ok());
  fs::rename(packed.dest() + "/manifest", packed.dest() + "/manifest.part");
  EXPECT_EQ(OpenStatus(packed),
            absl::FailedPreconditionError(
                packed.dest() +
                ": the pack is not finished; run shufflectl pack again, which "
                "goes on with it"));
}

TEST(PackIndex, ThePackOfAnotherStateIsRefusedWithBothNamed) {
  Rng rng{RandomKey(2)};
  PackedTree packed(rng, 10, 4);
  ASSERT_TRUE(packed.Pack().ok());
  const uint64_t then = packed.catalogue->fingerprint();
  packed.tree.File("c1/new", "x");
  packed.catalogue = std::make_shared<const Catalogue>(packed.tree.Scanned());
  const uint64_t now = packed.catalogue->fingerprint();
  ASSERT_NE(then, now);
  EXPECT_EQ(OpenStatus(packed),
            absl::FailedPreconditionError(absl::StrFormat(
                "%s: is the pack of another dataset or of another state of it "
                "(fingerprint %016x, the source has %016x); pack again",
                packed.dest(), then, now)));
}

TEST(PackIndex, ADamagedManifestIsRefused) {
  Rng rng{RandomKey(3)};
  PackedTree packed(rng, 10, 4);
  ASSERT_TRUE(packed.Pack().ok());
  const std::string path = packed.dest() + "/manifest";
  const std::string good = Slurp(path);
  Spill(path, good.substr(0, good.size() - 9));
  EXPECT_EQ(OpenStatus(packed),
            absl::DataLossError(
                path + ": cut off, or not as long as its header says"));
  for (int i = 0; i < 200; ++i) {
    const uint64_t at = rng.Bounded(good.size());
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ (1 << rng.Bounded(8)));
    Spill(path, changed);
    EXPECT_THAT(std::string(OpenStatus(packed).message()), HasSubstr(path))
        << "seed 3, byte " << at;
  }
  fs::resize_file(path, uint64_t{1} << 40);  // of holes
  const absl::Status huge = OpenStatus(packed);
  EXPECT_EQ(huge.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(huge.message()), HasSubstr(path));
}

TEST(PackIndex, AManifestThatLiesAboutTheSourceIsRefused) {
  Rng rng{RandomKey(4)};
  PackedTree packed(rng, 10, 4);
  ASSERT_TRUE(packed.Pack().ok());
  const std::string path = packed.dest() + "/manifest";
  const std::string good = Slurp(path);
  std::string first;
  std::string second;
  const auto expect_refused = [&](const std::string& named) {
    EXPECT_EQ(OpenStatus(packed),
              absl::DataLossError(path + ": has " + named +
                                  ", which is not this file of the source"));
    Spill(path, good);
  };
  Forge(packed, [&](PackManifest& m) {  // a file twice
    first = std::string(m.path(m.files[0]));
    second = std::string(m.path(m.files[1]));
    m.files[1].length = m.files[0].length;
    std::string paths = first + '\0' + first + '\0';
    m.paths.replace(0, first.size() + second.size() + 2, paths);
    m.chunks[0].bytes = 0;
    m.checks.clear();
    for (uint32_t i = 0; i < 4; ++i) {
      m.files[i].offset = m.chunks[0].bytes;
      m.chunks[0].bytes += m.files[i].length;
    }
    for (const auto& file : m.files) {
      m.checks.resize(m.checks.size() + PackChecksOf(file.length));
    }
  });
  expect_refused(first);
  Forge(packed, [&](PackManifest& m) {  // one that is not there
    m.paths[0] = 'Z';
    first[0] = 'Z';
  });
  expect_refused(first);
  Forge(packed, [&](PackManifest& m) {  // a directory
    const size_t cut = m.paths.find('/');
    first = std::string(m.path(m.files[0]).substr(0, cut));
    m.paths.erase(cut, m.path(m.files[0]).size() - cut);
  });
  first[0] = 'c';
  expect_refused(first);
}

TEST(PackIndex, AChunkThatIsGoneOrOfAnotherSizeIsNamed) {
  Rng rng{RandomKey(5)};
  PackedTree packed(rng, 12, 4);
  ASSERT_TRUE(packed.Pack().ok());
  const std::string chunk = packed.dest() + "/chunk-000001.pack";
  const uint64_t size = fs::file_size(chunk);
  const absl::Status wrong = absl::DataLossError(
      absl::StrCat(chunk, ": is not the file of ", size,
                   " bytes that the manifest says; pack again"));
  fs::resize_file(chunk, size - 1);
  EXPECT_EQ(OpenStatus(packed), wrong);
  fs::remove(chunk);
  EXPECT_EQ(ErrnoOf(OpenStatus(packed)), ENOENT);
  EXPECT_THAT(std::string(OpenStatus(packed).message()),
              HasSubstr(packed.dest() + ": chunk-000001.pack"));
  packed.place.Link("pack/chunk-000001.pack", "chunk-000000.pack");
  EXPECT_EQ(OpenStatus(packed), wrong);
  fs::remove(chunk);
  fs::create_directory(chunk);
  EXPECT_EQ(OpenStatus(packed), wrong);
}

}  // namespace
}  // namespace shufflefs
