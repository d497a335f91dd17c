#include "run_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "lingbot_map/device_info.hpp"
#include "lingbot_map/error.hpp"
#include "run_report.hpp"

namespace lingbot_map::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

RunOptions parsed(const std::string& flags) {
  CLI::App app;
  RunOptions options;
  add_run_flags(app, options);
  app.parse("--model_path m.pt " + flags);
  return options;
}

const std::string kBasics = "--image_folder frames --output out ";

RunSettings settled(const std::string& flags) {
  RunOptions options = parsed(kBasics + flags);
  return settle(options);
}

struct Refusal {
  ErrorCode code;
  std::string text;
};

Refusal refusal(const std::string& flags) {
  try {
    RunOptions options = parsed(flags);
    static_cast<void>(settle(options));
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::internal, "accepted"};
}

TEST(RunFlags, HaveThePublicDefaults) {
  const RunOptions options = parsed(kBasics);
  EXPECT_EQ(options.fps, 10);
  EXPECT_EQ(options.stride, 1);
  EXPECT_EQ(options.num_scale_frames, 8);
  EXPECT_EQ(options.kv_cache_sliding_window, 64);
  EXPECT_EQ(options.camera_num_iterations, 4);
  EXPECT_EQ(options.conf_threshold, 1.5);
  EXPECT_EQ(options.downsample_factor, 10);
  EXPECT_EQ(options.export_formats(), kDefaultFormats);
  EXPECT_FALSE(options.first_k);
  EXPECT_FALSE(options.image_size);
  const RunSettings settings = settled("");
  EXPECT_EQ(settings.model.device, default_device());
  EXPECT_FALSE(settings.model.dtype);
  EXPECT_TRUE(settings.session.graphs);
  EXPECT_TRUE(settings.session.trajectory_memory);
  EXPECT_FALSE(settings.session.profile);
  EXPECT_EQ(settings.session.attention, AttentionKind::automatic);
  EXPECT_FALSE(settings.keyframe_interval);
}

TEST(RunFlags, AreSpelledWithUnderscoreOrDash) {
  const std::string values = " frames --output=out --stride 3 --save";
  for (const RunOptions& options : {parsed("--image_folder" + values + "_predictions --kv_cache_sliding_window=5"),
                                    parsed("--image-folder" + values + "-predictions --kv-cache-sliding-window=5")}) {
    EXPECT_EQ(options.image_folder, "frames");
    EXPECT_EQ(options.output, "out");
    EXPECT_EQ(options.stride, 3);
    EXPECT_EQ(options.kv_cache_sliding_window, 5);
    EXPECT_TRUE(options.save_predictions);
  }
}

TEST(RunFlags, TheLastOfTwoCounts) {
  const RunOptions options = parsed(kBasics + "--stride 2 --output second --stride 3");
  EXPECT_EQ(options.stride, 3);
  EXPECT_EQ(options.output, "second");
}

TEST(RunFlags, ShowThePublicSpellingInTheHelpText) {
  CLI::App app;
  RunOptions options;
  add_run_flags(app, options);
  EXPECT_THAT(app.help(),
              AllOf(HasSubstr("--image_folder DIR"), HasSubstr("--keyframe_interval N|auto"), HasSubstr("--mask_sky"),
                    HasSubstr("--sky_model FILE.onnx|builtin"), HasSubstr("--sky_mask_dir DIR"),
                    HasSubstr("--sky_mask_visualization_dir DIR"), testing::Not(HasSubstr("--image-folder")),
                    testing::Not(HasSubstr("--skyseg_model_path"))));
}

TEST(RunFlags, WithoutEffectLeaveALine) {
  const RunOptions options = parsed(kBasics +
                                    "--enable_3d_rope --max_frame_num 2048 --compile --offload_to_cpu "
                                    "--no-offload_to_cpu --port 8080 --point-size 1e-5");
  ASSERT_EQ(options.notes.size(), 7U);
  EXPECT_THAT(options.notes, testing::Each(HasSubstr("changes nothing")));
  EXPECT_THAT(options.notes, testing::Contains(StartsWith("--max_frame_num: ")));
}

TEST(RunFlags, RefuseWhatTheyDoNotKnow) {
  EXPECT_THROW(parsed(kBasics + "--strid 2"), CLI::ParseError);
  EXPECT_THROW(parsed(kBasics + "--stride two"), CLI::ParseError);
  EXPECT_THROW(parsed(kBasics + "--stride 99999999999"), CLI::ParseError);
  EXPECT_THROW(parsed(kBasics + "--stride"), CLI::ParseError);
  EXPECT_THROW(parsed(kBasics + "surplus"), CLI::ParseError);
}

