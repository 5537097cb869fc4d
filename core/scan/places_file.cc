// SPDX-License-Identifier: Apache-2.0
#include "core/scan/places_file.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/files/atomic_file.h"
#include "core/base/files/checked_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr CheckedFormat kPlacesFormat = {.magic = "SHUFPLC\n",
                                         .version = 1,
                                         .name = "places",
                                         .other = "holds no places of files",
                                         .seeded = true};

// The file: this header, then eight bytes per entry.
struct PlacesHeader {
  CheckedHead head;
  uint64_t identity;
  uint64_t entries;
};

template <typename T>
uint64_t HashOn(uint64_t hash, const std::vector<T>& column) {
  return XXH3_64bits_withSeed(column.data(), column.size() * sizeof(T), hash);
}

bool MakesSense(uint64_t place) {
  return place < KnownAddresses::kAddresses ||
         place == KnownAddresses::kNoAddress ||
         place == KnownAddresses::kNotAsked;
}

}  // namespace

uint64_t PlacesIdentity(const Catalogue& catalogue) {
  const CatalogueTables& t = catalogue.tables();
  uint64_t hash = catalogue.state();
  hash = HashOn(hash, t.size);
  hash = HashOn(hash, t.ino);
  hash = HashOn(hash, t.mtime_ns);
  hash = HashOn(hash, t.ctime_ns);
  hash = HashOn(hash, t.attr_class);
  std::vector<uint32_t> devices;
  for (const auto& attr_class : t.classes) devices.push_back(attr_class.device);
  return HashOn(hash, devices);
}

absl::Status SavePlaces(const KnownAddresses& places,
                        const Catalogue& catalogue, const FilePlace& place) {
  PlacesHeader header = {.head = {},
                         .identity = PlacesIdentity(catalogue),
                         .entries = places.by_entry.size()};
  return ReplaceFile(place, SealedPieces(kPlacesFormat, header,
                                         {ColumnBytes(places.by_entry)}));
}

absl::StatusOr<KnownAddresses> ParsePlaces(absl::string_view bytes,
                                           uint64_t identity,
                                           uint64_t entries) {
  PlacesHeader header;
  KnownAddresses places;
  CheckedReader reader(kPlacesFormat, bytes);
  RETURN_IF_ERROR(reader.ReadHeader(header));
  reader.Take(header.entries, places.by_entry);
  RETURN_IF_ERROR(reader.Finish());
  if (header.identity != identity || header.entries != entries) {
    return absl::FailedPreconditionError("of another catalogue");
  }
  if (!std::all_of(places.by_entry.begin(), places.by_entry.end(),
                   MakesSense)) {
    return absl::DataLossError("holds what is no address");
  }
  return places;
}

absl::StatusOr<KnownAddresses> LoadPlaces(const Catalogue& catalogue,
                                          const FilePlace& place) {
  // Large enough to recognise a file of a larger catalogue, or another kind of
  // file.
  const uint64_t most =
      (uint64_t{1} << 20) +
      uint64_t{catalogue.entry_count()} * 2 * sizeof(uint64_t);
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(place, most));
  absl::StatusOr<KnownAddresses> parsed =
      ParsePlaces(bytes, PlacesIdentity(catalogue), catalogue.entry_count());
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

}  // namespace shufflefs
