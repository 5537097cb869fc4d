// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/block_pass.h"

#include <algorithm>
#include <limits>

#include "core/formats/record_math.h"
#include "core/random/permutation.h"

namespace shufflefs {
namespace {

// Keys of what is drawn for a pass.
constexpr uint64_t kOfStrata = 0;
constexpr uint64_t kOfMiniEpochs = 1;
// Key of a stratum, after the order of its runs.
constexpr uint64_t kOfSingles = 1;

// A larger run hardly saves seeks. With fewer runs a mini-epoch has blocks from
// few places only.
constexpr uint64_t kMostRunBytes = uint64_t{4} << 20;
constexpr uint64_t kLeastRuns = 8;  // per mini-epoch and stratum

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
  // With two blocks per mini-epoch, a record never has to follow itself.
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

uint64_t BlockPass::RunLength(const Stratum& stratum) const {
  const uint64_t most = std::max<uint64_t>(kMostRunBytes / block_bytes_, 1);
  return std::clamp<uint64_t>(stratum.size() / (mini_epochs() * kLeastRuns), 1,
                              most);
}

// Deals the runs in a random order, in turn, while there is one for each
// mini-epoch. Then deals the rest block by block. Each stratum continues where
// the previous one ended, so that none gives a mini-epoch one block more than
// necessary.
void BlockPass::DealStratum(const Input& input, const Stratum& stratum,
                            std::vector<uint32_t>& mini_of) const {
  const uint64_t minis = mini_epochs();
  const Permutation labels(minis, SubKey(input.key, kOfMiniEpochs));
  const RandomKey key = SubKey(SubKey(input.key, kOfStrata), stratum.number);
  const uint64_t length = RunLength(stratum);
  const uint64_t runs = stratum.size() / length;
  const uint64_t dealt = length == 1 ? runs : runs - runs % minis;
  const Permutation order(runs, key);
  std::vector<size_t> singles;  // indices of mini_of
  const auto take_apart = [&](uint64_t from, uint64_t to) {
    for (uint64_t b = from; b < to; ++b) singles.push_back(stratum.begin + b);
  };
  for (uint64_t i = 0; i < runs; ++i) {
    const uint64_t from = order(i) * length;
    if (i >= dealt) {
      take_apart(from, from + length);
      continue;
    }
    const auto mini =
        static_cast<uint32_t>(labels((stratum.begin + i) % minis));
    for (uint64_t b = 0; b < length; ++b) {
      mini_of[stratum.begin + from + b] = mini;
    }
  }
  take_apart(runs * length, stratum.size());
  const Permutation mixed(singles.size(), SubKey(key, kOfSingles));
  for (size_t i = 0; i < singles.size(); ++i) {
    mini_of[singles[mixed(i)]] =
        static_cast<uint32_t>(labels((stratum.begin + i) % minis));
  }
}

void BlockPass::Deal(const Input& input, const std::vector<uint32_t>& blocks) {
  const uint64_t minis = mini_epochs();
  std::vector<uint32_t> mini_of(blocks.size());
  size_t begin = 0;
  for (uint64_t s = 0; begin < blocks.size(); ++s) {
    const bool last = s + 1 >= input.strata.size();
    size_t end = begin;
    while (end < blocks.size() &&
           (last || RunOf(blocks[end]).first < input.strata[s + 1])) {
      ++end;
    }
    if (end > begin) DealStratum(input, {s, begin, end}, mini_of);
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
