#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <random>
#include <thread>

#include "export/readers.hpp"
#include "media/onnx_file.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

/// Every file under a folder by its name; of run.json what does not depend on time and memory.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory()) continue;
    const std::string name = fs::relative(entry.path(), folder).string();
    contents[name] = content_of(entry.path());
    if (name != "run.json") continue;
    auto json = nlohmann::json::parse(contents[name]);
    for (const char* key : {"seconds", "start", "frames_per_second", "peak_memory_bytes", "device"}) json.erase(key);
    for (const char* key : {"skip_bad_frames", "checkpoint_every"}) json["settings"].erase(key);
    json["cache"].erase("bytes");                                 // which a window before the last one may have needed
    std::sort(json["warnings"].begin(), json["warnings"].end());  // several threads tell them
    if (json["sky"].is_object())  // masks behind the place where a run was saved are there already
      json["sky"]["masks_made"] = json["sky"]["masks_made"].get<int>() + json["sky"]["masks_reused"].get<int>();
    if (json["sky"].is_object()) json["sky"].erase("masks_reused");
    contents[name] = json.dump(2);
  }
  return contents;
}

void expect_same_files(const std::map<std::string, std::string>& found,
                       const std::map<std::string, std::string>& expected) {
  for (const auto& [name, content] : expected) {
    const auto there = found.find(name);
    ASSERT_NE(there, found.end()) << name;
    if (name == "run.json") {
      EXPECT_EQ(there->second, content);
    }
    EXPECT_TRUE(there->second == content) << name;
  }
  for (const auto& [name, content] : found) EXPECT_TRUE(expected.contains(name)) << name;
}

class RunResumeTest : public RunTest {
 protected:
  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> run_words(const std::vector<std::string>& more = {}) const {
    return words("out",
                 with({"--num_scale_frames", "3", "--kv_cache_sliding_window", "4", "--keyframe_interval", "3"}, more));
  }
  /// What the run leaves that nothing disturbs.
  std::map<std::string, std::string> undisturbed(const std::vector<std::string>& words) const {
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto contents = contents_of(folder_ / "out");
    fs::remove_all(folder_ / "out");
    return contents;
  }
  /// Kills the run so many times, each time soon after it was saved, and resumes it. Kills that come too late, since a
  /// machine is loaded, leave a complete run.
  void expect_same_when_killed(const std::vector<std::string>& all, int kills) const {
    const auto expected = undisturbed(all);
    std::mt19937 random(7);
    for (bool complete = false; !complete; --kills) {
      const std::string before = saved();
      Program program(with(all, before.empty() ? std::vector<std::string>{"--checkpoint_every", "1"}
                                               : std::vector<std::string>{"--checkpoint_every", "1", "--resume"}));
      if (kills > 0) {
        while (saved() == before && !program.ended()) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 15'000));
        program.send(SIGKILL);
      }
      const Outcome outcome = program.wait();
      if (outcome.signal == SIGKILL) continue;
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      complete = true;
    }
    expect_same_files(contents_of(folder_ / "out"), expected);
    fs::remove_all(folder_ / "out");
  }
  /// truth.txt: a path that is not on one line, at the frames' times and so much later.
  void write_truth(double later) const {
    std::string text;
    for (int i = 0; i < 20; ++i)
      text += std::to_string(0.1 * i + later) + ' ' + std::to_string(i) + ' ' + std::to_string(i * i) + " 0 0 0 0 1\n";
    write_content(folder_ / "truth.txt", text);
  }
  std::string saved() const {
    const fs::path file = folder_ / "out/checkpoint/run.json";
    return fs::exists(file) ? content_of(file) : "";
  }
  /// Frames of the session that the saved run goes on with.
  std::vector<std::string> sessions() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out/checkpoint"))
      if (entry.path().filename() != "run.json") names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// A run over 15 frames that ended at its tenth, which cannot be read, and was saved there.
  void make_saved_run() const {
    make_frames(15);
    write_content(folder_ / "frames/img_10.ppm", picture(10).substr(0, 1000));
    expect_refusal(run_program(run_words({"--checkpoint_every", "4", "--save_predictions"})), 1,
                   HasSubstr("img_10.ppm"));
    ASSERT_EQ(sessions(), std::vector<std::string>{"session_000010.npz"});
  }
  std::vector<std::string> resume_words(const std::vector<std::string>& more = {}) const {
    return run_words(with({"--resume", "--save_predictions", "--skip_bad_frames"}, more));
  }
};

