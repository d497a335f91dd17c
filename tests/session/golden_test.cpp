#include "golden.hpp"

#include <gtest/gtest.h>

#include "lingbot_map/lingbot_map.hpp"
#include "usable_gpu.hpp"

namespace lingbot_map {
namespace {

using test::Golden;
using test::relative_error;

constexpr std::uint64_t kSeed = 1;

/// A whole sequence, every frame's results one after the other.
struct Sequence {
  std::vector<float> pose;
  std::vector<float> depth;
  std::vector<float> depth_conf;
  std::vector<float> world_points;
  std::vector<float> world_points_conf;

  void append(const FrameResult& result) {
    pose.insert(pose.end(), result.pose_enc.begin(), result.pose_enc.end());
    depth.insert(depth.end(), result.depth.begin(), result.depth.end());
    depth_conf.insert(depth_conf.end(), result.depth_conf.begin(), result.depth_conf.end());
    world_points.insert(world_points.end(), result.world_points.begin(), result.world_points.end());
    world_points_conf.insert(world_points_conf.end(), result.world_points_conf.begin(), result.world_points_conf.end());
  }
};

Sequence run(const Model& model, const SessionOptions& options, const std::vector<Image>& images, std::size_t count) {
  Session session(model, options);
  Sequence sequence;
  for (std::size_t i = 0; i < count; ++i) {
    session.submit(images.at(i));
    if (session.in_flight() < 2) continue;  // one frame is computed while the next is on its way
    for (const FrameResult& result : session.collect()) sequence.append(result);
  }
  for (const FrameResult& result : session.finish()) sequence.append(result);
  return sequence;
}

struct Case {
  const char* name;
  const char* images;
  std::size_t frames;
  SessionOptions options;
  bool points = false;
  bool camera_rope = false;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

SessionOptions options(int scale_frames, int window, int interval, int iterations) {
  return {
      .scale_frames = scale_frames, .window = window, .keyframe_interval = interval, .camera_iterations = iterations};
}

const Case kCases[] = {
    {"kf1", "images", 14, options(3, 4, 1, 4)},
    {"kf3", "images", 20, options(3, 4, 3, 4)},
    {"it1_sf1", "images", 8, options(1, 3, 1, 1)},
    {"short", "images", 2, options(3, 4, 1, 4)},
    {"point", "images", 6, options(3, 4, 1, 4), true},
    {"sq112", "images112", 5, options(3, 4, 1, 4)},
    {"camrope", "images", 8, options(3, 4, 1, 4), false, true},
};

Model tiny_model(const Case& value, DType dtype, Device device = Device::cpu()) {
  Config config = Config::tiny();
  config.has_point_head = value.points;
  config.camera_rope = value.camera_rope;
  return Model::synthetic(config, kSeed, {.device = device, .dtype = dtype});
}

/// How far each output may be from the golden one, relative.
struct Bounds {
  double pose;
  double depth;
  double depth_conf;
  double world_points;
  double world_points_conf;
};
constexpr Bounds kFloat32 = {1e-5, 1e-5, 1e-5, 1e-5, 1e-5};
/// Twice the error of the public network when every operand of a product in encoder and aggregator (queries, keys,
/// probabilities and values included) is rounded to bfloat16 and all else is float32: docs/numerics.md.
constexpr Bounds kBfloat16 = {2 * 3.50e-3, 2 * 1.58e-3, 2 * 4.25e-4, 2 * 2.20e-3, 2 * 4.02e-4};

class GoldenCase : public testing::TestWithParam<Case> {
 protected:
  /// Runs the case and holds every output that the file has against it.
  void compare(DType dtype, const Bounds& bounds, Device device = Device::cpu(),
               AttentionKind attention = AttentionKind::automatic) {
    const Case& value = GetParam();
    Golden golden(LINGBOT_MAP_TEST_DATA "/tiny.safetensors");
    SessionOptions options = value.options;
    options.attention = attention;
    const Sequence found = run(tiny_model(value, dtype, device), options, golden.images(value.images), value.frames);
    struct Output {
      const char* name;
      const std::vector<float>& values;
      double bound;
    };
    const Output outputs[] = {{"pose_enc", found.pose, bounds.pose},
                              {"depth", found.depth, bounds.depth},
                              {"depth_conf", found.depth_conf, bounds.depth_conf},
                              {"world_points", found.world_points, bounds.world_points},
                              {"world_points_conf", found.world_points_conf, bounds.world_points_conf}};
    int compared = 0;
    for (const Output& output : outputs) {
      const std::string name = std::string(value.name) + "." + output.name;
      if (!golden.has(name)) continue;
      const double error = relative_error(output.values, golden.floats(name));
      std::printf("%-28s %s %.2e\n", name.c_str(), std::string(name_of(dtype)).c_str(), error);
      EXPECT_LE(error, output.bound) << name;
      ++compared;
    }
    EXPECT_EQ(compared, value.points ? 5 : value.camera_rope ? 1 : 3);
  }
};

TEST_P(GoldenCase, Float32) { compare(DType::f32, kFloat32); }

TEST_P(GoldenCase, Bfloat16) { compare(DType::bf16, kBfloat16); }

class GoldenCaseOnGpu : public GoldenCase {
 protected:
  void SetUp() override {
    if (!test::usable_gpu()) GTEST_SKIP() << "no usable GPU here";
  }
};

TEST_P(GoldenCaseOnGpu, Float32) { compare(DType::f32, kFloat32, Device::cuda(), AttentionKind::sdpa); }
TEST_P(GoldenCaseOnGpu, Float32OverPages) { compare(DType::f32, kFloat32, Device::cuda(), AttentionKind::flashinfer); }
TEST_P(GoldenCaseOnGpu, Bfloat16) { compare(DType::bf16, kBfloat16, Device::cuda(), AttentionKind::sdpa); }
TEST_P(GoldenCaseOnGpu, Bfloat16OverPages) {
  compare(DType::bf16, kBfloat16, Device::cuda(), AttentionKind::flashinfer);
}
TEST_P(GoldenCaseOnGpu, Float16) { compare(DType::f16, kBfloat16, Device::cuda()); }

/// Everything that may not change a bit: recorded operations, frames on their way, a second run.
TEST_P(GoldenCaseOnGpu, GivesTheSameBitsWithAndWithoutRecordings) {
  const Case& value = GetParam();
  Golden golden(LINGBOT_MAP_TEST_DATA "/tiny.safetensors");
  const std::vector<Image> images = golden.images(value.images);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Model model = tiny_model(value, dtype, Device::cuda());
    for (const AttentionKind attention : {AttentionKind::sdpa, AttentionKind::flashinfer}) {
      SessionOptions options = value.options;
      options.attention = attention;
      const Sequence recorded = run(model, options, images, value.frames);
      const Sequence again = run(model, options, images, value.frames);
      options.graphs = false;
      const Sequence direct = run(model, options, images, value.frames);
      options.profile = true;
      const Sequence timed = run(model, options, images, value.frames);
      for (const Sequence* other : {&again, &direct, &timed}) {
        EXPECT_EQ(recorded.pose, other->pose) << name_of(dtype) << " " << name_of(attention);
        EXPECT_EQ(recorded.depth, other->depth) << name_of(dtype) << " " << name_of(attention);
        EXPECT_EQ(recorded.depth_conf, other->depth_conf) << name_of(dtype) << " " << name_of(attention);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenCaseOnGpu, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Tiny, GoldenCase, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lingbot_map
