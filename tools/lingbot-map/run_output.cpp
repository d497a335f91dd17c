#include "run_output.hpp"

#include <limits>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/message.hpp"
#include "export/predictions_reader.hpp"
#include "media/write_png.hpp"
#include "numbered_pictures.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNetworkUnits = "network_units";
constexpr const char* kAligned = "aligned.part";

ResultOptions result_options(const RunOptions& options) {
  ResultOptions results = options.results();
  results.save_predictions = options.save_predictions;
  return results;
}

/// What is written before the end: what people look at while the run goes on, or after it was killed.
ResultOptions options_until_the_end(const RunOptions& options) {
  ResultOptions results = result_options(options);
  ExportFormats formats;
  for (const ExportFormat format : {ExportFormat::ply, ExportFormat::tum, ExportFormat::kitti})
    if (results.formats.has(format)) formats.add(format);
  results.formats = formats;
  results.voxel_size = 0;
  results.save_predictions = false;
  return results;
}

void discard(const fs::path& folder) noexcept {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

/// Moves all that is in `from` into `to`, where it replaces what has the name.
void move_into(const fs::path& from, const fs::path& to) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(from)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    const fs::path place = to / entry.filename();
    if (fs::is_directory(fs::symlink_status(place))) fs::remove_all(place);
    fs::rename(entry, place);
  }
  fs::remove(from);
}

/// Those that files of a run may be in.
std::vector<fs::path> folders_of(const RunOptions& options) {
  std::vector<fs::path> folders = {options.output};
  if (!options.export_preprocessed.empty()) folders.emplace_back(options.export_preprocessed);
  if (!options.mask_sky) return folders;
  folders.emplace_back(options.sky_mask_dir);
  if (!options.sky_mask_visualization_dir.empty()) folders.emplace_back(options.sky_mask_visualization_dir);
  return folders;
}

}  // namespace

RunOutput::RunOutput(const RunOptions& options, Console& console, const JsonFields* state)
    : options_(options),
      console_(console),
      saved_(options.checkpoint_every > 0 || options.resume),
      rewritten_(!options.align_to.empty() || (saved_ && !without_state(result_options(options)).empty())),
      folder_(options.output),
      preprocessed_(options.export_preprocessed),
      written_to_(folders_of(options)),
      cameras_(options.known_cameras()),
      units_(options.units()) {
  if (rewritten_) {
    keep_until_the_end(state);
  } else {
    discard(folder_ / kNetworkUnits);  // of an earlier run that was killed
    files_.emplace(folder_, result_options(options), options.save_depth, state);
    if (cameras_) cameras_->skip(results().frames());
  }
  if (!preprocessed_.empty()) prepare_pictures(preprocessed_, "", results().frames());
}

void RunOutput::keep_until_the_end(const JsonFields* state) {
  if (!options_.align_to.empty()) target_.emplace(options_.align_to, options_.max_time_difference);
  files_.emplace(folder_, options_until_the_end(options_), false);
  std::optional<JsonFields> kept;
  if (state != nullptr) kept = state->object(kNetworkUnits);
  network_units_.emplace(folder_ / kNetworkUnits, Units{}, PredictionsWriter::Images::bytes, kept ? &*kept : nullptr);
  if (state != nullptr) write_again(*state);
}

/// The frames before the place where a run was saved.
void RunOutput::write_again(const JsonFields& state) {
  const std::int64_t saved = state.integer("frames", 1, std::numeric_limits<std::int64_t>::max());
  PredictionsReader frames(folder_ / kNetworkUnits, options_.fps);
  if (frames.frames() != saved)
    fail(ErrorCode::input, (folder_ / kNetworkUnits).string(), ": found ", frames.frames(), " frames, expected the ",
         saved, " of ", state.source(), "; begin the run anew");
  while (auto frame = frames.next()) take(frame->result, frame->meta);
}

void RunOutput::take(const FrameResult& result, FrameMeta& meta) {
  if (cameras_) meta.camera = cameras_->next(meta.original);
  files_->write(result, meta);
  if (target_) target_->add(meta.timestamp, result.pose_enc);
}

void RunOutput::write(const FrameResult& result, TimedFrame frame) {
  if (!preprocessed_.empty()) write_png(preprocessed_ / numbered_picture("", result.index), frame.source.image);
  FrameMeta meta{.timestamp = frame.timestamp,
                 .name = std::move(frame.source.name),
                 .image = std::move(frame.source.image),
                 .original = frame.source.geometry.original_pixels(),
                 .file = std::move(frame.source.file),
                 .camera = std::nullopt};
  take(result, meta);
  if (network_units_) network_units_->write(pose_frame(result, meta));
}

WriterState RunOutput::state() const {
  if (!rewritten_) return files_->state();
  return {{"frames", results().frames()}, {kNetworkUnits, network_units_->state()}};
}

void RunOutput::sync() const {
  for (const fs::path& folder : written_to_) sync_file_system(folder);
}

void RunOutput::finish(std::span<const WindowRecord> windows) {
  finishing_ = true;
  files_->finish(windows);
  if (!rewritten_) return;
  network_units_->finish(windows);
  if (target_) align();
  write_anew(windows);
  if (!saved_) discard(folder_ / kNetworkUnits);
}

void RunOutput::forget() noexcept {
  if (rewritten_ && saved_) discard(folder_ / kNetworkUnits);
}

void RunOutput::close() noexcept {
  if (finishing_) return;  // that was the failure
  try {
    files_->finish();
    if (network_units_) network_units_->finish();
  } catch (const std::exception&) {  // the failure before says more
  }
}

void RunOutput::align() {
  const std::string kept = (folder_ / kNetworkUnits).string();
  try {
    fit_ = target_->fit();
  } catch (const Error& error) {
    fail(error.code(), error.what(), "; the results stand in the network's own units, and lingbot-map export ", kept,
         " aligns them without the network");
  }
  units_ = Units::aligned(fit_->target_from_network, target_->name());
  console_.info(fit_text(*fit_, target_->name()) + "; writing all results in its units");
  if (const std::string warning = resolution_warning(*fit_, target_->name()); !warning.empty())
    console_.warning(warning);
}

void RunOutput::write_anew(std::span<const WindowRecord> windows) {
  const fs::path aligned = folder_ / kAligned;
  ResultOptions results = result_options(options_);
  results.units = units_;
  try {
    fs::remove_all(aligned);
    files_.emplace(aligned, results, options_.save_depth);
    PredictionsReader frames(folder_ / kNetworkUnits, options_.fps);
    std::optional<KnownCameras> cameras = options_.known_cameras();
    while (auto frame = frames.next()) {
      if (cameras) frame->meta.camera = cameras->next(frame->meta.original);
      files_->write(frame->result, frame->meta);
    }
    files_->finish(windows);
    move_into(aligned, folder_);
  } catch (const fs::filesystem_error& error) {
    discard(aligned);
    fail(ErrorCode::output, aligned.string(), ": cannot take the place of the results before it: ", error.what());
  } catch (...) {
    discard(aligned);
    throw;
  }
}

}  // namespace lingbot_map::tool