TEST(RunSettings, RefuseImpossibleValues) {
  const std::pair<const char*, const char*> cases[] = {
      {"--fps 0", "--fps: found 0"},
      {"--fps -2", "--fps: found -2"},
      {"--fps nan", "--fps: found nan"},
      {"--fps inf", "--fps: found inf"},
      {"--first_k 0", "--first_k: found 0"},
      {"--stride 0", "--stride: found 0, expected 1 or more"},
      {"--stride -1", "--stride: found -1"},
      {"--preprocess_mode stretch", "--preprocess_mode: found \"stretch\", expected crop or pad"},
      {"--patch_size 16", "--patch_size: found 16, expected 14"},
      {"--image_size 0", "--image_size: found 0"},
      {"--image_size -14", "--image_size: found -14"},
      {"--image_size 500", "--image_size: found 500, expected a multiple of 14"},
      {"--image_size 1400000", "--image_size: found 1400000"},
      {"--mode batch", "--mode: found \"batch\""},
      {"--num_scale_frames 0", "--num_scale_frames: found 0"},
      {"--keyframe_interval 0", "--keyframe_interval: found \"0\""},
      {"--keyframe_interval -3", "--keyframe_interval: found \"-3\""},
      {"--keyframe_interval often", "--keyframe_interval: found \"often\""},
      {"--keyframe_interval 2.5", "--keyframe_interval: found \"2.5\""},
      {"--kv_cache_sliding_window 0", "--kv_cache_sliding_window: found 0"},
      {"--camera_num_iterations 0", "--camera_num_iterations: found 0"},
      {"--on_collapse panic", "--on_collapse: found \"panic\", expected warn, reset or stop"},
      {"--flow_threshold -1", "--flow_threshold: found -1"},
      {"--flow_threshold nan", "--flow_threshold: found nan"},
      {"--flow_threshold inf", "--flow_threshold: found inf"},
      {"--max_non_keyframe_gap 0", "--max_non_keyframe_gap: found 0"},
      {"--flow_threshold 5 --keyframe_interval 2", "--flow_threshold and --keyframe_interval contradict"},
      {"--mode windowed --window_size 0", "--window_size: found 0"},
      {"--mode windowed --window_size -64", "--window_size: found -64"},
      {"--mode windowed --overlap_size -1", "--overlap_size: found -1"},
      {"--mode windowed --overlap_keyframes 0", "--overlap_keyframes: found 0"},
      {"--mode windowed --window_alignment best", "--window_alignment: found \"best\", expected exact or robust"},
      {"--mode windowed --window_size 16", "--mode windowed: overlap_size is 16, but a window has 16 frames"},
      {"--mode windowed --overlap_keyframes 64", "overlap_keyframes is 64, an overlap of 64 frames"},
      {"--mode windowed --window_size 8 --overlap_size 4 --flow_threshold 9", "no frame in common"},
      {"--backend cudnn", "--backend: found \"cudnn\", expected auto, sdpa or flashinfer"},
      {"--use_sdpa --backend flashinfer", "--use_sdpa and --backend flashinfer"},
      {"--device gpu", "--device: found \"gpu\", expected auto, cpu, cuda or cuda:N"},
      {"--dtype int8", "--dtype: found \"int8\""},
      {"--threads -1", "--threads: found -1"},
      {"--timestamps exif", "--timestamps: found \"exif\""},
      {"--conf_threshold nan", "--conf_threshold: found nan"},
      {"--downsample_factor 0", "--downsample_factor: found 0"},
      {"--mask_sky", "--mask_sky: no sky model; give --sky_model FILE"},
      {"--sky_model builtin", "--sky_model: found without --mask_sky"},
      {"--skyseg_model_path x.onnx", "--sky_model: found without --mask_sky"},
      {"--quiet --verbose", "--quiet and --verbose"},
  };
  for (const auto& [flags, expected] : cases) {
    const Refusal refused = refusal(kBasics + flags);
    EXPECT_EQ(refused.code, ErrorCode::usage) << flags << ": " << refused.text;
    EXPECT_THAT(refused.text, HasSubstr(expected)) << flags;
    EXPECT_THAT(refused.text, testing::Not(HasSubstr("\n"))) << flags;
  }
}

TEST(RunSettings, WindowsHaveThePublicDefaults) {
  EXPECT_FALSE(settled("").windowed);
  const RunSettings settings = settled("--mode windowed --num_scale_frames 4");
  ASSERT_TRUE(settings.windowed);
  EXPECT_EQ(settings.windowed->window_size, 64);
  EXPECT_EQ(settings.windowed->overlap_size, 16);
  EXPECT_FALSE(settings.windowed->overlap_keyframes);
  EXPECT_EQ(settings.windowed->alignment, WindowAlignment::exact);
  EXPECT_EQ(settings.windowed->session.scale_frames, 4);
  EXPECT_EQ(settings.windowed->session.keyframe_interval, 1);
  EXPECT_EQ(settings.session.flow_threshold, 0);
  EXPECT_EQ(settings.session.max_non_keyframe_gap, 100);
}

