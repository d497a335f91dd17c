#include "bench_fixture.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Bench, NeedsToBeToldWhat) {
  expect_failure(run_program({"bench"}), 2, HasSubstr("frames, memory, start, ops and accuracy"));
  expect_failure(run_program({"bench", "speed"}), 2, HasSubstr("speed"));
}

/// The same code reads these flags for all that streams frames.
TEST(BenchStreamFlags, RefuseWhatMakesNoSense) {
  for (const auto& [more, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--dtype", "int8"}, "--dtype: found \"int8\""},
           {{"--size", "518"}, "--size: found \"518\", expected WIDTHxHEIGHT"},
           {{"--size", "518x"}, "--size: found \"518x\""},
           {{"--size", "518x0"}, "--size: found \"518x0\""},
           {{"--size", "518x999999"}, "--size: found \"518x999999\""},
           {{"--size", "500x378"}, "--size: found 500x378, expected sides that are multiples of 14"},
           {{"--window", "0"}, "--window: found 0"},
           {{"--scale_frames", "0"}, "--scale_frames: found 0"},
           {{"--camera_iterations", "-1"}, "--camera_iterations: found -1"},
           {{"--threads", "-1"}, "--threads: found -1"},
           {{"--device", "gpu"}, "--device: found \"gpu\""},
           {{"--output", "csv"}, "--output: found \"csv\""},
           {{"--backend", "cudnn"}, "--backend: found \"cudnn\""}})
    expect_failure(bench("frames", more), 2, HasSubstr(expected));
  expect_failure(bench("frames", {"--backend", "flashinfer"}), 1, HasSubstr("--backend: found flashinfer"));
  expect_failure(bench("frames", {"--dtype", "fp16"}), 1, HasSubstr("fp16"));
  expect_failure(bench("frames", {"--config", "none.json"}), 1, HasSubstr("none.json"));
}

/// A benchmark that streams frames, and what makes it short.
struct Streamer {
  const char* name;
  std::vector<std::string> words;
};

class BenchStream : public testing::TestWithParam<Streamer> {
 protected:
  static void SetUpTestSuite() {
    without_quarantine();
    folder_ = new TemporaryFolder();
    ASSERT_EQ(run_program({"synth", "--config", "tiny", "--seed", "7", "--output", model()}).exit_code, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return (*folder_ / "m.safetensors").string(); }

  static Outcome run(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"bench", GetParam().name, "--model_path", model(), "--device", "cpu"};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }

 private:
  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_P(BenchStream, StreamsAsItsFlagsSay) {
  const json results = results_of(
      run({"--config", "tiny", "--size", "56x42", "--window", "5", "--scale_frames", "3", "--camera_iterations", "2",
           "--no_graphs", "--dtype", "bf16", "--backend", "sdpa", "--threads", "1", "--output", "json"}));
  ASSERT_FALSE(results.empty());
  json result = results.back();
  EXPECT_EQ(result["device"], "cpu");
  EXPECT_EQ(result["model"], model());
  EXPECT_EQ(result["dtype"], "bf16");
  EXPECT_EQ(result["backend"], "sdpa");
  EXPECT_EQ(result["size"], "56x42");
  EXPECT_EQ(result["threads"], 1);
  EXPECT_EQ(result["window"], 5);
  EXPECT_EQ(result["scale_frames"], 3);
  EXPECT_EQ(result["camera_iterations"], 2);
  EXPECT_EQ(result["graphs"], false);
}

TEST_P(BenchStream, PrintsATableUnlessTold) {
  const Outcome outcome = run({"--size", "28x28", "--window", "5", "--threads", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::AllOf(testing::StartsWith("lingbot-map "), HasSubstr(model()), HasSubstr("|---|"),
                                          testing::ContainsRegex("(sdpa [|] fp32|fp32 [|] sdpa) [|]")));
}

TEST_P(BenchStream, NeedsAModelThatIsThere) {
  expect_failure(run({"--config", "official"}), 1, HasSubstr("m.safetensors"));
  expect_failure(run({"--model_path", "none.pt"}), 1, HasSubstr("none.pt"));
}

INSTANTIATE_TEST_SUITE_P(All, BenchStream,
                         testing::Values(Streamer{"frames", {"--depth", "12", "--repeats", "2", "--warmup", "0"}},
                                         Streamer{"memory", {"--frames", "80"}}, Streamer{"start", {"--repeats", "1"}},
                                         Streamer{"accuracy", {"--kind", "room", "--scenes", "1", "--frames", "9"}}),
                         [](const testing::TestParamInfo<Streamer>& info) { return info.param.name; });

}  // namespace
}  // namespace lingbot_map::test
