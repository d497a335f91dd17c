#pragma once

#include <map>

#include "backend/backend.hpp"

namespace lingbot_map::tool {

/// What a device can do at most, measured.
class Peak {
 public:
  explicit Peak(Backend& backend) : backend_(backend) {}

  /// Floating-point operations a second of products, two for a multiply-add. On a GPU a large product of this
  /// precision; on the CPU the same kernel's product with operands in first-level cache and sums in registers.
  [[nodiscard]] double flops(Precision precision);
  /// Bytes a second that a large copy reads and writes.
  [[nodiscard]] double bandwidth();

 private:
  Backend& backend_;
  std::map<Precision, double> flops_;
  double bandwidth_ = 0;
};

}  // namespace lingbot_map::tool
