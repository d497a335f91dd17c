#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "alignment_target.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "export/predictions_reader.hpp"
#include "export/result_writer.hpp"
#include "export_options.hpp"
#include "flags.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

struct ExportCommand {
  std::string predictions;
  std::string output;
  double fps = 10;
  bool quiet = false;
  ExportOptions options;
};

void tell(const ExportCommand& command, const std::string& line) {
  if (!command.quiet) std::cerr << "lingbot-map: " << line << '\n' << std::flush;
}

void check_command(const ExportCommand& command) {
  check_export_options(command.options);
  if (!std::isfinite(command.fps) || command.fps <= 0)
    fail(ErrorCode::usage, "--fps: found ", command.fps, ", expected a positive number");
  if (command.output.empty()) fail(ErrorCode::usage, "no output: give --output DIR, the folder for the results");
  // The format npz clears and writes a folder, which must not be the one that is read.
  std::error_code none;
  if (command.options.export_formats().has(ExportFormat::npz) &&
      fs::equivalent(fs::path(command.output) / "predictions", command.predictions, none))
    fail(ErrorCode::usage, "--output: found ", command.output,
         ", where npz would replace the predictions that are read; choose another folder");
}

/// The units asked for; an alignment takes a first way through all frames.
Units units_of(const ExportCommand& command) {
  const ExportOptions& options = command.options;
  if (options.align_to.empty()) return options.units();
  AlignmentTarget target(options.align_to, options.max_time_difference);
  PredictionsReader frames(command.predictions, command.fps);
  while (const auto frame = frames.next()) target.add(frame->meta.timestamp, frame->result.pose_enc);
  const TrajectoryFit fit = target.fit();
  tell(command, fit_text(fit, target.name()));
  if (const std::string warning = resolution_warning(fit, target.name()); !warning.empty())
    tell(command, "warning: " + warning);
  return Units::aligned(fit.target_from_network, target.name());
}

void export_predictions(const ExportCommand& command) {
  check_command(command);
  PredictionsReader frames(command.predictions, command.fps);
  std::optional<KnownCameras> cameras = command.options.known_cameras();
  if (cameras && cameras->frames().value_or(frames.frames()) < frames.frames())
    fail(ErrorCode::input, command.options.intrinsics, ": found cameras for ", *cameras->frames(),
         " frames, expected one for each of ", frames.frames());
  if (!frames.has_sidecar())
    tell(command, message(command.predictions, ": no frames.jsonl: times are frame / ", command.fps,
                          ", and the network's input counts as the original picture"));
  if (!frames.units_text().empty())
    tell(command, message(command.predictions, ": there already ", printable(frames.units_text())));

  ResultOptions results = command.options.results();
  results.units = units_of(command);
  if (results.units.changed) tell(command, "units: " + results.units.text);
  ResultWriter writer(command.output, results);
  while (auto frame = frames.next()) {
    if (cameras) frame->meta.camera = cameras->next(frame->meta.original);
    writer.write(frame->result, frame->meta);
  }
  writer.finish(frames.windows());
  for (const std::string& line : writer.warnings()) tell(command, "warning: " + line);
  if (const auto blind = writer.frames_without_camera(); blind > 0)
    tell(command, message("warning: ", blind, " of ", writer.frames(),
                          " frames have no usable pose or field of view, and so no points"));
  tell(command, message(writer.frames(), " frames; results in ", command.output));
}

}  // namespace

void add_export(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("export", "Writes saved predictions in other formats, without the network.");
  const auto command = std::make_shared<ExportCommand>();
  sub->add_option("PREDICTIONS_DIR", command->predictions,
                  "Folder of frame_000000.npz, ... from run --save_predictions")
      ->required();
  Flags flags(*sub);
  flags.group("Output");
  flags.value("--output", command->output, "Folder for the results; made if it is not there", "DIR");
  add_export_flags(flags, command->options);
  flags.value("--fps", command->fps, "Frames a second, where the predictions do not tell their times (10)", "N");
  flags.flag("--quiet", command->quiet, "Print nothing but errors");
  sub->callback([command] { export_predictions(*command); });
}

}  // namespace lingbot_map::tool
