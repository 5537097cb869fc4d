// SPDX-License-Identifier: Apache-2.0
#include "core/quality/shuffle_quality.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/random/permutation.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMinReferenceBatches = 32;
constexpr double kErrorsAllowed = 3;

// Random streams of the measurement. They are part of the keys.
enum class Stream : uint64_t { kBatches, kPairs, kReference, kNeighbours };

double AsDouble(uint64_t value) { return static_cast<double>(value); }

double Distance(uint64_t a, uint64_t b) {
  return AsDouble(a > b ? a - b : b - a);
}

// The measured batches, and what all measures share.
struct Frame {
  const QualityInput& input;
  uint64_t size;      // positions of the order
  uint64_t batch;     // positions
  uint64_t total;     // whole batches
  uint64_t measured;  // of these, measured

  RandomKey Key(Stream stream) const {
    return DeriveKey(input.seed, Epoch(0), static_cast<uint64_t>(stream),
                     Purpose::kMeasure);
  }
};

// REQUIRES: two samples or more.
Frame FrameOf(const QualityInput& input) {
  const uint64_t size = input.order->size();
  const uint64_t batch = std::min(std::max<uint64_t>(input.batch, 2), size);
  const uint64_t total = size / batch;
  const uint64_t affordable =
      std::max<uint64_t>(1, input.max_positions / batch);
  return {.input = input,
          .size = size,
          .batch = batch,
          .total = total,
          .measured = std::min(total, affordable)};
}

// The samples of the k-th measured batch, and its first position.
std::vector<uint64_t> BatchSamples(const Frame& frame,
                                   const Permutation& batches, uint64_t k) {
  const uint64_t begin = batches(k) * frame.batch;
  std::vector<uint64_t> samples(frame.batch);
  for (uint64_t i = 0; i < frame.batch; ++i) {
    samples[i] = frame.input.order->SampleAt(begin + i);
  }
  return samples;
}

// Returns bits. Sorts `labels`.
double Entropy(std::vector<uint32_t>& labels) {
  std::sort(labels.begin(), labels.end());
  double bits = 0;
  for (size_t i = 0; i < labels.size();) {
    size_t j = i;
    while (j < labels.size() && labels[j] == labels[i]) ++j;
    const double share = AsDouble(j - i) / AsDouble(labels.size());
    bits -= share * std::log2(share);
    i = j;
  }
  return bits;
}

// Mean and variance of the label entropy of batches of a uniform shuffle of
// the order's samples.
std::pair<double, double> UniformEntropy(const Frame& frame, uint64_t batches) {
  double sum = 0;
  double squares = 0;
  std::vector<uint32_t> labels(frame.batch);
  for (uint64_t k = 0; k < batches; ++k) {
    const Permutation drawn(frame.size,
                            SubKey(frame.Key(Stream::kReference), k));
    for (uint64_t i = 0; i < frame.batch; ++i) {
      labels[i] = frame.input.label(frame.input.order->SampleAt(drawn(i)));
    }
    const double bits = Entropy(labels);
    sum += bits;
    squares += bits * bits;
  }
  const double mean = sum / AsDouble(batches);
  const double variance = squares / AsDouble(batches) - mean * mean;
  return {mean, std::max(0.0, variance)};
}

// Mean and standard error of the distance of two different samples of n.
QualityMeasure UniformDistance(uint64_t n, uint64_t pairs) {
  const double size = AsDouble(n);
  return {.value = 0,
          .uniform = (size + 1) / 3,
          .error = std::sqrt((size + 1) * (size - 2) / 18 /
                             AsDouble(std::max<uint64_t>(1, pairs)))};
}

