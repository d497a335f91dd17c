#include "session/saved_state.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "base/message.hpp"
#include "base/text.hpp"
#include "session/stream_state.hpp"

namespace lingbot_map {
namespace {

/// Of what a state file holds and means. A file of another version is refused.
constexpr std::int64_t kVersion = 1;

constexpr const char* kElsewhere = "; restore it with what it was saved with, or start a new session";

template <typename Value>
void require(const StateReader& state, const char* what, const Value& found, const Value& expected) {
  if (found == expected) return;
  fail(ErrorCode::input, state.name(), ": the saved session has ", what, ' ', found, ", expected ", expected,
       kElsewhere);
}

}  // namespace

void save_identity(StateWriter& state, const Model::Impl& model, const SessionOptions& options) {
  state.put("version", kVersion);
  state.put("model.fingerprint", model.network().weights().fingerprint);
  state.put("model.config", model.network().config().to_json());
  state.put("model.dtype", std::string(name_of(model.dtype())));
  state.put("options.scale_frames", std::int64_t{options.scale_frames});
  state.put("options.window", std::int64_t{options.window});
  state.put("options.keyframe_interval", std::int64_t{options.keyframe_interval});
  state.put("options.camera_iterations", std::int64_t{options.camera_iterations});
}

void check_identity(const StateReader& state, const Model::Impl& model, const SessionOptions& options) {
  const JsonFields& fields = state.fields();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (const std::int64_t version = fields.integer("version", 0, most); version != kVersion) {
    fail(ErrorCode::input, state.name(), ": is a saved session of version ", version, ", expected ", kVersion,
         "; go on with the program that saved it, or start a new session");
  }
  if (fields.text("model.config") != model.network().config().to_json()) {
    fail(ErrorCode::input, state.name(), ": was saved with a model of another configuration", kElsewhere);
  }
  const std::string saved = fields.text("model.fingerprint");
  if (const std::string& here = model.network().weights().fingerprint; saved != here) {
    fail(ErrorCode::input, state.name(), ": was saved with another model: found the fingerprint ",
         printable(saved.substr(0, 12)), "..., expected ", here.substr(0, 12), "...", kElsewhere);
  }
  require(state, "dtype", printable(fields.text("model.dtype")), std::string(name_of(model.dtype())));
  const auto require_option = [&](const char* name, std::int64_t here) {
    require(state, name, fields.integer(std::string("options.") + name, 1, most), here);
  };
  require_option("scale_frames", options.scale_frames);
  require_option("window", options.window);
  require_option("keyframe_interval", options.keyframe_interval);
  require_option("camera_iterations", options.camera_iterations);
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
  if (cache_.frames_kept() == 0 || !store_.holds(cache_.visible()) || camera_.frames() != cache_.frames_kept() ||
      camera_frames_seen_ < camera_.frames()) {
    state.refuse("its numbers of frames contradict each other");
  }
}

}  // namespace lingbot_map
