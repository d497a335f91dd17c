#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "evaluation/evaluate.hpp"

/// Agreement with evo: with numbers that it gave once (tests/data/evaluation/make.py made them), and where Python has
/// it, with what it says now. LINGBOT_MAP_EVO_PYTHON names another Python than python3.
namespace lingbot_map {
namespace {

using nlohmann::json;

const std::string kData = LINGBOT_MAP_TEST_DATA "/evaluation/";

Alignment alignment_of(const std::string& name) {
  if (name == "sim3") return Alignment::sim3;
  if (name == "se3") return Alignment::se3;
  return name == "scale" ? Alignment::scale : Alignment::none;
}

void expect_near(const ErrorStatistics& found, const json& expected, const std::string& name) {
  const json& evo = expected.at(name);
  const auto near = [&](double value, const char* key) {
    const double wanted = evo.at(key);
    EXPECT_NEAR(value, wanted, 1e-6 * std::max(1.0, std::abs(wanted))) << name << ' ' << key;
  };
  near(found.rmse, "rmse");
  near(found.mean, "mean");
  near(found.median, "median");
  near(found.std, "std");
  near(found.min, "min");
  near(found.max, "max");
  near(found.sse, "sse");
}

void expect_agreement(const json& evo) {
  const std::string estimate = evo.at("estimate");
  SCOPED_TRACE(estimate + ' ' + evo.at("align").get<std::string>());
  const TrajectoryEvaluation found = evaluate(
      read_trajectory(kData + estimate), read_trajectory(kData + evo.at("truth").get<std::string>()),
      {.alignment = alignment_of(evo.at("align")), .delta = evo.at("delta"), .all_pairs = evo.at("all_pairs")});
  EXPECT_EQ(found.poses.size(), evo.at("poses"));
  EXPECT_NEAR(found.truth_length, evo.at("truth_length"), 1e-6);
  EXPECT_NEAR(found.estimate_length, evo.at("estimate_length"), 1e-6);
  expect_near(found.ate, evo, "ate");
  expect_near(found.ate_rotation, evo, "ate_rotation");
  expect_near(found.rpe, evo, "rpe");
  expect_near(found.rpe_rotation, evo, "rpe_rotation");
}

json stored() { return json::parse(std::ifstream(kData + "expected.json")); }

/// What a command prints; empty if it fails.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

TEST(Evo, AgreesByItsStoredNumbers) {
  const json cases = stored();
  EXPECT_EQ(cases.size(), 6);
  for (const json& evo : cases) expect_agreement(evo);
}

TEST(Evo, AgreesByWhatItSaysNow) {
  const char* chosen = std::getenv("LINGBOT_MAP_EVO_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  if (output_of(python + " -c 'import evo; print(1)'").empty())
    GTEST_SKIP() << python << " has no evo (pip install evo; LINGBOT_MAP_EVO_PYTHON names the Python that has it)";
  json evo = stored().front();
  const std::string printed =
      output_of(python + " '" + kData + "make.py' --check tum_estimate.txt tum_truth.txt sim3 2 true");
  ASSERT_FALSE(printed.empty());
  evo.update(json::parse(printed));
  evo["delta"] = 2;
  evo["all_pairs"] = true;
  expect_agreement(evo);
}

}  // namespace
}  // namespace lingbot_map
