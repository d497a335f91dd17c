#include "session/saved_state.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "base/message.hpp"
#include "base/text.hpp"
#include "session/flow_keyframes.hpp"
#include "session/stream_state.hpp"

namespace lingbot_map {
namespace {

/// Of what a state file holds and means. A file of another version is refused.
constexpr std::int64_t kVersion = 2;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

constexpr const char* kElsewhere = "; restore it with what it was saved with, or start a new session";

template <typename Value>
void require_same(const StateReader& state, const char* what, const Value& found, const Value& expected) {
  if (found == expected) return;
  fail(ErrorCode::input, state.name(), ": the saved session has ", what, ' ', found, ", expected ", expected,
       kElsewhere);
}

/// Bytes in host memory as a matrix of one row.
Tensor row_of(const Image& image) {
  return {const_cast<std::uint8_t*>(image.pixels.data()), DType::u8, {1, std::ssize(image.pixels)}};
}

}  // namespace

StateWriter state_writer(const Model::Impl& model, const std::filesystem::path& path) {
  Backend& backend = model.backend();
  return StateWriter(path, [&](const Tensor& from, std::span<std::byte> to) { backend.download(from, to); });
}

StateReader state_reader(const Model::Impl& model, const std::filesystem::path& path) {
  Backend& backend = model.backend();
  StateReader state(path, [&](std::span<const std::byte> from, const Tensor& to) { backend.upload(from, to); });
  if (const std::int64_t version = state.fields().integer("version", 0, kMost); version != kVersion) {
    fail(ErrorCode::input, state.name(), ": is a saved session of version ", version, ", expected ", kVersion,
         "; go on with the program that saved it, or start a new session");
  }
  return state;
}

void save_identity(StateWriter& state, const Model::Impl& model, const SessionOptions& options) {
  state.put("version", kVersion);
  state.put("model.fingerprint", model.network().weights().fingerprint);
  state.put("model.config", model.network().config().to_json());
  state.put("model.dtype", std::string(name_of(model.dtype())));
  state.put("options.scale_frames", std::int64_t{options.scale_frames});
  state.put("options.window", std::int64_t{options.window});
  state.put("options.keyframe_interval", std::int64_t{options.keyframe_interval});
  state.put("options.flow_threshold", options.flow_threshold);
  state.put("options.max_non_keyframe_gap", std::int64_t{options.max_non_keyframe_gap});
  state.put("options.camera_iterations", std::int64_t{options.camera_iterations});
  state.put("options.trajectory_memory", options.trajectory_memory);
}

void check_identity(const StateReader& state, const Model::Impl& model, const SessionOptions& options) {
  const JsonFields& fields = state.fields();
  if (fields.text("model.config") != model.network().config().to_json()) {
    fail(ErrorCode::input, state.name(), ": was saved with a model of another configuration", kElsewhere);
  }
  const std::string saved = fields.text("model.fingerprint");
  if (const std::string& here = model.network().weights().fingerprint; saved != here) {
    fail(ErrorCode::input, state.name(), ": was saved with another model: found the fingerprint ",
         printable(saved.substr(0, 12)), "..., expected ", here.substr(0, 12), "...", kElsewhere);
  }
  require_same(state, "dtype", printable(fields.text("model.dtype")), std::string(name_of(model.dtype())));
  const auto require_option = [&](const char* name, std::int64_t here) {
    require_same(state, name, fields.integer(std::string("options.") + name, 1, kMost), here);
  };
  require_option("scale_frames", options.scale_frames);
  require_option("window", options.window);
  require_option("keyframe_interval", options.keyframe_interval);
  require_same(state, "flow_threshold", fields.number("options.flow_threshold"), options.flow_threshold);
  if (options.flow_threshold > 0) require_option("max_non_keyframe_gap", options.max_non_keyframe_gap);
  require_option("camera_iterations", options.camera_iterations);
  const auto memory = [](bool on) { return std::string(on ? "on" : "off"); };
  require_same(state, "trajectory_memory", memory(fields.flag("options.trajectory_memory")),
               memory(options.trajectory_memory));
}

void save_image(StateWriter& state, std::string_view name, std::size_t number, const Image& image) {
  state.add(message(name, '.', number), row_of(image));
}

Image restore_image(StateReader& state, std::string_view name, std::size_t number, const FrameGrid& grid) {
  const std::string entry = message(name, '.', number);
  state.expect(entry, DType::u8, 1, 3 * grid.width * grid.height);
  Image image(static_cast<int>(grid.width), static_cast<int>(grid.height));
  state.read(entry, row_of(image));
  return image;
}

std::optional<FrameGrid> saved_grid(const StateReader& state, const Config& config) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const auto width = static_cast<int>(state.fields().integer("frame.width", 0, most));
  const auto height = static_cast<int>(state.fields().integer("frame.height", 0, most));
  if (width == 0 && height == 0) return std::nullopt;
  // A pixel takes more than a byte in any state with frames: bounds what a made-up file can ask for.
  if (state.fields().integer("frames", 0, kMost) > 0 && std::uint64_t(width) * std::uint64_t(height) > state.bytes())
    state.refuse(message("frames of ", width, "x", height, " pixels in a file of ", state.bytes(), " bytes"));
  try {
    return FrameGrid(config, width, height);
  } catch (const Error& error) {
    state.refuse(error.what());
  }
}

void FlowKeyframes::save(StateWriter& state) const {
  PoseEncoding pose = last_kept_;
  state.add("flow.last_kept", Tensor(pose.data(), DType::f32, {1, std::ssize(pose)}));
  state.put("flow.since_kept", since_kept_);
  state.put("flow.first", first_);
}

void FlowKeyframes::restore(StateReader& state) {
  state.read("flow.last_kept", Tensor(last_kept_.data(), DType::f32, {1, std::ssize(last_kept_)}));
  since_kept_ = state.fields().integer("flow.since_kept", 0, max_gap_ - 1);
  first_ = state.fields().flag("flow.first");
}

void StreamState::save(StateWriter& state) const {
  state.put("camera.frames_seen", camera_frames_seen_);
  cache_.save(state);
  store_.save(state);
  camera_.save(state);
}

void StreamState::restore(StateReader& state) {
  cache_.restore(state);
  store_.restore(state);
  camera_.restore(state);
  camera_frames_seen_ = state.fields().integer("camera.frames_seen", 0, std::int64_t{1} << 40);
  if (cache_.frames_kept() == 0 || !store_.holds(cache_.kept()) || camera_.frames() != cache_.frames_kept() ||
      camera_frames_seen_ < camera_.frames()) {
    state.refuse("its numbers of frames contradict each other");
  }
}

}  // namespace lingbot_map
