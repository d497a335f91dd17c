#include "default_model.hpp"

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::tool {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(DefaultModel, IsLookedForBesideTheProgramFirst) {
  const std::vector<std::filesystem::path> places = default_model_places("/opt/lm/bin/lingbot-map");
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0], "/opt/lm/share/lingbot-map/lingbot-map-mini.safetensors");
  EXPECT_EQ(places[1].parent_path().filename(), "models");
  EXPECT_EQ(places[1].filename(), "lingbot-map-mini.safetensors");
}

TEST(DefaultModel, IsTheFirstThatIsAFile) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "b", "");
  test::write_content(folder / "c", "");
  std::filesystem::create_directory(folder / "a");
  EXPECT_EQ(first_model({folder / "a", folder / "b", folder / "c"}), folder / "b");
}

TEST(DefaultModel, IsMissedByName) {
  expect_error(
      ErrorCode::input,
      [] {
        static_cast<void>(first_model({"/none/a", "/none/b"}));
      },
      AllOf(StartsWith("no model: "), HasSubstr("neither /none/a nor /none/b"), HasSubstr("--model_path FILE")));
}

}  // namespace
}  // namespace lingbot_map::tool
