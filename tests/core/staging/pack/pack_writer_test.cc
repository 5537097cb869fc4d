// SPDX-License-Identifier: Apache-2.0
// Packs of random trees: their bytes, what is refused, and that a run that was
// ended anywhere is gone on with.
#include "core/staging/pack/pack_writer.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/staging/pack/pack_journal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"
#include "tests/testing/effort.h"

namespace shufflefs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Contents;
using testing_support::PackedTree;
using testing_support::Slurp;
using testing_support::Spill;

constexpr uint64_t kSmallMemory = uint64_t{1} << 20;

// The pack in `dest` by reading it as anybody might: the manifest and bytes.
void ExpectPackOf(const PackedTree& packed) {
  const absl::StatusOr<PackManifest> manifest =
      ParseManifest(Slurp(packed.dest() + "/manifest"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->fingerprint, packed.catalogue->fingerprint());
  std::map<std::string, int> seen;
  for (uint32_t c = 0; c < manifest->chunks.size(); ++c) {
    const PackManifest::Chunk& chunk = manifest->chunks[c];
    const std::string bytes = Slurp(packed.dest() + "/" + PackChunkName(c));
    ASSERT_EQ(bytes.size(), chunk.bytes);
    ASSERT_EQ(chunk.file_count, packed.composition.chunks[c].size());
    for (uint32_t i = 0; i < chunk.file_count; ++i) {
      const PackManifest::File& file = manifest->files[chunk.first_file + i];
      const std::string path(manifest->path(file));
      ++seen[path];
      ASSERT_EQ(path, packed.catalogue->path(packed.composition.chunks[c][i]));
      const std::string content = bytes.substr(file.offset, file.length);
      ASSERT_EQ(content, Slurp(packed.tree.At(path))) << path;
      for (size_t k = 0; k < PackChecksOf(file.length); ++k) {
        ASSERT_EQ(manifest->checks.at(file.first_check + k),
                  PackCheck(absl::string_view(content).substr(
                      k * kPackCheckBytes, kPackCheckBytes)));
      }
    }
  }
  EXPECT_EQ(seen.size(), packed.catalogue->file_count());
  // Nothing else is there.
  EXPECT_EQ(Contents(packed.dest()).size(), manifest->chunks.size() + 1);
}

TEST(PackWriter, RandomTreesArePackedByteForByte) {
  for (int seed = 0; seed < testing_support::Rounds(6, 2); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(static_cast<uint64_t>(seed))};
    PackedTree packed(rng, 1 + static_cast<int>(rng.Bounded(60)),
                      1 + rng.Bounded(20));
    PackOptions options;
    options.memory_bytes = kSmallMemory + rng.Bounded(2) * (kSmallMemory << 3);
    options.threads = static_cast<int>(rng.Bounded(4));
    PackProgress last;
    options.progress = [&last](const PackProgress& now) { last = now; };
    const absl::StatusOr<PackResult> result = packed.Pack(options);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectPackOf(packed);
    EXPECT_EQ(result->files, packed.catalogue->file_count());
    EXPECT_EQ(result->bytes, packed.catalogue->total_bytes());
    EXPECT_EQ(result->written_bytes, result->bytes);
    EXPECT_EQ(result->chunks, packed.composition.chunks.size());
    EXPECT_EQ(result->resumed_chunks, 0u);
    EXPECT_GE(result->disk_bytes, result->bytes);
    EXPECT_EQ(last.written, result->bytes);
    EXPECT_EQ(last.read, result->bytes);
    EXPECT_EQ(last.files, result->files);
    if (HasFatalFailure()) return;
  }
}

TEST(PackWriter, APackThatIsThereIsLeftAlone) {
  Rng rng{RandomKey(1)};
  PackedTree packed(rng, 20, 8);
  ASSERT_TRUE(packed.Pack().ok());
  const auto before = Contents(packed.dest());
  const fs::file_time_type time =
      fs::last_write_time(packed.dest() + "/manifest");
  // As if the first run had ended between its last two steps.
  Spill(packed.dest() + "/manifest.part", "anything");
  const absl::StatusOr<PackResult> again = packed.Pack();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->was_complete);
  EXPECT_EQ(again->written_bytes, 0u);
  EXPECT_EQ(Contents(packed.dest()), before);
  EXPECT_EQ(fs::last_write_time(packed.dest() + "/manifest"), time);
}

