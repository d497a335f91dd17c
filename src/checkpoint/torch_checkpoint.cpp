#include "checkpoint/torch_checkpoint.hpp"

#include <limits>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"
#include "base/zip.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/pickle.hpp"
#include "checkpoint/tensor_list.hpp"

namespace lingbot_map {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kLargestPickle = std::size_t{64} << 20;
constexpr std::size_t kMostDimensions = 16;

/// Where a tensor's elements are: entry of the archive, first element in it, and the step of each dimension.
struct Placement {
  const ZipEntry* storage = nullptr;
  std::uint64_t offset = 0;
  std::vector<std::int64_t> strides;
  std::uint64_t span = 0;  ///< elements from the first to the last one, both included
  bool contiguous = true;
};

struct Contents {
  std::vector<TensorInfo> tensors;
  std::vector<Placement> placements;
  std::vector<std::string> ignored;
};

/// Turns the values of a pickle into tensors whose every element is known to lie in its storage.
class StateDictReader {
 public:
  StateDictReader(const ZipReader& zip, const PickleValues& values, std::string prefix)
      : zip_(zip), values_(values), prefix_(std::move(prefix)) {}

  Contents read() {
    const PickleValue& root = values_.root();
    if (root.kind != Kind::mapping) {
      fail(ErrorCode::input, source(),
           ": holds no dict, expected a state dict; save model.state_dict() with torch.save");
    }
    const PickleValue* model = values_.lookup(root, "model");
    if (model != nullptr && model->kind == Kind::mapping) {
      for_each_entry(root, [&](std::string key, const PickleValue& value) {
        if (&value != model) contents_.ignored.push_back(std::move(key));
      });
      read_state_dict(*model, "model.");
    } else {
      read_state_dict(root, "");
    }
    if (contents_.tensors.empty()) fail_without_tensors(root);
    return std::move(contents_);
  }

 private:
  const std::string& source() const { return zip_.file().name(); }

  [[noreturn]] void fail_tensor(const std::string& name, const std::string& what) const {
    fail(ErrorCode::input, source(), ": tensor ", printable(name), ": ", what);
  }

  [[noreturn]] void fail_without_tensors(const PickleValue& root) const {
    std::string nested;
    for_each_entry(root, [&](const std::string& key, const PickleValue& value) {
      const bool holds_tensor =
          value.kind == Kind::mapping && value.items.size() >= 2 && values_[value.items[1]].kind == Kind::tensor;
      if (nested.empty() && holds_tensor) nested = key;
    });
    if (nested.empty()) {
      fail(ErrorCode::input, source(), ": holds no tensors, expected a state dict, itself or as the entry \"model\"");
    }
    fail(ErrorCode::input, source(), ": has its tensors under \"", printable(nested),
         R"(", expected them at the top or under "model"; re-save that entry with torch.save)");
  }

  template <typename Visit>
  void for_each_entry(const PickleValue& mapping, Visit&& visit) const {
    for (std::size_t i = 0; i + 1 < mapping.items.size(); i += 2) {
      const PickleValue& key = values_[mapping.items[i]];
      visit(key.kind == Kind::text ? key.text : std::string("(a key that is no text)"), values_[mapping.items[i + 1]]);
    }
  }

  void read_state_dict(const PickleValue& mapping, const std::string& prefix) {
    for_each_entry(mapping, [&](std::string key, const PickleValue& value) {
      if (value.kind == Kind::tensor) {
        read_tensor(std::move(key), value);
      } else {
        contents_.ignored.push_back(prefix + key);
      }
    });
  }

