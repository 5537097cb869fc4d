// SPDX-License-Identifier: Apache-2.0
// What tests of shuffled records share: tables of any sizes, and a source of
// bytes that is only a string.
#ifndef SHUFFLEFS_TESTS_CORE_RECORDS_CONTAINERS_RECORD_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_RECORDS_CONTAINERS_RECORD_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/record_table.h"
#include "core/policy/policy.h"
#include "core/random/random.h"
#include "core/records/order/shuffled_file.h"
#include "policies/registry.h"

namespace shufflefs::testing_support {

// Where records begin, and where the last one ends.
class PlainTable : public RecordTable {
 public:
  explicit PlainTable(std::vector<uint64_t> begins)
      : begins_(std::move(begins)) {}
  uint64_t count() const override { return begins_.size() - 1; }
  uint64_t begin(uint64_t record) const override { return begins_[record]; }
  uint64_t FirstFrom(uint64_t offset) const override {
    return static_cast<uint64_t>(
        std::lower_bound(begins_.begin(), begins_.end() - 1, offset) -
        begins_.begin());
  }
  uint64_t memory_bytes() const override { return 8 * begins_.size(); }

 private:
  const std::vector<uint64_t> begins_;
};

inline std::string Letters(uint64_t bytes, Rng& rng) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>('a' + rng.Bounded(26));
  return text;
}

// A container that is only a string: head, records, tail.
struct Container {
  std::string content;
  ContainerShape shape;
};

inline Container MakeContainer(const std::vector<uint64_t>& sizes,
                               uint64_t head, uint64_t tail, Rng& rng) {
  Container made;
  std::vector<uint64_t> begins = {head};
  for (const uint64_t size : sizes) begins.push_back(begins.back() + size);
  made.content = Letters(begins.back() + tail, rng);
  made.shape.file_bytes = made.content.size();
  made.shape.records = std::make_shared<PlainTable>(std::move(begins));
  return made;
}

// Lines, of which the last has no end.
inline Container MakeLines(const std::vector<std::string>& lines,
                           uint64_t head) {
  Container made;
  made.content.assign(head, '#');
  std::vector<uint64_t> begins = {head};
  for (const std::string& line : lines) {
    made.content += line + "\n";
    begins.push_back(made.content.size());
  }
  made.content.pop_back();
  made.shape.file_bytes = made.content.size();
  made.shape.records = std::make_shared<PlainTable>(std::move(begins));
  made.shape.lacks_newline = true;
  return made;
}

inline std::vector<uint64_t> RandomSizes(uint64_t count, uint64_t most,
                                         Rng& rng) {
  std::vector<uint64_t> sizes(count);
  for (uint64_t& size : sizes) size = 1 + rng.Bounded(most);
  return sizes;
}

inline PlainTable RandomTable(uint64_t count, uint64_t most, Rng& rng) {
  std::vector<uint64_t> begins = {rng.Bounded(10000)};
  for (const uint64_t size : RandomSizes(count, most, rng)) {
    begins.push_back(begins.back() + size);
  }
  return PlainTable(std::move(begins));
}

inline std::shared_ptr<const Policy> PolicyOf(const char* name,
                                              const PolicyOptions& options) {
  return std::shared_ptr<const Policy>(*MakePolicy(name, options));
}

// What a plan makes of the content.
inline std::string Apply(const PartPlan& plan, const std::string& content) {
  std::string bytes(plan.bytes, '?');
  for (const PartCopy& copy : plan.copies) {
    std::memcpy(bytes.data() + copy.to, content.data() + copy.from,
                copy.bytes);
  }
  for (const uint64_t at : plan.newlines) bytes[at] = '\n';
  for (const PartLiteral& literal : plan.literals) {
    bytes.replace(literal.to, literal.bytes.size(), literal.bytes);
  }
  return bytes;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_RECORDS_CONTAINERS_RECORD_FIXTURE_H_
