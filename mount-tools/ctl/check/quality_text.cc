// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/quality_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "core/config/value_text.h"

namespace shufflefs {
namespace {

using Json = nlohmann::ordered_json;

enum class Form { kSamples, kBits, kShare };

std::string Figure(double value, Form form) {
  switch (form) {
    case Form::kSamples:
      return value < 100
                 ? absl::StrFormat("%.1f", value)
                 : HumanCount(static_cast<uint64_t>(std::llround(value)));
    case Form::kBits:
      return absl::StrFormat("%.2f bits", value);
    case Form::kShare:
      return absl::StrFormat("%.3f %%", 100 * value);
  }
  return "";
}

std::string Row(absl::string_view title, const QualityMeasure& measure,
                Form form) {
  return absl::StrFormat("  %-44s%14s%14s\n", title,
                         Figure(measure.value, form),
                         Figure(measure.uniform, form));
}

std::string Row(absl::string_view title,
                const absl::optional<QualityMeasure>& measure, Form form) {
  return measure ? Row(title, *measure, form) : "";
}

Json ToJson(const QualityMeasure& measure) {
  return {{"value", measure.value},
          {"uniform", measure.uniform},
          {"error", measure.error}};
}

Json ToJson(const absl::optional<QualityMeasure>& measure) {
  return measure ? ToJson(*measure) : Json();
}

}  // namespace

std::string QualityText(const QualityReport& report, absl::string_view other) {
  const std::string grade =
      absl::StrCat(IsGraded(report) ? "grade " : "", GradeLine(report), "\n");
  if (report.batches == 0) return grade;
  return absl::StrCat(
      absl::StrFormat("  %-44s%14s%14s\n",
                      absl::StrCat(HumanCount(report.samples),
                                   " samples, batches of ", report.batch),
                      "this order", "full shuffle"),
      Row("distance of neighbours in the source", report.neighbour_distance,
          Form::kSamples),
      Row("distance of two samples of a batch", report.batch_distance,
          Form::kSamples),
      Row("entropy of the labels of a batch", report.label_entropy,
          Form::kBits),
      Row("source neighbours in one batch", report.together, Form::kShare),
      Row(absl::StrCat("the same ones again in ", other), report.together_twice,
          Form::kShare),
      Row(absl::StrCat("same place in ", other), report.repeated, Form::kShare),
      grade);
}

std::string EpochMemoryText(const EpochMemory& memory) {
  if (memory.before.front().pairs == 0) return "";
  std::string text = absl::StrFormat(
      "  %-44s%14s%14s\n",
      absl::StrCat("of ", memory.before.front().pairs + 1, " epochs"),
      "these orders", "full shuffle");
  const auto back = [](size_t i) {
    return i == 0 ? std::string("the epoch before")
                  : absl::StrCat(i + 1, " epochs before");
  };
  for (size_t i = 0; i < EpochMemory::kEpochs; ++i) {
    const EpochMemory::Figures& figures = memory.before[i];
    if (figures.pairs == 0) continue;
    absl::StrAppend(
        &text,
        absl::StrFormat("  %-44s%+14.4f%14s\n",
                        absl::StrCat("position in the group, and ", back(i)),
                        figures.correlation.value,
                        absl::StrFormat("+-%.4f", figures.correlation.error)));
  }
  for (size_t i = 0; i < EpochMemory::kEpochs; ++i) {
    const EpochMemory::Figures& figures = memory.before[i];
    if (figures.pairs == 0) continue;
    absl::StrAppend(&text,
                    Row(absl::StrCat("neighbours in it, near in ", back(i)),
                        figures.neighbours, Form::kShare));
  }
  return text;
}

Json EpochMemoryArray(const EpochMemory& memory) {
  Json array = Json::array();
  for (const EpochMemory::Figures& figures : memory.before) {
    array.push_back(figures.pairs == 0
                        ? Json()
                        : Json{{"pairs", figures.pairs},
                               {"correlation", ToJson(figures.correlation)},
                               {"neighbours", ToJson(figures.neighbours)}});
  }
  return array;
}

Json QualityObject(const QualityReport& report) {
  return {
      {"samples", report.samples},
      {"batch", report.batch},
      {"batches", report.batches},
      {"neighbour_distance", ToJson(report.neighbour_distance)},
      {"batch_distance", ToJson(report.batch_distance)},
      {"label_entropy", ToJson(report.label_entropy)},
      {"together", ToJson(report.together)},
      {"together_twice", ToJson(report.together_twice)},
      {"repeated", ToJson(report.repeated)},
      {"grade", IsGraded(report) ? Json(std::string(1, report.grade)) : Json()},
      {"reason", IsGraded(report) ? report.reason : GradeLine(report)}};
}

}  // namespace shufflefs
