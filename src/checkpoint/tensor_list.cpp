#include "checkpoint/tensor_list.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {

TensorList::TensorList(std::vector<TensorInfo> tensors, const std::string& source)
    : tensors_(std::move(tensors)), by_name_(tensors_.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  const auto name = [this](std::size_t index) -> std::string_view { return tensors_[index].name; };
  std::ranges::sort(by_name_, {}, name);
  const auto twin = std::ranges::adjacent_find(by_name_, {}, name);
  if (twin != by_name_.end()) {
    fail(ErrorCode::input, source, ": holds two tensors named ", printable(name(*twin)),
         ", expected one; the file is damaged, get it again");
  }
}

std::optional<std::size_t> TensorList::index_of(std::string_view name) const noexcept {
  const auto name_at = [this](std::size_t index) -> std::string_view { return tensors_[index].name; };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, name_at);
  if (at == by_name_.end() || name_at(*at) != name) return std::nullopt;
  return *at;
}

const TensorInfo* TensorList::find(std::string_view name) const noexcept {
  const std::optional<std::size_t> index = index_of(name);
  return index ? &tensors_[*index] : nullptr;
}

std::size_t TensorList::checked_index(const TensorInfo& info, std::size_t elements) const {
  const std::optional<std::size_t> index = index_of(info.name);
  check(index.has_value(), "read of ", printable(info.name), ", which the checkpoint does not hold");
  const auto expected = static_cast<std::size_t>(tensors_[*index].elements());
  check(elements == expected, "read of ", printable(info.name), " into ", elements, " elements, expected ", expected);
  return *index;
}

}  // namespace lingbot_map