// Fills in what is measured on batches: distances and label entropy.
void MeasureBatches(const Frame& frame, QualityReport& report) {
  const Permutation batches(frame.total, frame.Key(Stream::kBatches));
  Rng pairs(frame.Key(Stream::kPairs));
  double neighbours = 0;
  double inside = 0;
  double bits = 0;
  std::vector<uint32_t> labels(frame.batch);
  for (uint64_t k = 0; k < frame.measured; ++k) {
    const std::vector<uint64_t> samples = BatchSamples(frame, batches, k);
    for (uint64_t i = 0; i + 1 < frame.batch; ++i) {
      neighbours += Distance(samples[i], samples[i + 1]);
      const uint64_t a = pairs.Bounded(frame.batch);
      const uint64_t b = pairs.Bounded(frame.batch - 1);
      inside += Distance(samples[a], samples[b + (b >= a)]);
    }
    if (frame.input.label) {
      std::transform(samples.begin(), samples.end(), labels.begin(),
                     frame.input.label);
      bits += Entropy(labels);
    }
  }
  const uint64_t count = frame.measured * (frame.batch - 1);
  report.neighbour_distance = UniformDistance(frame.input.source_size, count);
  report.batch_distance = report.neighbour_distance;
  report.neighbour_distance.value = neighbours / AsDouble(count);
  report.batch_distance.value = inside / AsDouble(count);
  if (!frame.input.label) return;
  const uint64_t drawn = std::max(kMinReferenceBatches, frame.measured);
  const auto [mean, variance] = UniformEntropy(frame, drawn);
  const double measured = AsDouble(frame.measured);
  report.label_entropy = QualityMeasure{
      .value = bits / measured,
      .uniform = mean,
      .error = std::sqrt(variance / measured + variance / AsDouble(drawn))};
}

// A measured share, with `uniform` as its expectation over `count` trials.
QualityMeasure Share(uint64_t hits, uint64_t count, double uniform) {
  const double trials = AsDouble(std::max<uint64_t>(1, count));
  return {.value = AsDouble(hits) / trials,
          .uniform = uniform,
          .error = std::sqrt(uniform * (1 - uniform) / trials)};
}

// Returns whether `sample` and the next one of the source come in one batch.
bool Together(const Order& order, uint64_t sample, uint64_t batch,
              bool& absent) {
  const uint64_t a = order.PositionOf(sample);
  const uint64_t b = order.PositionOf(sample + 1);
  absent = a == SequenceOrder::kAbsent || b == SequenceOrder::kAbsent;
  return !absent && a / batch == b / batch;
}

// Fills in what is measured on neighbours of the source.
void MeasureNeighbours(const Frame& frame, QualityReport& report) {
  const QualityInput& input = frame.input;
  const uint64_t pairs = input.source_size - 1;
  const uint64_t wanted =
      std::min(pairs, std::max<uint64_t>(1, input.max_positions / 2));
  const Permutation drawn(pairs, frame.Key(Stream::kNeighbours));
  uint64_t present = 0;
  uint64_t once = 0;
  uint64_t present_in_both = 0;
  uint64_t twice = 0;
  for (uint64_t k = 0; k < wanted; ++k) {
    const uint64_t sample = drawn(k);
    bool absent = false;
    const bool here = Together(*input.order, sample, frame.batch, absent);
    if (absent) continue;
    ++present;
    once += here;
    if (input.other == nullptr) continue;
    const bool there = Together(*input.other, sample, frame.batch, absent);
    if (absent) continue;
    ++present_in_both;
    twice += here && there;
  }
  const auto chance = [&](const Order& order) {
    return std::min(1.0, AsDouble(frame.batch - 1) /
                             AsDouble(std::max<uint64_t>(2, order.size()) - 1));
  };
  report.together = Share(once, present, chance(*input.order));
  if (input.other != nullptr) {
    report.together_twice = Share(twice, present_in_both,
                                  chance(*input.order) * chance(*input.other));
  }
}

