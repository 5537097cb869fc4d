// SPDX-License-Identifier: Apache-2.0
// Containers that draw from the records of all of a family.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/records/content/record_producer.h"
#include "core/records/order/family_table.h"
#include "core/records/order/record_order.h"
#include "core/records/order/shuffled_file.h"
#include "gtest/gtest.h"
#include "tests/core/records/containers/record_fixture.h"
#include "tests/core/records/content/record_producer_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ByteAt;
using testing_support::PlainTable;
using testing_support::PolicyOf;
using testing_support::TestPool;
using testing_support::TestRead;

struct SomePolicies {
  SomePolicies() {
    PolicyOptions options;
    options.Set("reimu.block", 4096);
    options.Set("reimu.window", 3);
    options.Set("window.samples", 40);
    all = {PolicyOf("lirs", options), PolicyOf("reimu", options),
           PolicyOf("window", options)};
    options.Set("lirs.unit", "page");
    all.push_back(PolicyOf("lirs", options));
  }
  std::vector<std::shared_ptr<const Policy>> all;
};

// Files of bytes that depend on the file and the place, or of lines.
struct Family {
  std::vector<std::string> contents;
  std::vector<EntryId> files;
  std::shared_ptr<const FamilyTable> table;
  std::vector<std::string> records;  // of all, a line with its end

  std::shared_ptr<const FamilyOrder> Order(const Policy& policy, uint64_t seed,
                                           uint64_t epoch,
                                           uint64_t whole = 0) const {
    RecordOrderOptions options;
    options.key = 9;
    options.seed = Seed(seed);
    options.epoch = Epoch(epoch);
    options.whole_bytes = whole;
    auto order = std::make_shared<FamilyOrder>();
    order->table = table;
    order->order = MakeRecordOrder(policy, *table, options);
    return order;
  }
  std::string Head(size_t m) const {
    return contents[m].substr(0, table->member(m).records->begin(0));
  }
  std::string Tail(size_t m) const {
    const RecordTable& own = *table->member(m).records;
    return contents[m].substr(
        std::min<uint64_t>(own.begin(own.count()), contents[m].size()));
  }
};

struct FamilyOptions {
  uint64_t files = 5;
  uint64_t most_records = 3000;
  uint64_t most_bytes = 400;
  bool lines = false;  // else heads and tails
};

Family MakeFamily(const FamilyOptions& options, Rng& rng) {
  Family family;
  std::vector<ContainerShape> shapes;
  const std::string end = rng.Bounded(2) == 0 ? "\n" : "\r\n";  // of lines
  for (uint64_t m = 0; m < options.files; ++m) {
    const EntryId id(static_cast<uint32_t>(3 + m));
    const uint64_t count = rng.Bounded(5) == 0
                               ? rng.Bounded(2)
                               : rng.Bounded(options.most_records);
    std::vector<uint64_t> begins = {options.lines ? 0 : rng.Bounded(700)};
    std::string content;
    for (uint64_t r = 0; r < count; ++r) {
      const uint64_t bytes =
          (options.lines ? end.size() : 1) + rng.Bounded(options.most_bytes);
      begins.push_back(begins.back() + bytes);
      if (!options.lines) continue;
      content += testing_support::Letters(bytes - end.size(), rng) + end;
      family.records.push_back(content.substr(content.size() - bytes));
    }
    ContainerShape shape;
    if (options.lines) {
      // A last line of nothing but its end has it.
      const bool open = count > 0 &&
                        family.records.back().size() > end.size() &&
                        rng.Bounded(2) == 0;
      if (open) content.resize(content.size() - end.size());
      shape.lacks_newline = open;
      shape.line_end = end == "\n" ? LineEnd::kLf : LineEnd::kCrLf;
    } else {
      content.resize(begins.back() + rng.Bounded(2) * rng.Bounded(3000));
      for (uint64_t at = 0; at < content.size(); ++at) {
        content[at] = ByteAt(id, at);
      }
      for (uint64_t r = 0; r < count; ++r) {
        family.records.push_back(
            content.substr(begins[r], begins[r + 1] - begins[r]));
      }
    }
    shape.file_bytes = content.size();
    shape.records = std::make_shared<PlainTable>(std::move(begins));
    shapes.push_back(std::move(shape));
    family.contents.push_back(std::move(content));
    family.files.push_back(id);
  }
  family.table = std::make_shared<FamilyTable>(std::move(shapes));
  return family;
}

std::string Apply(const PartPlan& plan, const Family& family) {
  std::string bytes(plan.bytes, '?');
  uint64_t last_file = 0;
  for (const PartCopy& copy : plan.copies) {
    EXPECT_GE(copy.file, last_file);
    last_file = copy.file;
    bytes.replace(copy.to, copy.bytes,
                  family.contents[copy.file].substr(copy.from, copy.bytes));
  }
  for (const uint64_t at : plan.newlines) bytes[at] = '\n';
  for (const PartLiteral& literal : plan.literals) {
    bytes.replace(literal.to, literal.bytes.size(), literal.bytes);
  }
  return bytes;
}