TEST_F(RunResumeTest, KilledAnywhereItGoesOnToTheSameBytes) {
  make_frames(32);
  write_content(folder_ / "frames/img_5.ppm", "");
  write_content(folder_ / "frames/img_20.ppm", picture(20).substr(0, 1000));
  expect_same_when_killed(
      run_words({"--save_predictions", "--save_depth", "--skip_bad_frames", "--export_preprocessed", path("out/pre")}),
      5);
}

TEST_F(RunResumeTest, KilledInAnyWindowItGoesOnToTheSameBytes) {
  make_frames(26);
  write_content(folder_ / "frames/img_9.ppm", "");
  expect_same_when_killed(run_words({"--mode", "windowed", "--window_size", "5", "--overlap_size", "2",
                                     "--save_predictions", "--save_depth", "--skip_bad_frames"}),
                          4);
}

TEST_F(RunResumeTest, UnitsAndKnownCamerasStayTheSame) {
  make_frames(12);
  std::string cameras;
  for (int i = 0; i < 12; ++i) cameras += std::to_string(80 + i) + " 80 42 28\n";
  write_content(folder_ / "cameras.txt", cameras);
  expect_same_when_killed(run_words({"--scale", "2.5", "--intrinsics", path("cameras.txt"), "--export", "ply,tum,npz"}),
                          3);
}

TEST_F(RunResumeTest, KnownCamerasAreTheSameByTheirNumbersWhereverTheyLie) {
  make_frames(12);
  write_content(folder_ / "frames/img_10.ppm", "");
  const std::vector<std::string> all = run_words({"--save_predictions", "--intrinsics"});
  write_content(folder_ / "cameras.txt", "80 81 42 28\n");
  expect_refusal(run_program(with(all, {path("cameras.txt"), "--checkpoint_every", "4"})), 1, HasSubstr("img_10.ppm"));
  const std::vector<std::string> rest = {"--resume", "--skip_bad_frames"};
  write_content(folder_ / "cameras.txt", "80 81 42 28.5\n");
  expect_refusal(run_program(with(with(all, {path("cameras.txt")}), rest)), 1,
                 AllOf(HasSubstr("the fingerprint of the cameras of --intrinsics: found "),
                       HasSubstr("but the run in " + path("out/checkpoint/run.json") + " has ")));
  expect_refusal(run_program(resume_words()), 2, HasSubstr("--intrinsics: found none, but the run in"));
  write_content(folder_ / "moved.txt", "# as calibrated\n80.0, 81, 42, 28\n");
  const Outcome outcome = run_program(with(with(all, {path("moved.txt")}), rest));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_program(with(with(all, {"80,81,42,28"}), rest)).exit_code, 0) << "nothing to go on with";
}

TEST_F(RunResumeTest, WhatIsCompletedAtTheEndStaysTheSame) {
  make_frames(12);
  std::string cameras;
  for (int i = 0; i < 12; ++i) cameras += std::to_string(80 + i) + " 80 42 28\n";
  write_content(folder_ / "cameras.txt", cameras);
  expect_same_when_killed(run_words({"--export", "ply,glb,colmap,nerfstudio,tum,kitti,npz", "--voxel_size", "0.01",
                                     "--conf_threshold", "0", "--scale", "2", "--intrinsics", path("cameras.txt"),
                                     "--save_depth", "--export_preprocessed", path("out/pre")}),
                          4);
}

