// SPDX-License-Identifier: Apache-2.0
// tfrecord_sgd FILE [EPOCHS]
//
// Logistic regression by plain SGD from a TFRecord file, with the C++ API of
// core/records. It writes FILE (class-sorted, as data often is on disk), then
// trains on it in the orders of the LIRS paper and prints the loss of each
// epoch:
//   none      file order: the model follows the class that it saw last
//   instance  a full random shuffle: one random read per record
//   page      pages in random order, their records mixed: whole pages are read
// The loss is over all records, with the model at the end of the epoch.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/random/random.h"
#include "core/records/tfrecord_api/tfrecord_cursor.h"
#include "core/records/tfrecord_api/tfrecord_file.h"
#include "core/records/tfrecord_api/tfrecord_writer.h"

namespace shufflefs {
namespace {

constexpr size_t kFeatures = 20;
constexpr uint64_t kRecords = 20000;
constexpr float kRate = 0.05F;  // of the first epoch

// The data of a record: its bytes are those of this struct.
struct Example {
  float label = 0;  // 0 or 1
  float features[kFeatures] = {};
};

struct Model {
  float bias = 0;
  float weights[kFeatures] = {};

  float Probability(const Example& example) const {
    float sum = bias;
    for (size_t i = 0; i < kFeatures; ++i) {
      sum += weights[i] * example.features[i];
    }
    return 1 / (1 + std::exp(-sum));
  }
  void Learn(const Example& example, float rate) {
    const float step = rate * (example.label - Probability(example));
    bias += step;
    for (size_t i = 0; i < kFeatures; ++i) {
      weights[i] += step * example.features[i];
    }
  }
};

// Two clouds around different centres, one after the other.
absl::Status WriteData(const std::string& path) {
  ASSIGN_OR_RETURN(TfrecordWriter writer, TfrecordWriter::Create(path));
  Rng rng(RandomKey(1));
  const auto noise = [&rng] {  // roughly normal, of variance 1
    float sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += static_cast<float>(rng.Bounded(1 << 20)) / (1 << 20);
    }
    return sum;
  };
  for (uint64_t record = 0; record < kRecords; ++record) {
    Example example;
    example.label = record < kRecords / 2 ? 0 : 1;
    const float centre = example.label > 0 ? 0.3F : -0.3F;
    for (float& feature : example.features) feature = centre + noise();
    RETURN_IF_ERROR(
        writer.Add({reinterpret_cast<const char*>(&example), sizeof example}));
  }
  return writer.Finish();
}

absl::StatusOr<Example> Parse(absl::string_view data) {
  Example example;
  if (data.size() != sizeof example) {
    return absl::DataLossError("a record that is no example");
  }
  std::memcpy(&example, data.data(), sizeof example);
  return example;
}

// One pass in the order of the epoch. Returns how many different records came.
absl::StatusOr<uint64_t> Train(TfrecordCursor& cursor, Epoch epoch,
                               uint64_t count, Model& model, uint64_t* read) {
  std::vector<bool> seen(count);
  uint64_t different = 0;
  *read = 0;
  const float rate = kRate / static_cast<float>(1 + 3 * epoch.value());
  cursor.Start(epoch);
  for (;;) {
    const absl::StatusOr<TfrecordInstance> next = cursor.Next();
    if (absl::IsOutOfRange(next.status())) return different;
    if (!next.ok()) return next.status();
    ASSIGN_OR_RETURN(const Example example, Parse(next->data));
    model.Learn(example, rate);
    ++*read;
    if (!seen[next->id]) ++different;
    seen[next->id] = true;
  }
}

absl::StatusOr<double> Loss(const TfrecordFile& file, const Model& model) {
  double loss = 0;
  for (uint64_t id = 0; id < file.count(); ++id) {
    ASSIGN_OR_RETURN(const std::string data, file.Read(id));
    ASSIGN_OR_RETURN(const Example example, Parse(data));
    const double right = example.label > 0 ? model.Probability(example)
                                           : 1 - model.Probability(example);
    loss -= std::log(std::max(right, 1e-7));
  }
  return loss / static_cast<double>(file.count());
}

absl::Status Run(const std::string& path, uint64_t epochs) {
  RETURN_IF_ERROR(WriteData(path));
  ASSIGN_OR_RETURN(const std::shared_ptr<const TfrecordFile> file,
                   TfrecordFile::Open(path));
  const std::pair<const char*, TfrecordOrder::Unit> orders[] = {
      {"none", TfrecordOrder::Unit::kNone},
      {"instance", TfrecordOrder::Unit::kInstance},
      {"page", TfrecordOrder::Unit::kPage}};
  for (const auto& [name, unit] : orders) {
    TfrecordOrder order;
    order.unit = unit;
    order.page_bytes = 4096;
    ASSIGN_OR_RETURN(TfrecordCursor cursor, TfrecordCursor::Make(file, order));
    Model model;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      uint64_t read = 0;
      ASSIGN_OR_RETURN(
          const uint64_t different,
          Train(cursor, Epoch(epoch), file->count(), model, &read));
      ASSIGN_OR_RETURN(const double loss, Loss(*file, model));
      std::printf("%-8s epoch %d: loss %.4f, %d records read, %d of %d\n", name,
                  static_cast<int>(epoch), loss, static_cast<int>(read),
                  static_cast<int>(different), static_cast<int>(file->count()));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: tfrecord_sgd FILE [EPOCHS]\n");
    return 2;
  }
  const uint64_t epochs = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
  const absl::Status status = shufflefs::Run(argv[1], epochs);
  if (status.ok()) return 0;
  std::fprintf(stderr, "tfrecord_sgd: %s\n", status.ToString().c_str());
  return 1;
}