TEST(RunSettings, WindowsAreTheLibrarysTerms) {
  const RunSettings settings = settled(
      "--mode windowed --window_size 128 --overlap-keyframes 8 --keyframe_interval 13 --window_alignment robust");
  EXPECT_EQ(settings.windowed->window_size, 128);
  EXPECT_EQ(settings.windowed->overlap_keyframes, 8);
  EXPECT_EQ(settings.windowed->session.keyframe_interval, 13);
  EXPECT_EQ(settings.windowed->alignment, WindowAlignment::robust);
  const RunSettings flow = settled("--flow_threshold 25 --max_non_keyframe_gap 30");
  EXPECT_EQ(flow.session.flow_threshold, 25);
  EXPECT_EQ(flow.session.max_non_keyframe_gap, 30);
  EXPECT_FALSE(flow.keyframe_interval);
}

TEST(RunSettings, AStreamThatMayBeCutIsAnEndlessWindow) {
  const auto settings = [](const std::string& flags) {
    RunOptions options = parsed(kBasics + flags);
    return settle(options);
  };
  for (const char* flag : {"", "--on_collapse warn", "--on_collapse stop"}) EXPECT_FALSE(settings(flag).windowed);
  const RunSettings stream = settings("--on-collapse reset --window_alignment robust --keyframe_interval 3");
  ASSERT_TRUE(stream.windowed);
  EXPECT_TRUE(stream.windowed->endless);
  EXPECT_TRUE(stream.windowed->cuts);
  EXPECT_EQ(stream.windowed->overlap_size, 16);
  EXPECT_EQ(stream.windowed->alignment, WindowAlignment::robust);
  const RunSettings windows = settings("--on_collapse reset --mode windowed --overlap_size 5");
  EXPECT_FALSE(windows.windowed->endless);
  EXPECT_TRUE(windows.windowed->cuts);
  EXPECT_EQ(windows.windowed->overlap_size, 5);
  EXPECT_FALSE(settings("--mode windowed").windowed->cuts);
  for (const char* mode : {"streaming", "windowed"})
    test::expect_error(
        ErrorCode::usage, [&] { (void)settings(std::string("--on_collapse reset --overlap_size 0 --mode ") + mode); },
        HasSubstr("--on_collapse reset: --overlap_size is 0"));
  EXPECT_NO_THROW((void)settings("--on_collapse reset --overlap_size 0 --overlap_keyframes 2"));
}

TEST(RunSettings, SayWhichWindowFlagsHaveNoEffect) {
  const auto notes = [](const std::string& flags) {
    RunOptions options = parsed(kBasics + flags);
    static_cast<void>(settle(options));
    return options.notes;
  };
  EXPECT_THAT(notes("--window_size 9 --overlap_size 99 --overlap_keyframes 2 --window_alignment robust"),
              testing::ElementsAre(StartsWith("--window_size: changes nothing without --mode windowed"),
                                   StartsWith("--overlap_size: "), StartsWith("--overlap_keyframes: "),
                                   StartsWith("--window_alignment: ")));
  EXPECT_THAT(notes("--on_collapse reset --window_size 9 --overlap_size 5 --window_alignment robust"),
              testing::ElementsAre(StartsWith("--window_size: changes nothing without --mode windowed")));
  EXPECT_THAT(notes("--on_collapse reset --overlap_size 5 --overlap_keyframes 4"),
              testing::ElementsAre(StartsWith("--overlap_size: ignored, because --overlap_keyframes")));
  EXPECT_THAT(notes("--mode windowed --overlap_size 16 --overlap_keyframes 20"),
              testing::ElementsAre(StartsWith("--overlap_size: ignored, because --overlap_keyframes")));
  EXPECT_THAT(notes("--max_non_keyframe_gap 9"),
              testing::ElementsAre(StartsWith("--max_non_keyframe_gap: changes nothing without --flow_threshold")));
  EXPECT_THAT(notes("--mode windowed --flow_threshold 9 --max_non_keyframe_gap 9"), testing::IsEmpty());
}

TEST(RunSettings, RefuseWhatTheCpuLacks) {
  EXPECT_EQ(refusal(kBasics + "--backend flashinfer --device cpu").code, ErrorCode::unsupported);
  EXPECT_NO_THROW(settled("--dtype fp16 --backend flashinfer --device cuda:1"));
}

TEST(RunSettings, LeaveTypesToTheModelThatKnowsItsDevice) {
  EXPECT_EQ(settled("--dtype fp16 --device cpu").model.dtype, DType::f16);
  EXPECT_EQ(settled("--dtype fp32").model.dtype, DType::f32);
  EXPECT_FALSE(settled("--dtype auto").model.dtype);
}

