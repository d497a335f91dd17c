#include <algorithm>
#include <array>

#include "checkpoint/pickle.hpp"

namespace lingbot_map {
namespace {

using enum PickleRole;

constexpr std::array kGlobals = {
    PickleGlobal{"torch", "FloatStorage", storage, DType::f32},
    PickleGlobal{"torch", "HalfStorage", storage, DType::f16},
    PickleGlobal{"torch", "BFloat16Storage", storage, DType::bf16},
    PickleGlobal{"torch", "DoubleStorage", storage, DType::f64},
    PickleGlobal{"torch", "LongStorage", storage, DType::i64},
    PickleGlobal{"torch", "IntStorage", storage, DType::i32},
    PickleGlobal{"torch", "ShortStorage", storage, DType::i16},
    PickleGlobal{"torch", "CharStorage", storage, DType::i8},
    PickleGlobal{"torch", "ByteStorage", storage, DType::u8},
    PickleGlobal{"torch", "BoolStorage", storage, DType::boolean},
    PickleGlobal{"torch._utils", "_rebuild_tensor_v2", tensor},
    PickleGlobal{"torch._utils", "_rebuild_parameter", parameter},
    PickleGlobal{"torch._utils", "_rebuild_parameter_with_state", parameter},
    PickleGlobal{"collections", "OrderedDict", mapping},
    PickleGlobal{"collections", "defaultdict", mapping},
    PickleGlobal{"collections", "Counter", mapping},
    PickleGlobal{"torch", "Size", size},
    PickleGlobal{"torch", "device", data},
    PickleGlobal{"torch", "float32", data},
    PickleGlobal{"torch", "float16", data},
    PickleGlobal{"torch", "bfloat16", data},
    PickleGlobal{"torch", "float64", data},
    PickleGlobal{"torch", "int64", data},
    PickleGlobal{"torch", "int32", data},
    PickleGlobal{"torch", "int16", data},
    PickleGlobal{"torch", "int8", data},
    PickleGlobal{"torch", "uint8", data},
    PickleGlobal{"torch", "bool", data},
    PickleGlobal{"argparse", "Namespace", data},
    PickleGlobal{"pathlib", "PosixPath", data},
    PickleGlobal{"pathlib", "WindowsPath", data},
    PickleGlobal{"_codecs", "encode", data},  // how protocol 2 writes bytes
    PickleGlobal{"builtins", "set", data},    // how it writes sets, and the factories of defaultdict
    PickleGlobal{"builtins", "frozenset", data},
    PickleGlobal{"builtins", "dict", data},
    PickleGlobal{"builtins", "list", data},
    PickleGlobal{"builtins", "int", data},
    PickleGlobal{"builtins", "float", data},
};

}  // namespace

const PickleGlobal* find_pickle_global(std::string_view module, std::string_view name) noexcept {
  if (module == "__builtin__") module = "builtins";  // its name in Python 2, which protocol 2 keeps
  const auto same = [&](const PickleGlobal& global) { return global.module == module && global.name == name; };
  const auto at = std::ranges::find_if(kGlobals, same);
  return at == kGlobals.end() ? nullptr : &*at;
}

}  // namespace lingbot_map
