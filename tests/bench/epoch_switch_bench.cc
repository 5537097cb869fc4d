// SPDX-License-Identifier: Apache-2.0
// How long brand's binders take to begin an epoch of very many samples, the
// part of an epoch switch that depends on their number: with nothing read in
// the epoch before, and after a share of it was read in a random order. The
// dataset is only numbers, so no disk is needed.
//
//   epoch_switch_bench [SAMPLES [GROUPS [group | location [MEMORY_MIB]]]]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/dataset/grouping.h"
#include "core/policy/binder.h"
#include "core/pool/chunk_map.h"
#include "core/random/permutation.h"
#include "core/random/random.h"
#include "policies/auto/pool_simulation.h"
#include "policies/brand/group_binder.h"
#include "policies/brand/location_binder.h"

namespace shufflefs {
namespace {

constexpr uint32_t kChunkFiles = 64;
constexpr uint64_t kLeastBytes = 20000;
constexpr uint64_t kMostBytes = 200000;

struct Shape {
  uint64_t samples = 14000000;
  uint32_t groups = 20000;
  uint64_t memory_mib = 256;
};

// What binders know of a dataset; must not move.
struct Data {
  Data(const Shape& shape, bool in_place)
      : grouping(Grouping::WithoutFiles(std::vector<uint32_t>(
            shape.groups,
            static_cast<uint32_t>(shape.samples / shape.groups)))) {
    input.grouping = &grouping;
    input.dataset_key = 42;
    input.memory_bytes = shape.memory_mib << 20;
    Rng rng(RandomKey(1));
    input.bytes.resize(grouping.sample_count());
    for (uint64_t& bytes : input.bytes) {
      bytes = kLeastBytes + rng.Bounded(kMostBytes - kLeastBytes);
    }
    if (!in_place) {
      input.chunks = ComposeMixedChunks(grouping, 7, kChunkFiles);
      return;
    }
    for (uint32_t g = 0; g < grouping.group_count(); ++g) {
      const Grouping::Group& group = grouping.group(GroupId(g));
      for (uint32_t i = 0; i < group.samples; ++i) {
        if (i % kChunkFiles == 0) input.chunks.emplace_back();
        input.chunks.back().push_back(
            static_cast<uint32_t>(group.first_sample + i));
      }
    }
  }

  Grouping grouping;
  BinderInput input;
};

// Of the processor, so that what else runs on the machine changes little.
double Milliseconds(const std::function<void()>& run) {
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 +
           static_cast<double>(time.tv_nsec) * 1e-6;
  };
  const double start = now();
  run();
  return now() - start;
}

// The names of an epoch, each once.
class Reader {
 public:
  Reader(const BinderInput& input, Binder& binder)
      : names_(input.bytes.size(), RandomKey(3)), pool_(input, binder) {}

  void Read(uint64_t count) {
    SimulatedEpoch epoch;
    for (uint64_t i = 0; i < count; ++i) {
      pool_.Show(SampleId(names_(i)), epoch);
    }
  }
  uint64_t size() const { return names_.size(); }

 private:
  const Permutation names_;
  PoolSimulation pool_;
};

void Measure(const std::string& what, const Data& data, Binder& binder) {
  Reader reader(data.input, binder);
  uint64_t epoch = 0;
  double reading = 0;
  std::printf("%-28s", what.c_str());
  // Epochs of which one in `part` is read; 0 = none.
  const auto measure = [&](int switches, uint64_t part) {
    std::vector<double> took;
    for (int i = 0; i < switches; ++i) {
      if (part > 0) {
        reading =
            Milliseconds([&] { reader.Read(reader.size() / part); }) * part;
      }
      took.push_back(Milliseconds(
          [&] { binder.BeginEpoch(Seed(1), Epoch(++epoch), {}); }));
    }
    std::sort(took.begin(), took.end());
    std::printf(" %8.2f %8.2f", took[took.size() / 2], took.back());
    std::fflush(stdout);
  };
  measure(15, 0);
  measure(5, 50);
  measure(1, 1);
  std::printf(" %8.0f\n", reading * 1e6 / static_cast<double>(reader.size()));
}

std::unique_ptr<Binder> MakeBinder(const std::string& kind, const Data& data) {
  if (kind == "group") return std::make_unique<GroupBinder>(data.input);
  return std::make_unique<LocationBinder>(data.input);
}

int Main(const std::vector<std::string>& args) {
  Shape shape;
  if (!args.empty()) shape.samples = std::stoull(args[0]);
  if (args.size() > 1) {
    shape.groups = static_cast<uint32_t>(std::stoul(args[1]));
  }
  if (args.size() > 3) shape.memory_mib = std::stoull(args[3]);
  std::printf(
      "%lu samples in %u groups, %lu MiB of memory; ms to begin an epoch, "
      "median and worst\n",
      static_cast<unsigned long>(shape.samples), shape.groups,
      static_cast<unsigned long>(shape.memory_mib));
  std::printf("%-28s %17s %17s %17s %s\n", "", "nothing read", "a 50th read",
              "all read, once", "ns to show a sample");
  for (const bool in_place : {false, true}) {
    const Data data(shape, in_place);
    for (const std::string kind : {"group", "location"}) {
      if (args.size() > 2 && args[2] != kind) continue;
      const std::unique_ptr<Binder> binder = MakeBinder(kind, data);
      Measure(kind + (in_place ? ", chunks in place" : ", chunks mixed"), data,
              *binder);
    }
  }
  return 0;
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  return shufflefs::Main(std::vector<std::string>(argv + 1, argv + argc));
}
