#include <gtest/gtest.h>

#include <set>

#include "export/readers.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (!entry.is_directory()) names.insert(std::filesystem::relative(entry.path(), folder).string());
  return names;
}

TEST_F(RunTest, WritesEveryFile) {
  make_frames(11);
  const Outcome outcome =
      run_program(words("out", {"--save_predictions", "--save_depth", "--export_preprocessed", path("out/pre"),
                                "--keyframe_interval", "2", "--num-scale-frames", "4", "--max_frame_num", "2048"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--max_frame_num: a sequence may have any length"), HasSubstr("11 frames"),
                                 HasSubstr(path("out")), testing::Not(HasSubstr("\r"))));

  std::set<std::string> expected = {"intrinsics.txt", "points.ply",           "poses_kitti.txt",         "run.json",
                                    "trajectory.txt", "predictions/meta.npz", "predictions/frames.jsonl"};
  for (int i = 0; i < 11; ++i) {
    const std::string number = (i < 10 ? "00000" : "0000") + std::to_string(i);
    expected.insert("pre/" + number + ".png");
    expected.insert("predictions/frame_" + number + ".npz");
    for (const char* kind : {"depth", "depth_color", "confidence", "confidence_color"})
      expected.insert(std::string(kind) + "/frame_" + number + ".png");
  }
  EXPECT_EQ(files_in(folder_ / "out"), expected);

  const auto trajectory = table_of(folder_ / "out/trajectory.txt");
  ASSERT_EQ(trajectory.size(), 11U);
  EXPECT_EQ(trajectory[0].size(), 8U);
  EXPECT_DOUBLE_EQ(trajectory[10][0], 1.0);
  EXPECT_EQ(table_of(folder_ / "out/poses_kitti.txt").size(), 11U);
  const auto intrinsics = table_of(folder_ / "out/intrinsics.txt");
  ASSERT_EQ(intrinsics.size(), 11U);
  EXPECT_EQ(intrinsics[10][0], 10);
  EXPECT_EQ(intrinsics[10][9], 84);
  EXPECT_GT(read_ply(folder_ / "out/points.ply").vertices.size(), 100U);
  const auto frame = read_npz(folder_ / "out/predictions/frame_000010.npz");
  EXPECT_EQ(frame.at("depth").shape, "56,84,1");
  EXPECT_EQ(frame.at("images").shape, "3,56,84");
}

TEST_F(RunTest, TakesNoMemoryForAWindowThatItsImagesCannotFill) {
  make_frames(11);
  const auto with_window = [this](const std::string& output, const std::string& window) {
    return run_program(words(output, {"--num_scale_frames", "4", "--kv_cache_sliding_window", window}));
  };
  ASSERT_EQ(with_window("fitting", "7").exit_code, 0);
  const Outcome outcome = with_window("large", "2000000000");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(report("large")["settings"]["kv_cache_sliding_window"], 2000000000);
  EXPECT_EQ(report("large")["cache"]["bytes"], report("fitting")["cache"]["bytes"]);
  EXPECT_EQ(content_of(folder_ / "large/trajectory.txt"), content_of(folder_ / "fitting/trajectory.txt"));
}

TEST_F(RunTest, ReportsSettingsCountsAndCache) {
  make_frames(11);
  ASSERT_EQ(
      run_program(words("out", {"--num_scale_frames", "4", "--keyframe_interval", "2", "--stride", "1"})).exit_code, 0);
  const auto json = report("out");
  EXPECT_EQ(json["status"], "complete");
  EXPECT_EQ(json["settings"]["num_scale_frames"], 4);
  EXPECT_EQ(json["settings"]["keyframe_interval"], 2);
  EXPECT_EQ(json["settings"]["keyframe_interval_is_automatic"], false);
  EXPECT_EQ(json["settings"]["backend"], "sdpa");
  EXPECT_EQ(json["settings"]["dtype"], "fp32");
  EXPECT_EQ(json["settings"]["image_size"], 84);
  EXPECT_EQ(json["checkpoint"]["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(json["checkpoint"]["config"]["embed_dim"], 128);
  EXPECT_EQ(json["input"]["expected_frames"], 11);
  EXPECT_EQ(json["input"]["height"], 56);
  EXPECT_EQ(json["counts"]["frames"], 11);
  EXPECT_EQ(json["counts"]["scale_frames"], 4);
  EXPECT_EQ(json["counts"]["keyframes"], 4);
  EXPECT_EQ(json["counts"]["non_keyframes"], 3);
  EXPECT_EQ(json["cache"]["frame_count"], 8);
  EXPECT_EQ(json["cache"]["special_tokens"], 48);
  EXPECT_GT(json["seconds"]["inference_stages"]["encoder"].get<double>(), 0);
  EXPECT_GT(json["peak_memory_bytes"].get<std::int64_t>(), 1'000'000);
}

TEST_F(RunTest, GivesTheSameFilesTwice) {
  make_frames(12);
  for (const char* output : {"one", "two"})
    ASSERT_EQ(run_program(words(output, {"--save_predictions", "--save_depth", "--quiet"})).exit_code, 0);
  std::set<std::string> files = files_in(folder_ / "one");
  EXPECT_EQ(files, files_in(folder_ / "two"));
  files.erase("run.json");
  for (const std::string& file : files)
    EXPECT_TRUE(content_of(folder_ / "one" / file) == content_of(folder_ / "two" / file)) << file;
}

TEST_F(RunTest, TakesFewerFramesThanTheScalePass) {
  make_frames(3);
  ASSERT_EQ(run_program(words("out")).exit_code, 0);
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 3U);
  EXPECT_EQ(report("out")["counts"]["scale_frames"], 3);
}

TEST_F(RunTest, ReplacesAnEarlierRun) {
  make_frames(10);
  ASSERT_EQ(run_program(words("out", {"--save_predictions", "--save_depth"})).exit_code, 0);
  ASSERT_EQ(run_program(words("out", {"--save_predictions", "--save_depth", "--first_k", "5"})).exit_code, 0);
  EXPECT_EQ(table_of(folder_ / "out/trajectory.txt").size(), 5U);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/depth/frame_000004.png"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/depth/frame_000005.png"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/predictions/frame_000005.npz"));
}

TEST_F(RunTest, TellsTheTimeOfAFrameBeforeAnyWasLeftOut) {
  make_frames(20);
  ASSERT_EQ(run_program(words("out", {"--first_k", "10", "--stride", "4", "--fps", "2"})).exit_code, 0);
  const auto trajectory = table_of(folder_ / "out/trajectory.txt");
  ASSERT_EQ(trajectory.size(), 3U);
  EXPECT_DOUBLE_EQ(trajectory[1][0], 2);
  EXPECT_DOUBLE_EQ(trajectory[2][0], 4);
}

TEST_F(RunTest, TakesTimesFromFileNames) {
  std::filesystem::create_directory(folder_ / "frames");
  for (const char* name : {"rgb_99.5.ppm", "rgb_100.25.ppm", "rgb_101.0.ppm"})
    write_content(folder_ / "frames" / name, picture(1));
  ASSERT_EQ(run_program(words("out", {"--timestamps", "name"})).exit_code, 0);
  const auto trajectory = table_of(folder_ / "out/trajectory.txt");
  ASSERT_EQ(trajectory.size(), 3U);
  EXPECT_DOUBLE_EQ(trajectory[0][0], 99.5);
  EXPECT_DOUBLE_EQ(trajectory[1][0], 100.25);
}

TEST_F(RunTest, ChoosesTheKeyframeIntervalAndSaysSo) {
  make_frames(1);
  for (int i = 1; i < 321; ++i)
    std::filesystem::create_hard_link(folder_ / "frames/img_0.ppm",
                                      folder_ / ("frames/img_" + std::to_string(i) + ".ppm"));
  const Outcome outcome = run_program(words("out", {"--image_size", "28"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("keyframe interval: 2"));
  EXPECT_EQ(report("out")["cache"]["frame_count"], 8 + 157);
  EXPECT_EQ(report("out")["settings"]["keyframe_interval_is_automatic"], true);
}

TEST_F(RunTest, IsSilentWhenQuiet) {
  make_frames(2);
  write_content(folder_ / "frames/img_1b.ppm", "broken");
  const Outcome outcome = run_program(words("out", {"--quiet", "--skip_bad_frames", "--compile"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(report("out")["notes"].size(), 1U);
  EXPECT_GE(report("out")["warnings"].size(), 1U);
}

TEST_F(RunTest, PlansWithoutRunning) {
  make_frames(2);
  const Outcome outcome = run_program(
      {"run", "--model_path", model(), "--image_folder", path("frames"), "--image_size", "84", "--plan", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("84x56"), HasSubstr("weights"), HasSubstr("cache"), HasSubstr("activations"),
                                 testing::ContainsRegex("are free beside the weights: room for [0-9,]+ kept frames")));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(RunTest, SaysWhereAndHowItRuns) {
  make_frames(9);
  const Outcome outcome = run_program(words("out", {"--device", "cpu"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(testing::ContainsRegex("model: .* fp32 on cpu \\(.+\\) with [0-9]+ threads"),
                                 HasSubstr("attention: sdpa")));
  const auto json = report("out");
  EXPECT_NE(json["device"]["name"].get<std::string>(), "");
  EXPECT_EQ(json["device"]["driver"], nullptr);
  EXPECT_GT(json["device"]["memory_bytes"].get<std::int64_t>(), json["device"]["allocated_bytes"].get<std::int64_t>());
}

TEST_F(RunTest, TellsWhereTheTimeGoes) {
  make_frames(9);
  const Outcome outcome = run_program(words("out", {"--profile", "--no-graphs"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* stage : {"encoder", "frame attention", "global attention", "camera", "depth", "copies and the rest"})
    EXPECT_THAT(outcome.out, HasSubstr(std::string("| ") + stage + " | "));
  const auto json = report("out");
  EXPECT_EQ(json["settings"]["profile"], true);
  EXPECT_EQ(json["settings"]["graphs"], false);
  EXPECT_GT(json["seconds"]["inference_stages"]["global_attention"].get<double>(), 0);
}

TEST_F(RunTest, TakesBfloat16AndAConfiguration) {
  make_frames(9);
  ASSERT_EQ(run_program(words("out", {"--dtype", "bf16", "--config", "tiny", "--threads", "1"})).exit_code, 0);
  const auto json = report("out");
  EXPECT_EQ(json["settings"]["dtype"], "bf16");
  EXPECT_EQ(json["settings"]["threads"], 1);
}

TEST_F(RunTest, TakesTheModelThatComesWithTheProgram) {
  make_frames(9);
  std::filesystem::create_directories(folder_ / "bin");
  std::filesystem::create_directories(folder_ / "share/lingbot-map");
  std::filesystem::copy_file(LINGBOT_MAP_PROGRAM, folder_ / "bin/lingbot-map");
  std::filesystem::create_symlink(folder_ / "bin/lingbot-map", folder_ / "linked");
  const std::string bundled = path("share/lingbot-map/lingbot-map-mini.safetensors");
  std::filesystem::copy_file(model(), bundled);
  std::vector<std::string> without_model = words("out");
  without_model.erase(without_model.begin() + 1, without_model.begin() + 3);
  const Outcome outcome = Program(without_model, RLIM_INFINITY, path("linked")).wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(bundled + ", which comes with the program"));
  EXPECT_EQ(report("out")["checkpoint"]["path"], bundled);
  EXPECT_EQ(report("out")["settings"]["model_path"], bundled);
}

TEST_F(RunTest, TakesThePublicDemosWholeCommandLine) {
  make_frames(9);
  const Outcome outcome = run_program({"demo",
                                       "--image_folder",
                                       path("frames/"),
                                       "--model_path",
                                       model(),
                                       "--image_size",
                                       "84",
                                       "--patch_size",
                                       "14",
                                       "--fps",
                                       "10",
                                       "--first_k",
                                       "8",
                                       "--stride",
                                       "1",
                                       "--mode",
                                       "streaming",
                                       "--enable_3d_rope",
                                       "--max_frame_num",
                                       "1024",
                                       "--num_scale_frames",
                                       "4",
                                       "--keyframe_interval",
                                       "2",
                                       "--kv_cache_sliding_window",
                                       "4",
                                       "--camera_num_iterations",
                                       "2",
                                       "--use_sdpa",
                                       "--compile",
                                       "--offload_to_cpu",
                                       "--port",
                                       "8080",
                                       "--conf_threshold",
                                       "1.5",
                                       "--downsample_factor",
                                       "10",
                                       "--point_size",
                                       "0.00001",
                                       "--mask_sky",
                                       "--sky_mask_dir",
                                       path("masks"),
                                       "--sky_mask_visualization_dir",
                                       path("seen"),
                                       "--export_preprocessed",
                                       path("preprocessed")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* flag : {"--enable_3d_rope: ", "--max_frame_num: ", "--compile: ", "--offload_to_cpu: ", "--port: ",
                           "--point_size: ", "--mask_sky: "})
    EXPECT_THAT(outcome.err, HasSubstr(flag));
  EXPECT_EQ(report("frames_lingbot_map")["counts"]["frames"], 8);
  EXPECT_EQ(report("frames_lingbot_map")["settings"]["on_collapse"], "warn");
  EXPECT_TRUE(report("frames_lingbot_map")["collapses"].is_array());
  const Outcome windowed =
      run_program({"demo", "--image_folder", path("frames"), "--model_path", model(), "--image_size", "84", "--mode",
                   "windowed", "--num_scale_frames", "2", "--window_size", "5", "--overlap_size", "2", "--output",
                   path("elsewhere"), "--on_collapse", "stop"});
  EXPECT_THAT(windowed.exit_code, testing::AnyOf(0, 1)) << windowed.err;  // random weights may well jump
  EXPECT_EQ(report("elsewhere")["settings"]["mode"], "windowed");
  EXPECT_EQ(report("elsewhere")["settings"]["on_collapse"], "stop");
}

TEST_F(RunTest, ExplainsItself) {
  const Outcome help = run_program({"run", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--image_folder"), HasSubstr("--keyframe_interval"), HasSubstr("--plan")));
  const Outcome all = run_program({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* command : {"run", "preprocess", "info", "convert", "synth", "bench"})
    EXPECT_THAT(all.out, HasSubstr(command));
  EXPECT_THAT(run_program({"--version"}).out, testing::StartsWith("lingbot-map "));
}

}  // namespace
}  // namespace lingbot_map::test
