#include "bench_fixture.hpp"

namespace lingbot_map::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(BenchOps, TimesWhatTheFilterLeaves) {
  const json results = results_of(
      bench("ops", {"--filter", "product/fc1,layer_norm/bf16", "--repeats", "2", "--window", "2", "--output", "json"}));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0]["operation"], "product/fc1");
  EXPECT_EQ(results[0]["precision"], "fp32");
  EXPECT_EQ(results[0]["shape"], "30x128x512");
  EXPECT_EQ(results[0]["relative_difference"], nullptr);
  const json& cpu = results[0]["devices"]["cpu"];
  EXPECT_GT(cpu["ms"]["median"].get<double>(), 0);
  EXPECT_GT(cpu["share_of_peak"].get<double>(), 0);
  // Which of the two it is hangs on peaks that are measured in the same run.
  EXPECT_THAT(cpu["bound_by"].get<std::string>(), testing::AnyOf("compute", "memory"));
  EXPECT_EQ(results[1]["operation"], "layer_norm");
}

TEST(BenchOps, MeasuresAtTheSizesAskedFor) {
  const auto shape = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--filter", "attention/", "--dtype", "fp32",     "--repeats",
                                      "1",        "--warmup",   "0",       "--output", "json"};
    words.insert(words.end(), more.begin(), more.end());
    std::string shapes;
    for (const json& result : results_of(bench("ops", words))) shapes += result["shape"].get<std::string>() + ' ';
    return shapes;
  };
  const std::string usual = shape({});
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
           {"--window", "2"}, {"--scale_frames", "3"}, {"--size", "56x42"}, {"--backend", "sdpa", "--window", "3"}})
    EXPECT_NE(shape(other), usual) << other[0];
}

TEST(BenchOps, TakesAnotherInstructionSet) {
  const Outcome refused = bench("ops", {"--kernels", "mmx"});
  expect_failure(refused, 2, HasSubstr("--kernels: found \"mmx\", expected one of this processor's: "));
  std::string last = refused.err.substr(refused.err.find_last_of(' ') + 1);
  last.pop_back();
  const Outcome outcome = bench("ops", {"--kernels", last, "--filter", "layer_norm", "--repeats", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("layer_norm"));
}

TEST(BenchOps, RefusesWhatMakesNoSense) {
  for (const auto& [more, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--dtype", "auto"}, "--dtype: found auto"},
           {{"--size", "9x"}, "--size: found \"9x\""},
           {{"--scale_frames", "0"}, "--scale_frames: found 0"},
           {{"--window", "0"}, "--window: found 0"},
           {{"--filter", "a,,b"}, "--filter: found \"a,,b\""},
           {{"--device", "tpu"}, "--device: found \"tpu\""},
           {{"--backend", "cudnn"}, "--backend: found \"cudnn\""},
           {{"--threads", "-1"}, "--threads"},
           {{"--repeats", "0"}, "--repeats: found 0"},
           {{"--warmup", "-1"}, "--warmup"},
           {{"--output", "csv"}, "--output: found \"csv\""}})
    expect_failure(bench("ops", more), 2, HasSubstr(expected));
  expect_failure(bench("ops", {"--config", "none.json"}), 1, HasSubstr("none.json"));
  expect_failure(bench("ops", {"--filter", "nothing"}), 2, HasSubstr("--filter"));
}

}  // namespace
}  // namespace lingbot_map::test