// A file as it is shown, part by part.
std::string Whole(const ShuffledFile& file, const Family& family) {
  std::string all;
  for (uint64_t part = 0; part < file.part_count(); ++part) {
    EXPECT_EQ(file.part_begin(part), all.size()) << part;
    all += Apply(file.Plan(part), family);
  }
  EXPECT_EQ(file.part_begin(file.part_count()), all.size());
  EXPECT_EQ(file.bytes(), all.size());
  return all;
}

std::vector<std::string> ShowAll(const Family& family, const Policy& policy,
                                 uint64_t seed, uint64_t epoch,
                                 uint64_t whole = 0) {
  const auto order = family.Order(policy, seed, epoch, whole);
  std::vector<std::string> shown;
  for (size_t m = 0; m < family.files.size(); ++m) {
    shown.push_back(Whole(ShuffledFile(order, m), family));
  }
  return shown;
}

// What the file is to show, by the order alone.
std::vector<std::string> Expected(const Family& family, const Policy& policy,
                                  uint64_t seed, uint64_t epoch) {
  const auto order = family.Order(policy, seed, epoch);
  std::vector<uint64_t> records;
  for (uint64_t part = 0; part < order->order->part_count(); ++part) {
    EXPECT_EQ(order->order->part_first(part), records.size());
    for (const uint64_t r : order->order->Records(part)) records.push_back(r);
  }
  std::vector<std::string> expected;
  for (size_t m = 0; m < family.files.size(); ++m) {
    std::string content = family.Head(m);
    for (uint64_t at = family.table->first(m); at < family.table->first(m + 1);
         ++at) {
      content += family.records[records[at]];
    }
    expected.push_back(content + family.Tail(m));
  }
  std::sort(records.begin(), records.end());
  for (uint64_t r = 0; r < records.size(); ++r) EXPECT_EQ(records[r], r);
  EXPECT_EQ(records.size(), family.records.size());
  return expected;
}

TEST(FamilyTableTest, ItIsOneTableOfAllRecords) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 20; ++round) {
    FamilyOptions options;
    options.files = 1 + rng.Bounded(6);
    options.most_records = 60;
    options.most_bytes = 9;
    const Family family = MakeFamily(options, rng);
    const FamilyTable& table = *family.table;
    ASSERT_EQ(table.count(), family.records.size());
    std::vector<uint64_t> begins = {0};
    for (uint64_t r = 0; r < table.count(); ++r) {
      EXPECT_EQ(table.begin(r), begins.back());
      EXPECT_EQ(table.bytes(r), family.records[r].size());
      begins.push_back(begins.back() + family.records[r].size());
      const size_t m = table.MemberOf(r);
      EXPECT_GE(r, table.first(m));
      EXPECT_LT(r, table.first(m + 1));
    }
    for (uint64_t at = 0; at < begins.back() + 3; ++at) {
      const auto first = std::lower_bound(begins.begin(), begins.end() - 1, at);
      EXPECT_EQ(table.FirstFrom(at), uint64_t(first - begins.begin()));
    }
    EXPECT_GT(table.memory_bytes(), 0u);
  }
}

// Each record once, in the order of the epoch, cut where the counts say; the
// size is what is delivered; heads and tails stay with their files.
TEST(RecordFamilyTest, EachContainerKeepsItsCountAndDrawsFromAll) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (int round = 0; round < 6; ++round) {
    FamilyOptions options;
    options.files = 2 + rng.Bounded(5);
    options.lines = rng.Bounded(2) == 0;
    const Family family = MakeFamily(options, rng);
    if (family.table->count() < 200) continue;
    for (const auto& policy : SomePolicies().all) {
      const auto first = ShowAll(family, *policy, 5, 1);
      EXPECT_TRUE(first == Expected(family, *policy, 5, 1));
      const auto second = ShowAll(family, *policy, 5, 2, 64 << 20);
      EXPECT_TRUE(second == Expected(family, *policy, 5, 2));
      EXPECT_TRUE(first != second);
      EXPECT_TRUE(first == ShowAll(family, *policy, 5, 1, 1 << 20));
    }
  }
}