// Kills a run in a process of its own, wherever it is after that time.
void KillARun(const PackedTree& packed, const PackOptions& options,
              uint64_t after_us) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const absl::StatusOr<PackResult> result = packed.Pack(options);
    _exit(result.ok() ? 0 : 1);
  }
  usleep(static_cast<useconds_t>(after_us));
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PackWriter, ARunThatWasKilledAnywhereIsGoneOnWith) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    PackedTree packed(rng, 40, 4);
    PackOptions options;
    options.memory_bytes = kSmallMemory;
    options.threads = 2;
    for (uint64_t kills = 1 + rng.Bounded(4); kills > 0; --kills) {
      KillARun(packed, options, rng.Bounded(30000));
    }
    const absl::StatusOr<PackResult> result = packed.Pack(options);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectPackOf(packed);
    if (HasFatalFailure()) return;
    // Byte for byte what a run in one go gives.
    const auto resumed = Contents(packed.dest());
    fs::remove_all(packed.dest());
    ASSERT_TRUE(packed.Pack(options).ok());
    EXPECT_EQ(resumed, Contents(packed.dest()));
  }
}

// Every state that a crash can leave: some chunks recorded, some under their
// name but not recorded, one half written, the record torn.
TEST(PackWriter, GoesOnBehindWhatWasRecorded) {
  Rng rng{RandomKey(3)};
  PackedTree packed(rng, 80, 4);
  std::stop_source stop;
  PackOptions options;
  options.memory_bytes = kSmallMemory;
  options.stop = stop.get_token();
  options.progress_every = {};
  options.progress = [&](const PackProgress& now) {
    if (now.written > packed.catalogue->total_bytes() / 4 * 3)
      stop.request_stop();
  };
  absl::StatusOr<PackResult> ended = packed.Pack(options);
  ASSERT_EQ(ended.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(fs::exists(packed.dest() + "/manifest"));
  std::string part = Slurp(packed.dest() + "/manifest.part");
  const size_t recorded = ParseJournal(part)->finished.size();
  ASSERT_GT(recorded, 0u);
  ASSERT_LT(recorded, packed.composition.chunks.size());
  size_t finished = 0;
  for (const auto& [name, bytes] : Contents(packed.dest())) {
    finished += ParsePackChunkName(name).has_value() ? 1 : 0;
  }
  EXPECT_EQ(recorded, finished);
  Spill(packed.dest() + "/manifest.part", part + "torn record");
  Spill(packed.dest() + "/chunk-000019.pack", "not recorded");
  Spill(packed.dest() + "/chunk-000019.pack.tmp", "half");
  const uint32_t first = ParseJournal(part)->finished[0].chunk;
  fs::remove(packed.dest() + "/" + PackChunkName(first));
  const absl::StatusOr<PackResult> result = packed.Pack();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->resumed_chunks, recorded - 1);
  ExpectPackOf(packed);
}

void ExpectForTheOwnerOnly(const PackedTree& packed) {
  for (const auto& entry : fs::directory_iterator(packed.dest())) {
    EXPECT_EQ(entry.status().permissions() & fs::perms(0077), fs::perms::none)
        << entry.path();
  }
}

void OpenToAll(const PackedTree& packed) {
  for (const auto& entry : fs::directory_iterator(packed.dest())) {
    fs::permissions(entry.path(), fs::perms(0644));
  }
}

TEST(PackWriter, WhatIsClosedBetweenRunsIsClosedInThePack) {
  Rng rng{RandomKey(6)};
  PackedTree packed(rng, 80, 4);
  fs::permissions(packed.tree.At(""), fs::perms(0700));
  std::stop_source stop;
  PackOptions options;
  options.memory_bytes = kSmallMemory;
  options.stop = stop.get_token();
  options.progress_every = {};
  options.progress = [&](const PackProgress& now) {
    if (now.written > packed.catalogue->total_bytes() / 2) stop.request_stop();
  };
  ASSERT_FALSE(packed.Pack(options).ok());
  // As if everything had been open then.
  OpenToAll(packed);
  ASSERT_TRUE(packed.Pack().ok());
  ExpectForTheOwnerOnly(packed);
  OpenToAll(packed);
  const absl::StatusOr<PackResult> again = packed.Pack();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->was_complete);
  ExpectForTheOwnerOnly(packed);
}