TEST_F(RunResumeTest, AnAlignmentStaysTheSame) {
  make_frames(14);
  write_truth(0);
  expect_same_when_killed(run_words({"--align_to", path("truth.txt"), "--save_predictions", "--save_depth", "--mode",
                                     "windowed", "--window_size", "5", "--overlap_size", "2"}),
                          3);
}

TEST_F(RunResumeTest, ATrajectoryThatDidNotFitCanBeCorrected) {
  make_frames(10);
  write_truth(0);
  const std::vector<std::string> all = run_words({"--align_to", path("truth.txt"), "--export", "tum,glb"});
  const auto expected = undisturbed(all);
  write_truth(1000);
  expect_refusal(run_program(with(all, {"--checkpoint_every", "4"})), 1, HasSubstr("truth.txt"));
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 10U) << "in the network's own units";
  write_truth(0);
  const fs::path kept = folder_ / "out/network_units/frame_000003.npz";
  fs::rename(kept, folder_ / "kept.npz");
  expect_refusal(run_program(with(all, {"--resume"})), 1, HasSubstr("network_units: has 7 of the 8 frames"));
  fs::rename(folder_ / "kept.npz", kept);
  // As if a kill had come while the files took their places.
  write_content(folder_ / "out/trajectory.txt", "");
  fs::create_directory(folder_ / "out/aligned.part");
  write_content(folder_ / "out/aligned.part/scene.glb", "");
  const Outcome outcome = run_program(with(all, {"--resume"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_same_files(contents_of(folder_ / "out"), expected);
}

TEST_F(RunResumeTest, AnInterruptedRunHasItsFilesAndGoesOn) {
  make_frames(60);
  const std::vector<std::string> all = run_words({"--export", "tum,glb", "--voxel_size", "0.1"});
  const auto expected = undisturbed(all);
  Program program(with(all, {"--checkpoint_every", "5"}));
  while (saved().empty() && !program.ended()) std::this_thread::sleep_for(1ms);
  program.send(SIGINT);
  const Outcome outcome = program.wait();
  if (outcome.exit_code != 0) {  // on a loaded machine the signal may come too late
    ASSERT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_TRUE(fs::exists(folder_ / "out/scene.glb"));
    EXPECT_TRUE(fs::exists(folder_ / "out/network_units")) << "to go on with";
    const Outcome rest = run_program(with(all, {"--resume"}));
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
  }
  expect_same_files(contents_of(folder_ / "out"), expected);
}

TEST_F(RunResumeTest, ANewRunLeavesNothingOfAKilledOne) {
  make_frames(40);
  const std::vector<std::string> all = run_words({"--export", "tum"});
  const auto expected = undisturbed(all);
  Program program(run_words({"--export", "tum,ply", "--checkpoint_every", "5", "--voxel_size", "0.1"}));
  while (saved().empty() && !program.ended()) std::this_thread::sleep_for(1ms);
  program.send(SIGKILL);  // on a loaded machine too late: it leaves a complete run
  EXPECT_NE(program.wait().exit_code, 2);
  std::filesystem::remove(folder_ / "out/points.ply");  // which the new run is not asked for
  ASSERT_EQ(run_program(all).exit_code, 0);
  expect_same_files(contents_of(folder_ / "out"), expected);
}

TEST_F(RunResumeTest, SkyIsFoundOnceAndStaysTheSame) {
  make_frames(16);
  write_content(folder_ / "sky.onnx", onnx_file({.bias = -4}));
  for (const std::string& model : {path("sky.onnx"), std::string("builtin")})
    expect_same_when_killed(
        run_words({"--mask_sky", "--sky_model", model, "--save_predictions", "--sky_mask_visualization_dir",
                   path("out/seen"), "--mode", "windowed", "--window_size", "5", "--overlap_size", "2"}),
        3);
}

TEST_F(RunResumeTest, FramesThatAreKeptByFlowStayTheSame) {
  make_frames(16);
  expect_same_when_killed(words("out", {"--num_scale_frames", "3", "--kv_cache_sliding_window", "4", "--flow_threshold",
                                        "5", "--max_non_keyframe_gap", "3", "--save_predictions"}),
                          3);
}

TEST_F(RunResumeTest, JumpsAndCutsComeOutTheSame) {
  const std::string model = make_jumping_run();
  const auto jumping = [&](const std::vector<std::string>& more) {
    return words("out", with({"--model_path", model, "--num_scale_frames", "3", "--overlap_size", "4"}, more));
  };
  expect_same_when_killed(jumping({"--on_collapse", "reset", "--first_k", "34"}), 2);
  const std::vector<std::string> cases[] = {
      {"--on_collapse", "warn"},
      {"--on_collapse", "reset", "--save_predictions"},
      {"--on_collapse", "reset", "--save_predictions", "--mode", "windowed", "--window_size", "12"}};
  for (const std::vector<std::string>& more : cases) {
    SCOPED_TRACE(testing::PrintToString(more));
    const auto expected = undisturbed(jumping(more));
    EXPECT_GE(nlohmann::json::parse(expected.at("run.json"))["counts"]["jumps"].get<int>(), 1);
    const fs::path bad = folder_ / "frames/img_31.ppm";  // the run is saved there, just behind the jump
    const std::string whole = content_of(bad);
    write_content(bad, "XX" + whole.substr(2));  // of the same size
    ASSERT_EQ(run_program(with(jumping(more), {"--checkpoint_every", "25"})).exit_code, 1);
    write_content(bad, whole);
    const Outcome rest = run_program(with(jumping(more), {"--resume"}));
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    expect_same_files(contents_of(folder_ / "out"), expected);
    fs::remove_all(folder_ / "out");
  }
}

TEST_F(RunResumeTest, AWindowedRunThatEndsEarlyWritesWhatItHoldsAndGoesOn) {
  make_frames(15);
  write_content(folder_ / "frames/img_9.ppm", picture(9).substr(0, 1000));
  const std::vector<std::string> all =
      run_words({"--mode", "windowed", "--window_size", "5", "--overlap_size", "2", "--save_predictions"});
  expect_refusal(run_program(with(all, {"--checkpoint_every", "100"})), 1, HasSubstr("img_9.ppm"));
  EXPECT_EQ(report("out")["counts"]["frames"], 9) << "held results are written";
  EXPECT_EQ(sessions(), std::vector<std::string>{"session_000007.npz"}) << "and wait for the next window in the state";
  expect_refusal(run_program(with(all, {"--resume", "--overlap_size", "1"})), 2, HasSubstr("--overlap_size: found 1"));
  const Outcome outcome = run_program(with(all, {"--resume", "--skip_bad_frames"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto found = contents_of(folder_ / "out");
  fs::remove_all(folder_ / "out");
  expect_same_files(found, undisturbed(with(all, {"--skip_bad_frames"})));
}

TEST_F(RunResumeTest, AnInterruptedRunGoesOnWhereItStood) {
  make_frames(60);
  const auto expected = undisturbed(run_words({"--save_predictions"}));
  Program program(run_words({"--save_predictions", "--checkpoint_every", "1000"}));
  while (!fs::exists(folder_ / "out/predictions/frame_000007.npz")) std::this_thread::sleep_for(1ms);
  program.send(SIGINT);
  const Outcome outcome = program.wait();
  if (outcome.exit_code == 0) return;  // on a loaded machine the signal may come too late
  ASSERT_EQ(outcome.exit_code, 130) << outcome.err;
  const std::size_t frames = report("out")["counts"]["frames"];
  EXPECT_THAT(outcome.err, HasSubstr("saved after " + std::to_string(frames) + " frames: --resume goes on"));
  EXPECT_EQ(report("out")["status"], "interrupted");
  const Outcome rest = run_program(run_words({"--save_predictions", "--resume"}));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("going on after " + std::to_string(frames) + " frames"));
  expect_same_files(contents_of(folder_ / "out"), expected);
}

TEST_F(RunResumeTest, AVideoGoesOnAtTheNextFrame) {
  {
    cv::VideoWriter writer(path("v.avi"), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 30, {96, 64});
    ASSERT_TRUE(writer.isOpened());
    for (int i = 0; i < 120; ++i) {
      cv::Mat picture(64, 96, CV_8UC3);
      for (int y = 0; y < 64; ++y)
        for (int x = 0; x < 96; ++x)
          picture.at<cv::Vec3b>(y, x) = cv::Vec3b(static_cast<std::uint8_t>(2 * i + x),
                                                  static_cast<std::uint8_t>(3 * y), static_cast<std::uint8_t>(x + y));
      writer.write(picture);
    }
  }
  const std::vector<std::string> some = {
      "run", "--model_path", model(), "--video_path", path("v.avi"), "--output",           path("out"), "--image_size",
      "84",  "--fps",        "12",    "--stride",     "2",           "--num_scale_frames", "3"};
  const auto expected = undisturbed(some);
  Program program(with(some, {"--checkpoint_every", "1"}));
  while (saved().empty() && !program.ended()) std::this_thread::sleep_for(1ms);
  program.send(SIGKILL);
  (void)program.wait();
  const Outcome rest = run_program(with(some, {"--resume"}));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  expect_same_files(contents_of(folder_ / "out"), expected);
}

TEST_F(RunResumeTest, ARunThatABadFrameEndedGoesOnWithoutThatFrame) {
  make_saved_run();
  const Outcome outcome = run_program(resume_words());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto found = contents_of(folder_ / "out");
  fs::remove_all(folder_ / "out");
  expect_same_files(found, undisturbed(run_words({"--save_predictions", "--skip_bad_frames"})));
}

TEST_F(RunResumeTest, IsSavedEveryNFramesButNotAmongTheScaleFrames) {
  make_frames(14);
  const Outcome outcome = run_program(
      words("out", {"--checkpoint_every", "3", "--num_scale_frames", "5", "--verbose", "--keyframe_interval", "1"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t at = 0;
  for (const char* frames :
       {"saved after 5 frames", "saved after 6 frames", "saved after 9 frames", "saved after 12 frames"}) {
    at = outcome.err.find(frames, at);
    ASSERT_NE(at, std::string::npos) << frames << "\n" << outcome.err;
  }
  EXPECT_FALSE(fs::exists(folder_ / "out/checkpoint")) << "a complete run needs it no more";
  EXPECT_EQ(report("out")["settings"]["checkpoint_every"], 3);
}

TEST_F(RunResumeTest, ThereMustBeARunToGoOnWith) {
  make_frames(4);
  expect_refusal(run_program(run_words({"--resume"})), 1, HasSubstr("holds no saved run"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  ASSERT_EQ(run_program(run_words()).exit_code, 0);
  const auto before = contents_of(folder_ / "out");
  const Outcome again = run_program(run_words({"--resume"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, HasSubstr("is complete: there is nothing to go on with"));
  EXPECT_TRUE(contents_of(folder_ / "out") == before);
  expect_refusal(run_program(run_words({"--resume", "--save_depth"})), 2,
                 AllOf(HasSubstr("--save_depth: found true"), HasSubstr("has false")));
}

TEST_F(RunResumeTest, AnotherRunIsRefused) {
  make_saved_run();
  const auto before = contents_of(folder_ / "out");
  const auto expect_other = [&](const std::vector<std::string>& more, int exit_code, const char* line) {
    expect_refusal(run_program(resume_words(more)), exit_code, HasSubstr(line));
  };
  expect_other({"--stride", "2"}, 2, "--stride: found 2, but the run in");
  expect_other({"--kv_cache_sliding_window", "8"}, 2, "--kv_cache_sliding_window: found 8");
  expect_other({"--keyframe_interval", "1"}, 2, "--keyframe_interval: found 1");
  expect_other({"--image_size", "56"}, 2, "--image_size: found 56");
  expect_other({"--dtype", "bf16"}, 2, "--dtype: found bf16");
  expect_other({"--save_depth"}, 2, "--save_depth: found true");
  expect_other({"--export_preprocessed", path("pre")}, 2, "has none");
  ASSERT_EQ(run_program({"synth", "--config", "tiny", "--seed", "9", "--output", path("other.safetensors")}).exit_code,
            0);
  expect_other({"--model_path", path("other.safetensors")}, 1, "the fingerprint of the model");
  fs::rename(folder_ / "frames/img_2.ppm", folder_ / "frames/img_2b.ppm");
  expect_other({}, 1, "the fingerprint of the input");
  fs::remove(folder_ / "frames/img_2b.ppm");
  expect_other({}, 1, "the number of frames of the input: found 14");
  write_content(folder_ / "frames/img_2.ppm", picture(2));
  EXPECT_TRUE(contents_of(folder_ / "out") == before) << "a refused run has touched nothing";
  fs::rename(folder_ / "frames", folder_ / "moved");
  EXPECT_EQ(run_program(resume_words({"--image_folder", path("moved"), "--threads", "1"})).exit_code, 0);
}

TEST_F(RunResumeTest, ADamagedStateIsRefused) {
  make_saved_run();
  const fs::path run = folder_ / "out/checkpoint/run.json";
  const fs::path session = folder_ / "out/checkpoint/session_000010.npz";
  const auto expect_spoilt = [&](const fs::path& file, const std::string& content, const char* line) {
    SCOPED_TRACE(file.string());
    const std::string whole = content_of(file);
    write_content(file, content);
    expect_refusal(run_program(resume_words()), 1, HasSubstr(line));
    write_content(file, whole);
  };
  std::string flipped = content_of(run);
  flipped[flipped.find("\"bytes\":") + 8] = '9';
  expect_spoilt(run, flipped, "check sum");
  expect_spoilt(run, "", "JSON");
  expect_spoilt(run, "{}", "run");
  expect_spoilt(run, content_of(run).substr(0, 500), "JSON");
  expect_spoilt(session, content_of(session).substr(0, 5000), "session_000010.npz");
  flipped = content_of(session);
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
  expect_spoilt(session, flipped, "check sum");
  expect_spoilt(folder_ / "out/trajectory.txt", "", "trajectory.txt: has 0 bytes");
  fs::rename(folder_ / "out/predictions/frame_000003.npz", folder_ / "kept.npz");
  expect_refusal(run_program(resume_words()), 1, HasSubstr("has 9 of the 10 frames"));
  fs::rename(folder_ / "kept.npz", folder_ / "out/predictions/frame_000003.npz");
  fs::rename(session, folder_ / "session");
  expect_refusal(run_program(resume_words()), 1, HasSubstr("session_000010.npz: cannot be opened"));
  fs::rename(folder_ / "session", session);
  EXPECT_EQ(run_program(resume_words()).exit_code, 0);
}

TEST_F(RunResumeTest, ANewRunForgetsTheSavedOne) {
  make_saved_run();
  ASSERT_EQ(run_program(run_words({"--first_k", "5"})).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/checkpoint"));
}

TEST_F(RunResumeTest, AStateThatDoesNotFitTheDiskIsAWarning) {
  make_frames(12);
  const Outcome outcome = run_program(run_words({"--checkpoint_every", "2"}), 200'000);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the run could not be saved after 3 frames and goes on"));
  EXPECT_EQ(outcome.err.find("could not be saved"), outcome.err.rfind("could not be saved")) << "told once";
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 12U);
}

TEST_F(RunResumeTest, TheStateMustHaveAFolder) {
  make_frames(3);
  fs::create_directory(folder_ / "out");
  write_content(folder_ / "out/checkpoint", "");
  expect_refusal(run_program(run_words({"--checkpoint_every", "1"})), 1, HasSubstr("out/checkpoint: is not a folder"));
  expect_refusal(run_program(run_words({"--checkpoint_every", "-1"})), 2, HasSubstr("--checkpoint_every: found -1"));
}

}  // namespace
}  // namespace lingbot_map::test
