#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_fields.hpp"

namespace lingbot_map::tool {

/// The folder OUTPUT/checkpoint, from which a run can go on:
///
///     session_000120.npz   Session::save() after frame 119
///     run.json             everything else that is to be known at that frame, with its own check sum
///
/// run.json names its session by the number of frames, and takes the place of the one before when both are whole and on
/// the disk; only then the older session goes. So wherever the program is killed, there is one whole state.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(const std::filesystem::path& output) : folder_(output / "checkpoint") {}

  /// Makes the folder. Throws Error(output).
  void create() const;
  /// Where the session after so many frames is, or is to be written.
  [[nodiscard]] std::filesystem::path session_file(std::int64_t frames) const;
  /// Replaces run.json by one for so many frames and removes the sessions of fewer. Throws Error(output).
  void write_run(const nlohmann::ordered_json& run, std::int64_t frames) const;
  /// What write_run() was given last; nothing when there is no run.json. Throws Error(input) when it is damaged.
  [[nodiscard]] std::optional<JsonFields> read_run() const;
  /// Removes all sessions but this one: what a killed process did not finish.
  void keep_only(std::int64_t frames) const;
  /// Removes everything that is ours, and the folder if nothing else is in it. Throws Error(output).
  void clear() const;

 private:
  [[nodiscard]] std::filesystem::path run_file() const { return folder_ / "run.json"; }

  std::filesystem::path folder_;
};

}  // namespace lingbot_map::tool