  // The arguments of torch._utils._rebuild_tensor_v2: storage, offset, sizes, strides, and three that say nothing of
  // the elements.
  void read_tensor(std::string name, const PickleValue& value) {
    const auto& items = value.items;
    if (items.size() < 4 || values_[items[0]].kind != Kind::storage || values_[items[1]].kind != Kind::integer) {
      fail_tensor(name, "is described in a way that torch.save does not write; the file is damaged, get it again");
    }
    const PickleValue& storage = values_[items[0]];
    TensorInfo info{.name = std::move(name)};
    info.dtype = storage_dtype(info.name, storage);
    info.shape = integers(info.name, values_[items[2]]);
    Placement placement;
    placement.strides = integers(info.name, values_[items[3]]);
    if (placement.strides.size() != info.shape.size()) {
      fail_tensor(info.name, message("has ", info.shape.size(), " sizes and ", placement.strides.size(),
                                     " strides; the file is damaged, get it again"));
    }
    placement.storage = storage_entry(info.name, storage);
    place(info, values_[items[1]].integer, placement);
    contents_.tensors.push_back(std::move(info));
    contents_.placements.push_back(std::move(placement));
  }

  // ("storage", class, key, location, number of elements)
  DType storage_dtype(const std::string& name, const PickleValue& storage) const {
    const auto& items = storage.items;
    const bool plausible = items.size() >= 5 && values_[items[0]].text == "storage" &&
                           values_[items[1]].kind == Kind::global && values_[items[2]].kind == Kind::text &&
                           values_[items[1]].global->role == PickleRole::storage;
    if (!plausible)
      fail_tensor(name, "its storage is not one that torch.save writes; the file is damaged, get it again");
    return values_[items[1]].global->dtype;
  }

  const ZipEntry* storage_entry(const std::string& name, const PickleValue& storage) const {
    const std::string path = prefix_ + "data/" + values_[storage.items[2]].text;
    const ZipEntry* entry = zip_.find(path);
    if (entry == nullptr) fail_tensor(name, "the archive has no entry " + printable(path) + "; get the file again");
    if (!entry->stored()) {
      fail_tensor(name, printable(path) + " is compressed, expected a stored entry; re-save the file with torch.save");
    }
    return entry;
  }

  std::vector<std::int64_t> integers(const std::string& name, const PickleValue& sequence) const {
    const bool is_sequence = sequence.kind == Kind::tuple || sequence.kind == Kind::sequence;
    if (!is_sequence || sequence.items.size() > kMostDimensions) {
      fail_tensor(name,
                  message("has no list of at most ", kMostDimensions, " sizes; the file is damaged, get it again"));
    }
    std::vector<std::int64_t> result;
    for (const PickleRef ref : sequence.items) {
      const PickleValue& value = values_[ref];
      if (value.kind != Kind::integer || value.integer < 0) {
        fail_tensor(name, "a size or stride is no number from 0 on; the file is damaged, get it again");
      }
      result.push_back(value.integer);
    }
    return result;
  }

  void place(const TensorInfo& info, std::int64_t offset, Placement& placement) const {
    const std::uint64_t stored = placement.storage->size / size_of(info.dtype);
    const std::optional<std::int64_t> elements = element_count(info.shape);
    // With this, what a caller allocates for a tensor is never larger than what the file really holds.
    if (!elements || static_cast<std::uint64_t>(*elements) > stored) {
      fail_tensor(info.name, message("shape ", info.shape_text(), " has more elements than the ", stored,
                                     " of its storage; get the file again, or re-save the tensor with .contiguous()"));
    }
    const std::uint64_t beyond = stored + 1;
    std::uint64_t last = 0;  // held at `beyond` once it passes the storage, so that it cannot overflow
    std::int64_t dense = 1;
    for (std::size_t axis = info.shape.size(); axis-- > 0;) {
      const auto steps = static_cast<std::uint64_t>(info.shape[axis]) - 1;
      const auto stride = static_cast<std::uint64_t>(placement.strides[axis]);
      if (*elements == 0 || steps == 0) {
        placement.strides[axis] = 0;  // never taken, whatever the file says
        continue;
      }
      placement.contiguous = placement.contiguous && placement.strides[axis] == dense;
      dense *= info.shape[axis];
      last = stride > (beyond - last) / steps ? beyond : last + stride * steps;
    }
    placement.span = *elements == 0 ? 0 : last + 1;
    if (offset < 0 || placement.span > stored || static_cast<std::uint64_t>(offset) > stored - placement.span) {
      fail_tensor(info.name, message("reaches past the end of its storage of ", stored,
                                     " elements; the file is damaged, get it again"));
    }
    placement.offset = static_cast<std::uint64_t>(offset);
  }

