#include "run_saver.hpp"

#include <system_error>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map::tool {

RunSaver::RunSaver(const CheckpointFolder& folder, int every, nlohmann::ordered_json identity, Console& console,
                   const SavedRun* from)
    : folder_(folder), every_(every), identity_(std::move(identity)), console_(console) {
  if (every_ > 0) folder_.create();
  if (from == nullptr) return;
  last_frames_ = saved_frames_ = from->counts.frames;
  left_out_ = from->left_out;
}

bool RunSaver::due(std::int64_t frames) const noexcept { return every_ > 0 && frames / every_ > last_frames_ / every_; }

std::optional<SavePoint> RunSaver::save_session(const FrameStream& stream, const CollapseReport& collapses,
                                                std::int64_t results) {
  last_frames_ = stream.frames_pushed();
  try {
    stream.save(folder_.session_file(results), collapses.watch());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::output) throw;
    warn(results, error);
    return std::nullopt;
  }
  SavePoint place;
  place.frames = results;
  place.collapses = collapses.state();
  return place;
}

void RunSaver::note(const TimedFrame& frame) {
  left_out_.insert(left_out_.end(), frame.left_out.begin(), frame.left_out.end());
}

void RunSaver::commit(const SavePoint& place, const RunOutput& output, const RunReport& report) {
  SavedRun run{.identity = identity_,
               .position = place.position,
               .left_out = left_out_,
               .counts = report.counts,
               .seconds = place.seconds,
               .stages = place.stages,
               .sky = report.sky,
               .start = report.start,
               .collapses = place.collapses,
               .output = output.state()};
  run.seconds.write = report.seconds.write;
  try {
    output.sync();
    folder_.write_run(to_json(run), place.frames);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::output) throw;
    std::error_code ignored;
    // One with as many results goes with the older state just as well.
    if (place.frames != saved_frames_) std::filesystem::remove(folder_.session_file(place.frames), ignored);
    warn(place.frames, error);
    return;
  }
  saved_frames_ = place.frames;
  warned_ = false;
  console_.detail(message("saved after ", place.frames, " frames"));
}

void RunSaver::warn(std::int64_t frames, const Error& error) {
  if (warned_.exchange(true)) return;
  console_.warning(message("the run could not be saved after ", frames, " frames and goes on: ", error.what()));
}

}  // namespace lingbot_map::tool
