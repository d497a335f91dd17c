#include "bench_fixture.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(BenchStart, CountsFromTheStartOfAProcess) {
  const TemporaryFolder folder;
  const std::string model = (folder / "m.safetensors").string();
  ASSERT_EQ(run_program({"synth", "--config", "tiny", "--seed", "7", "--output", model}).exit_code, 0);
  const json results = results_of(bench("start", {"--model_path", model, "--repeats", "2", "--output", "json"}));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0]["file_bytes"], std::filesystem::file_size(model));
  EXPECT_GT(results[0]["program_s"]["median"].get<double>(), 0);
  EXPECT_GT(results[0]["loaded_s"]["median"].get<double>(), results[0]["program_s"]["median"].get<double>());
  EXPECT_GT(results[0]["first_poses_s"]["median"].get<double>(), results[0]["loaded_s"]["median"].get<double>());
}

TEST(BenchStart, PassesOnWhatTheStartedProgramSays) {
  expect_failure(bench("start", {"--model_path", "none.pt"}), 1, HasSubstr("none.pt"));
  expect_failure(bench("start", {}), 2, HasSubstr("--model_path"));
  expect_failure(bench("start", {"--model_path", "m.pt", "--dtype", "fp32,bf16"}), 2, HasSubstr("--dtype"));
  expect_failure(bench("start", {"--model_path", "m.pt", "--repeats", "0"}), 2, HasSubstr("--repeats: found 0"));
}

}  // namespace
}  // namespace lingbot_map::test
