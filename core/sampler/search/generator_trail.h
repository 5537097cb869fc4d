// SPDX-License-Identifier: Apache-2.0
// Where the default generator of a job stands, from epoch to epoch, and so
// which seeds its RandomSampler is going to draw from it.
//
// A search says where one epoch's seed may have been drawn. Which of these
// places is the right one shows with the seed of a later epoch, which lies
// further on in the same stream. What is drawn from one epoch to the next is
// little, and mostly as much: the seeds of the workers, those of a validation
// loader.
//
// Plain values; belongs to one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_TRAIL_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_TRAIL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/sampler/search/generator_search.h"
#include "core/sampler/search/torch_random.h"

namespace shufflefs {

// The low half of the seed of an epoch. Epochs count from 0; some that are
// counted may not have drawn one.
struct DrawnSeed {
  uint64_t epoch = 0;
  uint32_t seed = 0;

  friend bool operator==(const DrawnSeed&, const DrawnSeed&) = default;
};

class GeneratorTrail {
 public:
  // An epoch's seed was found out. The first is what to look for; of a later
  // one the places are kept from which it comes soon. If a place was known and
  // it does not, it is the first again.
  void Learn(const DrawnSeed& drawn);

  // What to look for in the streams of generators: nothing before a seed was
  // learnt, or once the place is known.
  std::optional<DrawnSeed> Wanted() const;

  // A place where Wanted() stands. What was learnt since then may rule it out:
  // then false.
  bool Add(const GeneratorPlace& place);

  bool has_places() const { return !places_.empty(); }
  // Whether the seeds of two epochs bear the place out.
  bool is_known() const { return has_places() && is_borne_out_; }

  // What may be the seed of this epoch, the likely ones first: by all places,
  // or by the one that was added last.
  std::vector<uint32_t> Seeds(uint64_t epoch) const;
  std::vector<uint32_t> SeedsOfLastPlace(uint64_t epoch) const;

 private:
  struct Place {
    TorchGenerator generator;  // stands behind the last seed that was learnt
    uint64_t distance = 0;     // outputs from epoch to epoch; 0: not known
  };
  static bool Advance(Place& place, const DrawnSeed& from, const DrawnSeed& to);
  void AppendSeeds(const Place& place, uint64_t epoch,
                   std::vector<uint32_t>& seeds) const;

  // The first is looked for; once a place is known, the last alone.
  std::vector<DrawnSeed> drawn_;
  std::vector<Place> places_;
  bool is_borne_out_ = false;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_GENERATOR_TRAIL_H_
