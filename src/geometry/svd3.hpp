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

/// The rotation R for which trace(transpose(R) * matrix) is largest: of a sum of outer products `to * transpose(from)`,
/// the one that turns all `from` closest to their `to`. `decomposed` is the matrix's; where two of its values are zero
/// the turn about the third axis is any.
[[nodiscard]] Mat3 nearest_rotation(const Svd3& decomposed) noexcept;

[[nodiscard]] double determinant(const Mat3& matrix) noexcept;

}  // namespace lingbot_map
