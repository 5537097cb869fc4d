// SPDX-License-Identifier: Apache-2.0
#include "core/records/block_pass.h"

#include <algorithm>
#include <limits>

#include "core/permutation.h"
#include "core/records/record_math.h"

namespace shufflefs {
namespace {

// What is drawn of a pass.
constexpr uint64_t kOfStrata = 0;
constexpr uint64_t kOfMiniEpochs = 1;

}  // namespace

uint64_t BlockPass::BlocksOf(const RecordTable& table, uint64_t& block_bytes) {
  for (;; block_bytes *= 2) {
    const uint64_t blocks = DivideUp(table.begin(table.count()), block_bytes) -
                            table.begin(0) / block_bytes;
    if (blocks <= std::numeric_limits<uint32_t>::max()) return blocks;
  }
}

BlockPass::BlockPass(const Input& input)
    : table_(input.table), block_bytes_(input.block_bytes) {
  const uint64_t count = BlocksOf(*table_, block_bytes_);
  first_block_ = table_->begin(0) / block_bytes_;
  std::vector<uint32_t> blocks;
  for (uint32_t b = 0; b < count; ++b) {
    if (RunOf(b).size() > 0) blocks.push_back(b);
  }
  // A record never follows itself when its mini-epoch has another: two blocks.
  uint64_t minis = std::clamp<uint64_t>(input.mini_epochs, 1,
                                        std::max<size_t>(blocks.size() / 2, 1));
  if (minis >= input.multiple_of) minis -= minis % input.multiple_of;
  begins_.resize(minis + 1);
  records_.resize(minis);
  Deal(input, blocks);
}

PartRecords::Run BlockPass::RunOf(uint32_t block) const {
  const uint64_t from = (first_block_ + block) * block_bytes_;
  return {table_->FirstFrom(from), table_->FirstFrom(from + block_bytes_)};
}

// Each stratum's blocks in a random order, one stratum behind the other, are
// dealt in turn, so that none gives a mini-epoch one more than it must.
void BlockPass::Deal(const Input& input, const std::vector<uint32_t>& blocks) {
  const uint64_t minis = mini_epochs();
  const RandomKey strata = SubKey(input.key, kOfStrata);
  const Permutation labels(minis, SubKey(input.key, kOfMiniEpochs));
  std::vector<uint32_t> mini_of(blocks.size());
  const auto deal = [&](uint64_t stratum, size_t begin, size_t end) {
    const Permutation order(end - begin, SubKey(strata, stratum));
    for (size_t i = begin; i < end; ++i) {
      mini_of[begin + order(i - begin)] =
          static_cast<uint32_t>(labels(i % minis));
    }
  };
  size_t begin = 0;
  for (uint64_t s = 0; begin < blocks.size(); ++s) {
    const bool last = s + 1 >= input.strata.size();
    size_t end = begin;
    while (end < blocks.size() &&
           (last || RunOf(blocks[end]).first < input.strata[s + 1])) {
      ++end;
    }
    deal(s, begin, end);
    begin = end;
  }
  for (const uint32_t mini : mini_of) ++begins_[mini + 1];
  for (uint64_t m = 0; m < minis; ++m) begins_[m + 1] += begins_[m];
  std::vector<uint64_t> at(begins_.begin(), begins_.end() - 1);
  blocks_.resize(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks_[at[mini_of[i]]++] = blocks[i];
    records_[mini_of[i]] += RunOf(blocks[i]).size();
  }
}

}  // namespace shufflefs