  const ZipReader& zip_;
  const PickleValues& values_;
  std::string prefix_;
  Contents contents_;
};

/// The folder in the archive, "NAME/", that holds data.pkl.
std::string find_prefix(const ZipReader& zip) {
  const ZipEntry* found = nullptr;
  for (const ZipEntry& entry : zip.entries()) {
    const std::size_t slash = entry.name.find('/');
    if (slash == std::string::npos || std::string_view(entry.name).substr(slash) != "/data.pkl") continue;
    if (found != nullptr) {
      fail(ErrorCode::input, zip.file().name(), ": holds two models, ", printable(found->name), " and ",
           printable(entry.name), ", expected one");
    }
    found = &entry;
  }
  if (found == nullptr) {
    fail(ErrorCode::input, zip.file().name(),
         ": is a zip archive without data.pkl, expected one that torch.save wrote; unpack it if the model is inside");
  }
  return found->name.substr(0, found->name.size() - std::string_view("data.pkl").size());
}

void check_byte_order(const ZipReader& zip, const std::string& prefix) {
  const ZipEntry* entry = zip.find(prefix + "byteorder");
  if (entry == nullptr) return;
  const std::string order = zip.read_text(*entry, 64);
  if (order != "little") {
    fail(ErrorCode::input, zip.file().name(), ": byte order is ", printable(order),
         ", expected little; re-save it on a little-endian machine");
  }
}

class TorchCheckpoint final : public Checkpoint {
 public:
  TorchCheckpoint(ZipReader zip, Contents contents)
      : zip_(std::move(zip)),
        tensors_(std::move(contents.tensors), zip_.file().name()),
        placements_(std::move(contents.placements)),
        ignored_(std::move(contents.ignored)) {}

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const override { return tensors_.all(); }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const override { return tensors_.find(name); }
  [[nodiscard]] std::optional<std::string> config_json() const override { return std::nullopt; }
  [[nodiscard]] std::string_view format() const override { return "PyTorch zip"; }
  [[nodiscard]] const std::string& source() const override { return zip_.file().name(); }
  [[nodiscard]] const std::vector<std::string>& ignored_entries() const override { return ignored_; }

  void read(const TensorInfo& info, std::span<float> out) const override {
    const std::size_t index = tensors_.checked_index(info, out.size());
    const Placement& placement = placements_[index];
    const DType dtype = tensors_.all()[index].dtype;
    const std::uint64_t base = placement.offset * size_of(dtype);
    const auto read_bytes = [&](std::uint64_t offset, std::span<std::byte> bytes) {
      zip_.read(*placement.storage, base + offset, bytes);
    };
    if (placement.contiguous) return read_elements(dtype, read_bytes, out);
    std::vector<float> stored(static_cast<std::size_t>(placement.span));
    read_elements(dtype, read_bytes, stored);
    gather(tensors_.all()[index].shape, placement.strides, stored, out);
  }

 private:
  static void gather(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                     std::span<const float> stored, std::span<float> out) {
    std::vector<std::int64_t> at(shape.size(), 0);
    std::int64_t from = 0;
    for (float& value : out) {
      value = stored[static_cast<std::size_t>(from)];
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        from += strides[axis];
        if (++at[axis] < shape[axis]) break;
        from -= strides[axis] * shape[axis];
        at[axis] = 0;
      }
    }
  }

  ZipReader zip_;
  TensorList tensors_;
  std::vector<Placement> placements_;
  std::vector<std::string> ignored_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_torch_checkpoint(File file) {
  ZipReader zip(std::move(file));
  const std::string prefix = find_prefix(zip);
  check_byte_order(zip, prefix);
  const std::string source = zip.file().name() + ": " + printable(prefix + "data.pkl");
  const PickleValues values = unpickle(zip.read_text(*zip.find(prefix + "data.pkl"), kLargestPickle), source);
  Contents contents = StateDictReader(zip, values, prefix).read();
  return std::make_unique<TorchCheckpoint>(std::move(zip), std::move(contents));
}

}  // namespace lingbot_map
