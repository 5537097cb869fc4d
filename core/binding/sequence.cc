// SPDX-License-Identifier: Apache-2.0
#include "core/binding/sequence.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/lazy.h"
#include "core/base/mutex.h"
#include "core/binding/listed_piece.h"

namespace shufflefs {
namespace {

class Ranks : public Sequence {
 public:
  explicit Ranks(std::shared_ptr<const Binding> binding)
      : binding_(std::move(binding)) {}
  SampleId At(uint64_t position) const override {
    return SampleId(binding_->plan().view_order().SampleAt(position));
  }
  uint64_t PositionOf(SampleId sample) const override {
    return binding_->plan().view_order().PositionOf(sample.value());
  }

 private:
  const std::shared_ptr<const Binding> binding_;
};

class Names : public Sequence {
 public:
  explicit Names(std::shared_ptr<const Binding> binding)
      : binding_(std::move(binding)) {}
  SampleId At(uint64_t position) const override {
    return binding_->ShownSample(SampleId(position));
  }
  uint64_t PositionOf(SampleId sample) const override {
    return binding_->NameOfSample(sample).value();
  }

 private:
  const std::shared_ptr<const Binding> binding_;
};

class Listings : public Sequence {
 public:
  explicit Listings(std::shared_ptr<const Binding> binding)
      : binding_(std::move(binding)), grouping_(GroupingOf(*binding_)) {
    const Catalogue& catalogue = binding_->plan().dataset().catalogue();
    uint64_t begin = 0;
    for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
      for (const Grouping::Piece& piece : grouping_.groups_in(DirId(d))) {
        const uint64_t name =
            grouping_.group(piece.group).first_sample + piece.first;
        by_name_.push_back({name, places_.size()});
        places_.push_back(Place{begin, DirId(d), piece, nullptr});
        begin += piece.count;
      }
    }
    std::sort(by_name_.begin(), by_name_.end());
  }

  SampleId At(uint64_t position) const override {
    const auto place = std::prev(std::upper_bound(
        places_.begin(), places_.end(), position,
        [](uint64_t at, const Place& p) { return at < p.begin; }));
    const uint64_t index = Listed(*place).IndexAt(position - place->begin);
    return binding_->ShownSample(
        SampleId(grouping_.group(place->piece.group).first_sample + index));
  }

  uint64_t PositionOf(SampleId sample) const override {
    const uint64_t name = binding_->NameOfSample(sample).value();
    const auto found = std::prev(std::upper_bound(
        by_name_.begin(), by_name_.end(), name,
        [](uint64_t at, const auto& p) { return at < p.first; }));
    const Place& place = places_[found->second];
    const uint64_t first = grouping_.group(place.piece.group).first_sample;
    return place.begin + Listed(place).PlaceOf(name - first);
  }

 private:
  struct Place {
    uint64_t begin;  // its first position
    DirId dir;
    Grouping::Piece piece;
    mutable std::unique_ptr<const ListedPiece> listed;  // made at first use
  };

  static const Grouping& GroupingOf(const Binding& binding) {
    return binding.plan().dataset().grouping();
  }
  const ListedPiece& Listed(const Place& place) const {
    MutexLock lock(mu_);
    if (place.listed == nullptr) {
      place.listed =
          std::make_unique<ListedPiece>(*binding_, place.dir, place.piece);
    }
    return *place.listed;
  }

  // Constant after construction, except `listed`, which mu_ guards.
  const std::shared_ptr<const Binding> binding_;
  const Grouping& grouping_;
  std::vector<Place> places_;                         // by position
  std::vector<std::pair<uint64_t, size_t>> by_name_;  // first name -> place

  mutable Mutex mu_;
};

class Without : public Sequence {
 public:
  Without(std::unique_ptr<Sequence> all,
          std::shared_ptr<const std::vector<SampleId>> left_out)
      : all_(std::move(all)), left_out_(std::move(left_out)) {}

  SampleId At(uint64_t position) const override {
    const std::vector<uint32_t>& places = Places();
    // The first that is left out behind it.
    const auto behind = std::partition_point(
        places.begin(), places.end(), [&](const uint32_t& place) {
          const auto before = static_cast<uint64_t>(&place - places.data());
          return place - before <= position;
        });
    return all_->At(position + static_cast<uint64_t>(behind - places.begin()));
  }

  uint64_t PositionOf(SampleId sample) const override {
    const std::vector<uint32_t>& places = Places();
    const uint64_t position = all_->PositionOf(sample);
    const auto behind =
        std::lower_bound(places.begin(), places.end(), position);
    return position - static_cast<uint64_t>(behind - places.begin());
  }

 private:
  // The positions that are left out, in order. 32 bits suffice, as there are
  // not more files.
  const std::vector<uint32_t>& Places() const {
    return places_.Get([this] {
      std::vector<uint32_t> places;
      places.reserve(left_out_->size());
      for (const SampleId sample : *left_out_) {
        places.push_back(static_cast<uint32_t>(all_->PositionOf(sample)));
      }
      std::sort(places.begin(), places.end());
      return places;
    });
  }

  // Constant after construction.
  const std::unique_ptr<const Sequence> all_;
  const std::shared_ptr<const std::vector<SampleId>> left_out_;
  // Self-synchronised.
  const Lazy<std::vector<uint32_t>> places_;
};

}  // namespace

std::unique_ptr<Sequence> RankSequence(std::shared_ptr<const Binding> binding) {
  return std::make_unique<Ranks>(std::move(binding));
}

std::unique_ptr<Sequence> NameSequence(std::shared_ptr<const Binding> binding) {
  return std::make_unique<Names>(std::move(binding));
}

std::unique_ptr<Sequence> ListingSequence(
    std::shared_ptr<const Binding> binding) {
  return std::make_unique<Listings>(std::move(binding));
}

std::unique_ptr<Sequence> SequenceWithout(
    std::unique_ptr<Sequence> all,
    std::shared_ptr<const std::vector<SampleId>> left_out) {
  return std::make_unique<Without>(std::move(all), std::move(left_out));
}

}  // namespace shufflefs
