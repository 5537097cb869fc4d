// SPDX-License-Identifier: Apache-2.0
// The order in which met shows the samples of a job, without a mount and
// without files: met_training.py trains in it.
//
//   met_order_bench [--mini-epochs N] [--repeat N] [--epochs N]
//       [--adapt off|score|bollinger] [--patience N] [--scores N]
//       [--ready-after DRAWS] [--seed N] SAMPLES_OF_A_CLASS...
//
// Each framework epoch opens all names once in a random order of its own. A
// mini-epoch is in the tier so many draws after it was wanted, at once unless
// told otherwise. Reads commands, a line each:
//   read N       answers with the next N samples, 4 bytes each, little-endian;
//                samples are numbered class by class
//   feedback X   a loss of the job; no answer
//   status       a line: pass, mini-epoch of it, repetition, factor, samples
//                that were copied to the tier
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/grouping.h"
#include "core/policy/binder.h"
#include "core/random/random.h"
#include "policies/met/met_binder.h"

namespace shufflefs {
namespace {

struct Arguments {
  MetOptions options;
  uint64_t seed = 0;
  uint64_t ready_after = 0;  // draws
  std::vector<uint32_t> sizes;
};

class Job {
 public:
  explicit Job(const Arguments& arguments)
      : arguments_(arguments),
        grouping_(Grouping::WithoutFiles(arguments.sizes)),
        input_(MakeInput(grouping_)),
        binder_(arguments.options, input_),
        rng_(RandomKey(arguments.seed)),
        names_(grouping_.sample_count()) {
    std::iota(names_.begin(), names_.end(), 0);
    BeginEpoch();
  }

  uint32_t Read() {
    if (at_ == names_.size()) BeginEpoch();
    Stage();
    const SampleId sample = binder_.Bind(SampleId(names_[at_++]));
    binder_.Opened(sample);
    ++drawn_;
    return static_cast<uint32_t>(sample.value());
  }
  MetBinder& binder() { return binder_; }
  uint64_t copied() const { return copied_; }

 private:
  static BinderInput MakeInput(const Grouping& grouping) {
    BinderInput input;
    input.grouping = &grouping;
    input.bytes.assign(grouping.sample_count(), 1);
    input.dataset_key = 42;
    input.memory_bytes = grouping.sample_count();
    return input;
  }

  void BeginEpoch() {
    for (uint64_t i = names_.size(); i > 1; --i) {
      std::swap(names_[i - 1], names_[rng_.Bounded(i)]);
    }
    at_ = 0;
    binder_.BeginEpoch(Seed(arguments_.seed), Epoch(epoch_++), {});
  }

  // What is wanted and ready need not be looked at before others are.
  void Stage() {
    if (settled_ && version_ == binder_.requests_version()) return;
    version_ = binder_.requests_version();
    settled_ = true;
    for (const uint64_t set : binder_.WantedSets()) {
      const uint64_t since = wanted_.try_emplace(set, drawn_).first->second;
      if (drawn_ >= since + arguments_.ready_after) {
        if (ready_.insert(set).second) copied_ += binder_.SamplesOf(set).size();
        binder_.SetReady(set);
      } else {
        settled_ = false;
      }
    }
  }

  const Arguments arguments_;
  const Grouping grouping_;
  const BinderInput input_;
  MetBinder binder_;
  Rng rng_;
  std::vector<uint32_t> names_;  // in the order of the epoch
  uint64_t at_ = 0;
  uint64_t epoch_ = 0;
  uint64_t drawn_ = 0;
  std::map<uint64_t, uint64_t> wanted_;  // set: draws before that
  std::set<uint64_t> ready_;
  uint64_t copied_ = 0;  // samples
  bool settled_ = false;
  uint64_t version_ = 0;
};

void PrintSamples(Job& job, uint64_t count) {
  std::string bytes;
  bytes.reserve(4 * count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t sample = job.Read();
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<char>(sample >> shift & 0xFF));
    }
  }
  std::cout << bytes << std::flush;
}

int Serve(Job& job) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    uint64_t count = 0;
    double loss = 0;
    if (command == "read" && words >> count) {
      PrintSamples(job, count);
    } else if (command == "feedback" && words >> loss) {
      job.binder().Feedback(loss);
    } else if (command == "status") {
      const MiniEpochStatus status = job.binder().status();
      std::cout << status.pass << ' ' << status.mini_epoch << ' '
                << status.repetition << ' ' << status.factor << ' '
                << job.copied() << std::endl;
    } else {
      std::cerr << "met_order_bench: not a command: " << line << '\n';
      return 2;
    }
  }
  return 0;
}

bool SetAdapt(const std::string& word, MetOptions& options) {
  using Adapt = MetOptions::Adapt;
  const std::map<std::string, Adapt> words = {{"off", Adapt::kOff},
                                              {"score", Adapt::kScore},
                                              {"bollinger", Adapt::kBollinger}};
  const auto found = words.find(word);
  if (found == words.end()) return false;
  options.adapt = found->second;
  return true;
}

bool Parse(int argc, char** argv, Arguments& arguments) {
  MetOptions& options = arguments.options;
  const std::map<std::string, uint64_t*> numbers = {
      {"--mini-epochs", &options.mini_epochs},
      {"--repeat", &options.repeat},
      {"--epochs", &options.epochs},
      {"--patience", &options.patience},
      {"--scores", &options.scores},
      {"--ready-after", &arguments.ready_after},
      {"--seed", &arguments.seed}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto found = numbers.find(word);
    if (word.rfind("--", 0) != 0) {
      arguments.sizes.push_back(
          static_cast<uint32_t>(std::strtoul(word.c_str(), nullptr, 10)));
    } else if (i + 1 == argc) {
      return false;
    } else if (found != numbers.end()) {
      *found->second = std::strtoull(argv[++i], nullptr, 10);
    } else if (word != "--adapt" || !SetAdapt(argv[++i], options)) {
      return false;
    }
  }
  return std::accumulate(arguments.sizes.begin(), arguments.sizes.end(),
                         uint64_t{0}) > 0;
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  shufflefs::Arguments arguments;
  if (!shufflefs::Parse(argc, argv, arguments)) {
    std::cerr << "met_order_bench: see the top of met_order_bench.cc\n";
    return 2;
  }
  std::ios::sync_with_stdio(false);
  shufflefs::Job job(arguments);
  return shufflefs::Serve(job);
}
