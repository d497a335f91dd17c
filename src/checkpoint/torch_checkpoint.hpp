#pragma once

#include <memory>

#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"

namespace lingbot_map {

/// Reads what torch.save writes since PyTorch 1.6: a zip archive of stored entries with NAME/data.pkl, which says what
/// the tensors are, and NAME/data/KEY, which holds their elements. The state dict is the saved object itself or its
/// entry "model". Tensors may be strided views into a storage. Throws Error(input) on anything that does not fit.
[[nodiscard]] std::unique_ptr<Checkpoint> open_torch_checkpoint(File file);

}  // namespace lingbot_map