// Whichever file it comes last in.
TEST(RecordFamilyTest, AnEmptyLineIsNotLost) {
  Family family;
  std::vector<ContainerShape> shapes;
  const std::vector<std::vector<std::string>> files = {{"1\n", "\n", "22\n"},
                                                       {"3\n", "44\n"}};
  for (const std::vector<std::string>& lines : files) {
    std::string content;
    std::vector<uint64_t> begins = {0};
    for (const std::string& line : lines) {
      content += line;
      begins.push_back(content.size());
      family.records.push_back(line);
    }
    ContainerShape shape;
    shape.lacks_newline = !shapes.empty();
    if (shape.lacks_newline) content.pop_back();
    shape.file_bytes = content.size();
    shape.records = std::make_shared<PlainTable>(std::move(begins));
    family.files.push_back(EntryId(static_cast<uint32_t>(3 + shapes.size())));
    shapes.push_back(std::move(shape));
    family.contents.push_back(std::move(content));
  }
  family.table = std::make_shared<FamilyTable>(std::move(shapes));
  for (const auto& policy : SomePolicies().all) {
    for (uint64_t epoch = 0; epoch < 30; ++epoch) {
      const auto shown = ShowAll(family, *policy, 5, epoch);
      EXPECT_TRUE(shown == Expected(family, *policy, 5, epoch)) << epoch;
      for (size_t m = 0; m < shown.size(); ++m) {
        const auto ends = std::count(shown[m].begin(), shown[m].end(), '\n');
        EXPECT_EQ(static_cast<size_t>(ends), files[m].size());
      }
    }
  }
}

// Who reads one of the first containers has no more of the order summed up
// than it needs.
TEST(RecordFamilyTest, AContainerIsFoundWithoutThoseBehindIt) {
  Rng rng{RandomKey(1)};
  FamilyOptions options;
  options.files = 40;
  options.most_bytes = 4000;
  const Family family = MakeFamily(options, rng);
  const auto policy = PolicyOf("lirs", PolicyOptions());
  const auto order = family.Order(*policy, 1, 1);
  const ShuffledFile early(order, 1);
  const ShuffledFile late(order, 38);
  early.bytes();
  const uint64_t summed = order->order->memory_bytes();
  late.bytes();
  EXPECT_LT(summed, order->order->memory_bytes());
}

struct Asked {
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  std::shared_ptr<TestRead> read = std::make_shared<TestRead>();
};

std::vector<std::shared_ptr<const RecordFile>> FilesOf(
    RecordProducer& pool, const Family& family,
    const std::shared_ptr<const FamilyOrder>& order) {
  std::vector<std::shared_ptr<const RecordFile>> files;
  for (size_t m = 0; m < family.files.size(); ++m) {
    auto file = std::make_shared<RecordFile>();
    file->id = pool.NewId();
    file->file = family.files[m];
    file->family = std::make_shared<const std::vector<EntryId>>(family.files);
    file->content = std::make_shared<ShuffledFile>(order, m);
    files.push_back(std::move(file));
  }
  return files;
}

void Ask(RecordProducer& pool, const std::shared_ptr<const RecordFile>& file,
         const Asked& one) {
  pool.Read(file, one.offset, one.length,
            [read = one.read](absl::StatusOr<absl::Span<const iovec>> got) {
              ++read->answers;
              read->status = got.status();
              if (!got.ok()) return;
              for (const iovec& piece : *got) {
                read->bytes.append(static_cast<const char*>(piece.iov_base),
                                   piece.iov_len);
              }
            });
}

// Readers of several containers, in any order, through the memory.
TEST(RecordFamilyTest, AnyReadThroughThePoolGivesTheBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng{RandomKey(seed)};
  for (const auto& policy : SomePolicies().all) {
    TestPool test(RecordProducer::kLeastMemory);
    FamilyOptions options;
    options.files = 4;
    options.most_bytes = 2000;
    const Family family = MakeFamily(options, rng);
    const auto shown = Expected(family, *policy, 7, 3);
    const auto files = FilesOf(*test.pool, family, family.Order(*policy, 7, 3));
    std::vector<Asked> asked;
    std::vector<uint64_t> at(files.size());
    for (int step = 0; step < 1200; ++step) {
      if (rng.Bounded(3) != 0) {
        test.asked->ComeAny(rng);
        continue;
      }
      const size_t f = rng.Bounded(files.size());
      if (shown[f].empty()) continue;
      if (rng.Bounded(9) == 0) at[f] = rng.Bounded(shown[f].size());
      Asked one{f, at[f] % shown[f].size(), 1 + rng.Bounded(131072)};
      Ask(*test.pool, files[f], one);
      at[f] = one.offset + one.length;
      asked.push_back(std::move(one));
      testing_support::PoolBytes(test);  // within the memory
    }
    test.asked->ComeAll();
    for (const Asked& each : asked) {
      ASSERT_EQ(each.read->answers, 1);
      ASSERT_TRUE(each.read->status.ok()) << each.read->status;
      ASSERT_TRUE(each.read->bytes ==
                  shown[each.file].substr(each.offset, each.length))
          << each.file << " " << each.offset << " " << each.length;
    }
  }
}

}  // namespace
}  // namespace shufflefs