TEST(PackWriter, OtherPacksAreRefusedAndReplacedOnlyWhenAsked) {
  Rng rng{RandomKey(4)};
  PackedTree packed(rng, 30, 8);
  ASSERT_TRUE(packed.Pack().ok());
  const auto before = Contents(packed.dest());
  PackedTree other(rng, 10, 8);
  const auto pack_other = [&](const PackOptions& options) {
    return WritePack(other.tree.Source(), *other.catalogue, other.composition,
                     packed.dest(), options);
  };
  const absl::Status refused = pack_other({}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            absl::StrFormat(
                "%s: holds a pack of another dataset or of another state of it "
                "(fingerprint %016x, the source has %016x); give an empty "
                "directory, or --restart to replace it",
                packed.dest(), packed.catalogue->fingerprint(),
                other.catalogue->fingerprint()));
  EXPECT_EQ(Contents(packed.dest()), before);
  PackOptions restart;
  restart.restart = true;
  ASSERT_TRUE(pack_other(restart).ok());
  EXPECT_EQ(Contents(packed.dest()).size(),
            other.composition.chunks.size() + 1);
  // Packing the first again, into the same place, is refused the other way.
  EXPECT_EQ(packed.Pack().status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A part that cannot be removed stands for the moment at which it is killed.
TEST(PackWriter, ARestartThatWasInterruptedIsGoneOnWith) {
  Rng rng{RandomKey(14)};
  PackedTree packed(rng, 30, 8);
  ASSERT_TRUE(packed.Pack().ok());
  PackedTree other(rng, 10, 8);
  const auto pack_other = [&](bool restart) {
    PackOptions options;
    options.restart = restart;
    return WritePack(other.tree.Source(), *other.catalogue, other.composition,
                     packed.dest(), options)
        .status();
  };
  const std::string chunk = packed.dest() + "/chunk-000001.pack";
  for (const bool restart : {true, false}) {
    ASSERT_TRUE(packed.Pack({.restart = true}).ok());
    fs::remove(chunk);
    fs::create_directory(chunk);
    EXPECT_EQ(ErrnoOf(pack_other(true)), EISDIR);
    EXPECT_FALSE(fs::exists(packed.dest() + "/manifest"));
    fs::remove(chunk);
    Spill(packed.dest() + "/chunk-000099.pack", "of the old one");
    EXPECT_EQ(pack_other(restart), absl::OkStatus());
    EXPECT_EQ(Contents(packed.dest()).size(),
              other.composition.chunks.size() + 1);
  }
}

TEST(PackWriter, OtherOptionsAreNamed) {
  Rng rng{RandomKey(5)};
  PackedTree packed(rng, 30, 8);
  ASSERT_TRUE(packed.Pack().ok());
  packed.composition =
      testing_support::RandomComposition(rng, *packed.catalogue, 5);
  const std::string way_out =
      "; give an empty directory, or --restart to replace it";
  EXPECT_EQ(packed.Pack().status(),
            absl::FailedPreconditionError(
                packed.dest() +
                ": holds a pack made with --chunk 8 --seed 7, "
                "not --chunk 5 --seed 7" +
                way_out));
  packed.composition.chunk_size = 8;
  EXPECT_EQ(packed.Pack().status(),
            absl::FailedPreconditionError(
                packed.dest() +
                ": holds a pack made with --chunk 8 --seed 7 of other files" +
                way_out));
}

TEST(PackWriter, NothingThatIsNoPackIsTouched) {
  Rng rng{RandomKey(6)};
  PackedTree packed(rng, 5, 8);
  PackOptions restart;
  restart.restart = true;
  struct Case {
    const char* name;
    const char* message;
  };
  const Case cases[] = {
      {"notes.txt", "holds notes.txt, which is not part of a pack"},
      {"chunk-7.pack", "holds chunk-7.pack, which is not part of a pack"},
      {"chunk-000007.pack", "holds chunk-000007.pack but no manifest"},
      {"manifest", "manifest: not the manifest of a pack"},
      {"manifest.part", "manifest.part: not the record of a pack"},
  };
  for (const Case& there : cases) {
    fs::remove_all(packed.dest());
    fs::create_directory(packed.dest());
    Spill(packed.dest() + "/" + there.name, "mine");
    for (const PackOptions& options : {PackOptions(), restart}) {
      const absl::Status status = packed.Pack(options).status();
      EXPECT_THAT(std::string(status.message()), HasSubstr(there.message));
    }
    EXPECT_EQ(Contents(packed.dest()),
              (std::map<std::string, std::string>{{there.name, "mine"}}));
  }
  // A directory that mkfs made does not count.
  fs::remove_all(packed.dest());
  fs::create_directories(packed.dest() + "/lost+found");
  EXPECT_TRUE(packed.Pack().ok());
}

TEST(PackWriter, ADamagedPackIsMadeAnewOnlyWhenAsked) {
  Rng rng{RandomKey(7)};
  PackedTree packed(rng, 20, 8);
  ASSERT_TRUE(packed.Pack().ok());
  const auto good = Contents(packed.dest());
  PackOptions restart;
  restart.restart = true;
  const std::string chunk = packed.dest() + "/chunk-000001.pack";
  const std::string manifest = packed.dest() + "/manifest";
  Spill(chunk, "short");
  EXPECT_EQ(packed.Pack().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(
      std::string(packed.Pack().status().message()),
      HasSubstr("holds a damaged pack (chunk-000001.pack: has 5 bytes"));
  ASSERT_TRUE(packed.Pack(restart).ok());
  EXPECT_EQ(Contents(packed.dest()), good);
  fs::remove(chunk);
  EXPECT_EQ(packed.Pack().status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(packed.Pack(restart).ok());
  Spill(manifest, good.at("manifest").substr(0, 100));
  EXPECT_EQ(packed.Pack().status().message(),
            packed.dest() +
                ": holds a damaged pack (manifest: cut off, or not "
                "as long as its header says); give --restart to "
                "make it anew");
  ASSERT_TRUE(packed.Pack(restart).ok());
  EXPECT_EQ(Contents(packed.dest()), good);
}

TEST(PackWriter, TheSourceIsNeverWrittenTo) {
  Rng rng{RandomKey(8)};
  PackedTree packed(rng, 5, 8);
  packed.place.Link("link", packed.tree.root());
  for (const std::string& dest :
       {packed.tree.root(), packed.tree.At("new"), packed.tree.At("c1"),
        packed.tree.At("c1/deeper/new"), packed.place.At("link/new")}) {
    fs::create_directories(packed.tree.At("c1/deeper"));
    const absl::Status status =
        WritePack(packed.tree.Source(), *packed.catalogue, packed.composition,
                  dest, {})
            .status();
    EXPECT_EQ(status, absl::InvalidArgumentError(
                          dest + ": lies in the source, which is never "
                                 "written to; give a directory outside"));
  }
  EXPECT_FALSE(fs::exists(packed.tree.At("new")));
}

TEST(PackWriter, ADestinationThatCannotBeIsNamed) {
  Rng rng{RandomKey(9)};
  PackedTree packed(rng, 5, 8);
  const auto pack = [&](const std::string& dest) {
    return WritePack(packed.tree.Source(), *packed.catalogue,
                     packed.composition, dest, {})
        .status();
  };
  EXPECT_EQ(ErrnoOf(pack(packed.place.At("no/such"))), ENOENT);
  Spill(packed.place.At("file"), "x");
  EXPECT_EQ(ErrnoOf(pack(packed.place.At("file"))), ENOTDIR);
  EXPECT_THAT(std::string(pack(packed.place.At("file")).message()),
              StartsWith(packed.place.At("file")));
}

TEST(PackWriter, AFileThatIsNotTheOneItWasIsNamed) {
  Rng rng{RandomKey(10)};
  PackedTree packed(rng, 12, 4);
  const std::string path =
      packed.catalogue->path(packed.composition.chunks[1][2]);
  const std::string content = Slurp(packed.tree.At(path));
  Spill(packed.tree.At(path), content + "more");
  absl::Status status = packed.Pack().status();
  EXPECT_EQ(ErrnoOf(status), ESTALE);
  EXPECT_THAT(std::string(status.message()),
              StartsWith(path + ": changed since the catalogue was made"));
  fs::remove(packed.tree.At(path));
  status = packed.Pack().status();
  EXPECT_EQ(ErrnoOf(status), ESTALE);
  EXPECT_THAT(std::string(status.message()), StartsWith(path + ": gone"));
  EXPECT_FALSE(fs::exists(packed.dest() + "/manifest"));
}

TEST(PackWriter, OnlyOneProcessPacksToAPlace) {
  Rng rng{RandomKey(11)};
  PackedTree packed(rng, 12, 4);
  absl::Status second;
  PackOptions options;
  options.progress = [&](const PackProgress&) {
    second = packed.Pack().status();
  };
  ASSERT_TRUE(packed.Pack(options).ok());
  EXPECT_EQ(second,
            absl::FailedPreconditionError(
                packed.dest() + ": another process packs there; wait for "
                                "it, or give another DEST"));
}

TEST(PackWriter, WhoMayNotReadAFileMayNotReadThePack) {
  Rng rng{RandomKey(12)};
  const mode_t before = umask(022);
  PackedTree packed(rng, 12, 4);
  const auto modes = [&] {
    std::set<int> found;
    for (const auto& entry : fs::directory_iterator(packed.dest())) {
      found.insert(static_cast<int>(entry.status().permissions()));
    }
    return found;
  };
  fs::permissions(packed.tree.root(), fs::perms(0755));
  const auto pack = [&] {
    fs::remove_all(packed.dest());
    packed.catalogue = std::make_shared<const Catalogue>(packed.tree.Scanned());
    EXPECT_TRUE(packed.Pack().ok());
  };
  pack();
  EXPECT_EQ(modes(), std::set<int>{0644});
  const EntryId file = packed.composition.chunks[1][2];
  const std::string path = packed.tree.At(packed.catalogue->path(file));
  fs::permissions(path, fs::perms(0640));
  pack();
  EXPECT_EQ(modes(), std::set<int>{0600});
  fs::permissions(path, fs::perms(0644));
  fs::permissions(packed.tree.At("c1"), fs::perms(0750));
  pack();
  EXPECT_EQ(modes(), std::set<int>{0600});
  umask(before);
}

}  // namespace
}  // namespace shufflefs