void MeasureRepetition(const Frame& frame, QualityReport& report) {
  const Permutation batches(frame.total, frame.Key(Stream::kBatches));
  uint64_t count = 0;
  uint64_t same = 0;
  for (uint64_t k = 0; k < frame.measured; ++k) {
    const uint64_t begin = batches(k) * frame.batch;
    for (uint64_t i = begin; i < begin + frame.batch; ++i) {
      if (i >= frame.input.other->size()) break;
      ++count;
      same += frame.input.order->SampleAt(i) == frame.input.other->SampleAt(i);
    }
  }
  report.repeated = Share(same, count, 1 / AsDouble(frame.input.source_size));
}

// value / uniform, raised by what chance may have taken away.
double NearRatio(const QualityMeasure& measure) {
  if (measure.uniform <= 0) return 1;
  return (measure.value + kErrorsAllowed * measure.error) / measure.uniform;
}

// How far a share exceeds what chance explains.
double Excess(const absl::optional<QualityMeasure>& share) {
  if (!share) return 0;
  return share->value - share->uniform - kErrorsAllowed * share->error;
}

constexpr uint64_t kLeastBatches = 4;

char GradeOfQuality(double quality) {
  if (quality >= 0.98) return 'A';
  if (quality >= 0.90) return 'B';
  if (quality >= 0.75) return 'C';
  if (quality >= 0.50) return 'D';
  return 'F';
}

void Cap(QualityReport& report, char grade, std::string reason) {
  if (report.grade >= grade) return;
  report.grade = grade;
  report.reason = std::move(reason);
}

void SetGrade(QualityReport& report) {
  const double distance = NearRatio(report.batch_distance);
  const double labels =
      report.label_entropy ? NearRatio(*report.label_entropy) : 1;
  report.grade = GradeOfQuality(std::min(distance, labels));
  if (report.grade == 'A') {
    report.reason = "batches are as mixed as in a full shuffle";
  } else if (labels <= distance) {
    report.reason = absl::StrFormat(
        "labels of a batch vary %.2f as much as in a full shuffle",
        report.label_entropy->value / report.label_entropy->uniform);
  } else {
    report.reason = absl::StrFormat(
        "samples of a batch lie %.2f as far apart as in a full shuffle",
        report.batch_distance.value / report.batch_distance.uniform);
  }
  const double repeated = Excess(report.repeated);
  if (repeated >= 0.05) {
    Cap(report, repeated >= 0.5 ? 'C' : 'B',
        absl::StrFormat("%.0f %% of the positions have the same sample in "
                        "both epochs",
                        100 * report.repeated->value));
  }
  if (Excess(report.together_twice) >= 0.1) {
    Cap(report, 'B',
        absl::StrFormat("%.0f %% of the neighbours in the source share a "
                        "batch in both epochs",
                        100 * report.together_twice->value));
  }
}

}  // namespace

bool IsGraded(const QualityReport& report) {
  return report.samples >= 2 && report.samples >= kLeastBatches * report.batch;
}

std::string GradeLine(const QualityReport& report) {
  if (IsGraded(report)) {
    return absl::StrCat(absl::string_view(&report.grade, 1), ": ",
                        report.reason);
  }
  if (report.samples < 2) return absl::StrCat("not graded: ", report.reason);
  return absl::StrCat("not graded: ", report.samples,
                      " samples are fewer than ", kLeastBatches, " batches of ",
                      report.batch);
}

SequenceOrder::SequenceOrder(std::vector<uint64_t> samples,
                             uint64_t source_size)
    : samples_(std::move(samples)), positions_(source_size, kAbsent) {
  for (uint64_t i = 0; i < samples_.size(); ++i) positions_[samples_[i]] = i;
}

QualityReport MeasureShuffleQuality(const QualityInput& input) {
  QualityReport report;
  report.samples = input.order->size();
  if (report.samples < 2) {
    report.reason = "fewer than two samples: nothing to mix";
    return report;
  }
  const Frame frame = FrameOf(input);
  report.batch = frame.batch;
  report.batches = frame.measured;
  MeasureBatches(frame, report);
  MeasureNeighbours(frame, report);
  if (input.other != nullptr) MeasureRepetition(frame, report);
  SetGrade(report);
  return report;
}

}  // namespace shufflefs
