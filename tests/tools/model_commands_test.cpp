#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::Outcome;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kGolden = LINGBOT_MAP_TEST_DATA "/tiny_bf16.pt";

class ModelCommands : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  static void expect_ok(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }
  template <typename Matcher>
  static void expect_failure(const Outcome& outcome, int exit_code, const Matcher& message) {
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("lingbot-map: error: "), message));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
  /// The header of a safetensors file, read with nothing of the project's own.
  static nlohmann::json header_of(const std::string& file) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    return nlohmann::json::parse(file.substr(sizeof length, length));
  }

  test::TemporaryFolder folder_;
};

TEST_F(ModelCommands, VersionNamesTheBuild) {
  const Outcome outcome = run_program({"--version"});
  expect_ok(outcome);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("lingbot-map "), HasSubstr("cpu")));
}

TEST_F(ModelCommands, InfoTellsWhatAFileHolds) {
  const Outcome outcome = run_program({"info", kGolden});
  expect_ok(outcome);
  for (const char* text : {"PyTorch zip", "bf16", "encoder", "camera head", "4,173,796 parameters", "\"embed_dim\":128",
                           "epoch", "args", "best", "This file can be run."}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST_F(ModelCommands, InfoHoldsAFileAgainstAConfiguration) {
  EXPECT_THAT(run_program({"info", kGolden, "--config", "tiny"}).out, HasSubstr("This file can be run."));
  const Outcome official = run_program({"info", kGolden, "--config", "official"});
  expect_ok(official);
  EXPECT_THAT(official.out, AllOf(HasSubstr("missing tensors"), HasSubstr("This file cannot be run as it is.")));
  expect_failure(run_program({"info", kGolden, "--config", "none.json"}), 1, HasSubstr("none.json"));
}

TEST_F(ModelCommands, SynthAndConvertAgreeWithTheGoldenArchive) {
  expect_ok(run_program({"synth", "--config", "tiny", "--seed", "1", "--output", path("f.safetensors")}));
  expect_ok(run_program({"convert", path("f.safetensors"), "--output", path("a.safetensors"), "--dtype", "bf16"}));
  expect_ok(run_program({"convert", kGolden, "--output", path("b.safetensors"), "--dtype", "bf16"}));
  expect_ok(
      run_program({"synth", "--config", "tiny", "--seed", "1", "--output", path("c.safetensors"), "--dtype", "bf16"}));
  const std::string converted = content_of(path("a.safetensors"));
  EXPECT_TRUE(converted == content_of(path("b.safetensors")));
  EXPECT_TRUE(converted == content_of(path("c.safetensors")));
  const nlohmann::json header = header_of(converted);
  EXPECT_EQ(header.size(), 286 + 1);
  EXPECT_EQ(nlohmann::json::parse(header["__metadata__"]["lingbot_map.config"].get<std::string>())["depth"], 4);
  EXPECT_EQ(header["camera_head.empty_pose_tokens"]["dtype"], "BF16");
  EXPECT_EQ(header["camera_head.empty_pose_tokens"]["shape"], nlohmann::json({1, 1, 9}));
}

TEST_F(ModelCommands, NothingThatIsReadIsOverwritten) {
  const std::string file = path("m.safetensors");
  expect_ok(run_program({"synth", "--config", "tiny", "--seed", "2", "--output", file}));
  std::filesystem::create_symlink(file, path("link.safetensors"));
  std::filesystem::copy_file(file, path("n.safetensors.part"));
  const std::string before = content_of(file);
  expect_failure(run_program({"convert", file, "--output", file}), 2, HasSubstr("would overwrite"));
  expect_failure(run_program({"convert", file, "--output", path("link.safetensors")}), 2, HasSubstr("would overwrite"));
  expect_failure(run_program({"convert", path("n.safetensors.part"), "--output", path("n.safetensors")}), 2,
                 HasSubstr("would overwrite"));
  EXPECT_TRUE(content_of(file) == before);
  EXPECT_TRUE(content_of(path("n.safetensors.part")) == before);
}

TEST_F(ModelCommands, AFullDiskLeavesNothingBehind) {
  expect_failure(run_program({"convert", kGolden, "--output", path("m.safetensors")}, 1'000'000), 1,
                 HasSubstr("m.safetensors: cannot be written past byte"));
  expect_failure(
      run_program({"synth", "--config", "tiny", "--seed", "1", "--output", path("m.safetensors")}, 1'000'000), 1,
      HasSubstr("cannot be written past byte"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ModelCommands, WrongUsageIsOneLineAndExitCode2) {
  const std::string output = path("m.safetensors");
  expect_failure(run_program({"convert", kGolden, "--output", output, "--dtype", "fp8"}), 2, HasSubstr("--dtype fp8"));
  expect_failure(run_program({"convert", kGolden, "--output", path("m.pt")}), 2, HasSubstr(".safetensors"));
  expect_failure(run_program({"convert", kGolden}), 2, HasSubstr("--output"));
  expect_failure(run_program({"synth", "--config", "tiny", "--output", output}), 2, HasSubstr("--seed"));
  for (const char* seed : {"-1", "1.5", "x", "18446744073709551616", "1x"}) {
    expect_failure(run_program({"synth", "--config", "tiny", "--seed", seed, "--output", output}), 2,
                   HasSubstr(std::string("--seed ") + seed + ": expected a whole number"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ModelCommands, BadFilesAreOneLineAndExitCode1) {
  test::write_content(path("empty.pt"), "");
  test::write_content(path("page.pt"), "<!DOCTYPE html>");
  test::write_content(path("cut.pt"), content_of(kGolden).substr(0, 4'000'000));
  test::write_content(path("c.json"), R"({"embed_dim": 65})");
  expect_failure(run_program({"info", path("none.pt")}), 1, HasSubstr("none.pt"));
  expect_failure(run_program({"info", folder_.path().string()}), 1, HasSubstr("is a directory"));
  expect_failure(run_program({"info", path("empty.pt")}), 1, HasSubstr("is empty"));
  expect_failure(run_program({"convert", path("page.pt"), "--output", path("m.safetensors")}), 1,
                 HasSubstr("web page"));
  expect_failure(run_program({"info", path("cut.pt")}), 1, HasSubstr("incomplete"));
  expect_failure(run_program({"convert", kGolden, "--output", path("none/m.safetensors")}), 1,
                 HasSubstr("make the folder"));
  expect_failure(run_program({"convert", kGolden, "--config", "official", "--output", path("m.safetensors")}), 1,
                 HasSubstr("tensors of the network are missing"));
  expect_failure(run_program({"synth", "--config", path("c.json"), "--seed", "1", "--output", path("m.safetensors")}),
                 1, AllOf(HasSubstr("c.json"), HasSubstr("embed_dim")));
}

}  // namespace
}  // namespace lingbot_map
