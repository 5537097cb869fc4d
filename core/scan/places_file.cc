// SPDX-License-Identifier: Apache-2.0
#include "core/scan/places_file.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/base/files/whole_file.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the addresses are copied as they are");

constexpr char kMagic[8] = {'S', 'H', 'U', 'F', 'P', 'L', 'C', '\n'};
constexpr uint32_t kVersion = 1;

// The file: this, then eight bytes an entry.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t checksum;  // of all that follows
  uint64_t identity;
  uint64_t entries;
};
static_assert(offsetof(Header, checksum) == kPlacesChecksumAt);
static_assert(std::has_unique_object_representations_v<Header>);
constexpr size_t kCoveredFrom = kPlacesChecksumAt + sizeof(uint64_t);

// Of the part of the header that the checksum covers, and of the addresses.
uint64_t ChecksumOf(const Header& header, absl::string_view addresses) {
  const auto* bytes = reinterpret_cast<const char*>(&header);
  const uint64_t head =
      XXH3_64bits(bytes + kCoveredFrom, sizeof header - kCoveredFrom);
  return XXH3_64bits_withSeed(addresses.data(), addresses.size(), head);
}

template <typename T>
uint64_t HashOn(uint64_t hash, const std::vector<T>& column) {
  return XXH3_64bits_withSeed(column.data(), column.size() * sizeof(T), hash);
}

bool MakesSense(uint64_t place) {
  return place < KnownPlaces::kAddresses || place == KnownPlaces::kNoAddress ||
         place == KnownPlaces::kNotAsked;
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

absl::Status SavePlaces(const KnownPlaces& places, const Catalogue& catalogue,
                        const FilePlace& place) {
  Header header = {};
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion;
  header.header_bytes = sizeof header;
  header.identity = PlacesIdentity(catalogue);
  header.entries = places.by_entry.size();
  const absl::string_view addresses(
      reinterpret_cast<const char*>(places.by_entry.data()),
      places.by_entry.size() * sizeof(uint64_t));
  header.checksum = ChecksumOf(header, addresses);
  const absl::string_view head(reinterpret_cast<const char*>(&header),
                               sizeof header);
  return ReplaceFile(place, {head, addresses});
}

absl::StatusOr<KnownPlaces> ParsePlaces(absl::string_view bytes,
                                        uint64_t identity, uint64_t entries) {
  Header header;
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return absl::InvalidArgumentError("holds no places of files");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kVersion || header.header_bytes != sizeof header) {
    return absl::InvalidArgumentError(
        absl::StrCat("places of version ", header.version, ", not ", kVersion));
  }
  const absl::string_view addresses = bytes.substr(sizeof header);
  if (ChecksumOf(header, addresses) != header.checksum) {
    return absl::DataLossError("the checksum differs");
  }
  if (header.identity != identity || header.entries != entries) {
    return absl::FailedPreconditionError("of another catalogue");
  }
  if (addresses.size() / sizeof(uint64_t) != entries ||
      addresses.size() % sizeof(uint64_t) != 0) {
    return absl::DataLossError("not as long as its header says");
  }
  KnownPlaces places;
  places.by_entry.resize(entries);
  if (entries > 0) {
    std::memcpy(places.by_entry.data(), addresses.data(), addresses.size());
  }
  if (!std::all_of(places.by_entry.begin(), places.by_entry.end(),
                   MakesSense)) {
    return absl::DataLossError("holds what is no address");
  }
  return places;
}

absl::StatusOr<KnownPlaces> LoadPlaces(const Catalogue& catalogue,
                                       const FilePlace& place) {
  // Room to see that it is of a larger catalogue, or something else.
  const uint64_t most =
      (uint64_t{1} << 20) +
      uint64_t{catalogue.entry_count()} * 2 * sizeof(uint64_t);
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(place, most));
  absl::StatusOr<KnownPlaces> parsed =
      ParsePlaces(bytes, PlacesIdentity(catalogue), catalogue.entry_count());
  if (!parsed.ok()) return Annotate(parsed.status(), place.path());
  return parsed;
}

}  // namespace shufflefs