TEST(RunSettings, NeedInputAndOutput) {
  EXPECT_THAT(refusal("--output out").text, StartsWith("no input"));
  EXPECT_THAT(refusal("--image_folder frames").text, StartsWith("no output"));
  EXPECT_EQ(refusal("--image_folder frames --plan").text, "accepted");
  EXPECT_EQ(refusal("--image_folder . --output .").code, ErrorCode::usage);
  EXPECT_EQ(refusal("--image_folder . --output ./").code, ErrorCode::usage);
  EXPECT_EQ(refusal("--image_folder . --output out --export_preprocessed .").code, ErrorCode::usage);
  EXPECT_EQ(refusal("--video_path v.mp4 --output out --timestamps name").code, ErrorCode::usage);
}

TEST(RunSettings, AVideoWinsOverAFolder) {
  RunOptions options = parsed(kBasics + "--video_path v.mp4");
  static_cast<void>(settle(options));
  EXPECT_EQ(options.image_folder, "");
  ASSERT_EQ(options.notes.size(), 1U);
  EXPECT_THAT(options.notes.front(), StartsWith("--image_folder: ignored"));
}

TEST(RunSettings, KeepSkyMasksWithTheResultsUnlessToldOtherwise) {
  RunOptions options = parsed(kBasics + "--mask_sky --skyseg-model-path x.onnx");
  static_cast<void>(settle(options));
  EXPECT_EQ(options.sky_model, "x.onnx");
  EXPECT_EQ(options.sky_mask_dir, "out/sky_masks");
  options = parsed(kBasics + "--mask_sky --sky_model builtin --sky-mask-dir masks");
  static_cast<void>(settle(options));
  EXPECT_EQ(options.sky_model, kBuiltinSky);
  EXPECT_EQ(options.sky_mask_dir, "masks");
}

TEST(RunSettings, SkyFoldersChangeNothingWithoutMasks) {
  RunOptions options = parsed(kBasics + "--sky_mask_dir d --sky_mask_visualization_dir e");
  static_cast<void>(settle(options));
  EXPECT_THAT(options.notes, testing::ElementsAre("--sky_mask_dir: changes nothing without --mask_sky",
                                                  "--sky_mask_visualization_dir: changes nothing without --mask_sky"));
}

TEST(RunSettings, AreTheLibrarysTerms) {
  const RunSettings settings = settled(
      "--dtype bf16 --use_sdpa --threads 3 --keyframe_interval 6 --num_scale_frames 4 "
      "--kv_cache_sliding_window 16 --camera_num_iterations 2 --no_graphs --profile "
      "--no_trajectory_memory");
  EXPECT_EQ(settings.model.dtype, DType::bf16);
  EXPECT_EQ(settings.model.threads, 3);
  EXPECT_EQ(settings.keyframe_interval, 6);
  EXPECT_EQ(settings.session.attention, AttentionKind::sdpa);
  EXPECT_EQ(settings.session.scale_frames, 4);
  EXPECT_EQ(settings.session.window, 16);
  EXPECT_EQ(settings.session.camera_iterations, 2);
  EXPECT_FALSE(settings.session.graphs);
  EXPECT_FALSE(settings.session.trajectory_memory);
  EXPECT_TRUE(settings.session.profile);
}

TEST(AutomaticInterval, KeepsAtMostTheTrainedNumberOfFrames) {
  EXPECT_EQ(automatic_keyframe_interval(std::nullopt), 1);
  EXPECT_EQ(automatic_keyframe_interval(0), 1);
  EXPECT_EQ(automatic_keyframe_interval(320), 1);
  EXPECT_EQ(automatic_keyframe_interval(321), 2);
  EXPECT_EQ(automatic_keyframe_interval(640), 2);
  EXPECT_EQ(automatic_keyframe_interval(641), 3);
  EXPECT_EQ(automatic_keyframe_interval(25000), 79);
}

TEST(DemoOutput, LiesBesideTheInput) {
  const auto output = [](const std::string& folder, const std::string& video) {
    RunOptions options;
    options.image_folder = folder;
    options.video_path = video;
    return demo_output(options);
  };
  EXPECT_EQ(output("my/frames", ""), "my/frames_lingbot_map");
  EXPECT_EQ(output("my/frames/", ""), "my/frames_lingbot_map");
  EXPECT_EQ(output("my/frames", "films/walk.mp4"), "films/walk_lingbot_map");
  EXPECT_EQ(output("", "0"), "video_lingbot_map");
  EXPECT_EQ(output("", "rtsp://camera/stream.sdp"), "video_lingbot_map");
}

}  // namespace
}  // namespace lingbot_map::tool
