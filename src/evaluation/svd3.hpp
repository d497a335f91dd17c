#pragma once

#include <array>

#include "geometry/rigid.hpp"

namespace lingbot_map {

/// matrix = u * diag(values) * transpose(v): u and v orthogonal (each may be a reflection), values descending and not
/// negative.
struct Svd3 {
  Mat3 u;
  Vec3 values;
  Mat3 v;
};

/// The singular value decomposition of a finite matrix by one-sided Jacobi rotations (Hestenes 1958), which is accurate
/// to rounding for every matrix; columns of u that belong to values of zero are completed to an orthogonal matrix.
[[nodiscard]] Svd3 svd3(const Mat3& matrix) noexcept;

[[nodiscard]] double determinant(const Mat3& matrix) noexcept;

}  // namespace lingbot_map
