#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// What a Python object that a pickle names may be to us. None is ever called.
enum class PickleRole : std::uint8_t {
  storage,    ///< a torch storage class: the dtype of elements
  tensor,     ///< rebuilds a tensor from a storage, offset, sizes and strides
  parameter,  ///< wraps a tensor
  mapping,    ///< a dict of another class (OrderedDict)
  size,       ///< torch.Size: a tuple of integers
  data        ///< data of a kind that is only carried along (torch.device, argparse.Namespace, ...)
};

struct PickleGlobal {
  std::string_view module;
  std::string_view name;
  PickleRole role;
  DType dtype = DType::f32;  ///< of a storage
};

/// The list of objects a pickle may name; nullptr for any other.
[[nodiscard]] const PickleGlobal* find_pickle_global(std::string_view module, std::string_view name) noexcept;

/// Index of a value in a PickleValues.
using PickleRef = std::uint32_t;

struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,  ///< integer: 0 or 1
    integer,
    number,    ///< a float, or an integer past 64 bits; its value is not kept
    text,      ///< text: UTF-8
    bytes,     ///< content not kept
    sequence,  ///< list or set: items
    tuple,     ///< items
    mapping,   ///< dict: items are key, value, key, value, ...
    global,    ///< global
    storage,   ///< items: what torch.save says of a storage
    tensor,    ///< items: the arguments that rebuild it
    data       ///< an object of a class that is only carried along
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  std::string text{};
  std::vector<PickleRef> items{};
  const PickleGlobal* global = nullptr;
};

/// All values of a pickle. References may form cycles and share values, so follow them only to a known depth.
class PickleValues {
 public:
  [[nodiscard]] const PickleValue& operator[](PickleRef ref) const { return values_[ref]; }
  [[nodiscard]] const PickleValue& root() const { return values_[root_]; }
  /// The value of a mapping's last item with this text as its key; nullptr if there is none.
  [[nodiscard]] const PickleValue* lookup(const PickleValue& mapping, std::string_view key) const;

 private:
  friend class Unpickler;
  std::vector<PickleValue> values_;
  PickleRef root_ = 0;
};

/// Interprets a pickle of protocol 2 to 5 as far as tensors and plain containers need, without calling anything.
/// Its memory is bounded by the size of the text. Throws Error(input) that begins with `source` on damage, on an opcode
/// outside the set, and on an object outside the list: that one is named, with how to re-save the file.
[[nodiscard]] PickleValues unpickle(std::string_view bytes, const std::string& source);

}  // namespace lingbot_map
