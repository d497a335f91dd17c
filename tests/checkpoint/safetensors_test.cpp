#include "checkpoint/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/message.hpp"
#include "checkpoint/checkpoint.hpp"
#include "expect_error.hpp"
#include "safetensors_file.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::safetensors_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Safetensors : public testing::Test {
 protected:
  std::unique_ptr<Checkpoint> open(const std::string& content) {
    test::write_content(path_, content);
    return Checkpoint::open(path_);
  }
  std::vector<float> read(const Checkpoint& checkpoint, std::string_view name) {
    const TensorInfo* info = checkpoint.find(name);
    if (info == nullptr) return {};
    std::vector<float> values(static_cast<std::size_t>(info->elements()));
    checkpoint.read(*info, values);
    return values;
  }
  template <typename Matcher>
  void expect_refused(const std::string& content, const Matcher& message) {
    expect_error(
        ErrorCode::input, [&] { open(content); }, AllOf(HasSubstr(path_.string()), message));
  }
  /// The tensor "w" with this description over 8 bytes.
  template <typename Matcher>
  void expect_tensor_refused(std::string_view description, const Matcher& message) {
    expect_refused(safetensors_file("{\"w\":" + std::string(description) + "}", std::string(8, '\0')), message);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
};

TEST_F(Safetensors, ReadsTensorsAndTheirConfiguration) {
  std::string data("\0\0\x80\x3f\0\0\0\x40", 8);
  data += "\x80\x3f";
  const auto checkpoint =
      open(safetensors_file(R"({"__metadata__":{"format":"pt","lingbot_map.config":"{\"depth\":4}"},)"
                            R"("half":{"data_offsets":[8,10],"shape":[],"dtype":"BF16"},)"
                            R"("none":{"dtype":"I64","shape":[3,0],"data_offsets":[10,10]},)"
                            R"("full":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}  )",
                            data));
  EXPECT_EQ(checkpoint->format(), "safetensors");
  EXPECT_EQ(checkpoint->config_json(), R"({"depth":4})");
  EXPECT_THAT(checkpoint->ignored_entries(), IsEmpty());
  ASSERT_EQ(checkpoint->tensors().size(), 3);
  EXPECT_THAT(read(*checkpoint, "full"), ElementsAre(1, 2));
  EXPECT_THAT(read(*checkpoint, "half"), ElementsAre(1));
  EXPECT_THAT(read(*checkpoint, "none"), IsEmpty());
  EXPECT_THAT(checkpoint->find("full")->shape, ElementsAre(1, 2));
  EXPECT_EQ(checkpoint->find("half")->dtype, DType::bf16);
}

TEST_F(Safetensors, ReadsEveryTypeOfElement) {
  const std::pair<const char*, int> types[] = {{"F64", 8},  {"I64", 8}, {"F32", 4}, {"I32", 4}, {"F16", 2},
                                               {"BF16", 2}, {"I16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  for (const auto& [type, bytes] : types) {
    const nlohmann::json header = {{"w", {{"dtype", type}, {"shape", {1}}, {"data_offsets", {0, bytes}}}}};
    EXPECT_THAT(read(*open(safetensors_file(header.dump(), std::string(static_cast<std::size_t>(bytes), '\0'))), "w"),
                ElementsAre(0))
        << type;
  }
}

TEST_F(Safetensors, AHeaderLongerThanTheFileIsRefused) {
  std::string file = safetensors_file("{}", "");
  EXPECT_EQ(open(file)->tensors().size(), 0);
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::string bytes;
    append_le(bytes, length);
    expect_refused(bytes + file.substr(8), HasSubstr("header"));
  }
  std::string bytes;
  append_le(bytes, std::uint64_t{1});
  expect_refused(bytes + file.substr(8), HasSubstr("JSON"));
}

TEST_F(Safetensors, AHeaderThatIsNoneIsRefused) {
  for (const char* header : {"{", "{]", "{\"w\"}", "{\"w\":tru}", "{} {}", "{\"a\xff\":{}}"}) {
    expect_refused(safetensors_file(header, ""), HasSubstr("JSON"));
  }
  for (const char* header : {"{\"w\":1}", "{\"w\":null}", "{\"w\":[]}", "{\"w\":\"F32\"}", "{\"w\":{}}",
                             "{\"__metadata__\":[]}", "{\"__metadata__\":{\"lingbot_map.config\":1}}"}) {
    expect_refused(safetensors_file(header, ""), HasSubstr(":"));
  }
}

TEST_F(Safetensors, ATensorThatContradictsItselfIsRefused) {
  expect_tensor_refused(R"({"dtype":"F32","shape":[2]})", HasSubstr("tensor w: expected dtype, shape and"));
  expect_tensor_refused(R"({"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]})",
                        AllOf(HasSubstr("tensor w"), HasSubstr("F8_E4M3"), HasSubstr("expected F32")));
  expect_tensor_refused(R"({"dtype":4,"shape":[2],"data_offsets":[0,8]})", HasSubstr("w"));
  for (const char* shape : {"[3]", "[1]", "[]", "[2,2]", "[0]", "[9223372036854775807]", "[4294967296,4294967296]",
                            "[2305843009213693952,8]", "[18446744073709551615]"}) {
    expect_tensor_refused(message(R"({"dtype":"F32","shape":)", shape, R"(,"data_offsets":[0,8]})"),
                          HasSubstr("tensor w"));
  }
  for (const char* shape : {"[-2]", "[2.0]", "[\"2\"]", "2", "[[2]]", "[2e0]", "{}", "null", "[null]"}) {
    expect_tensor_refused(message(R"({"dtype":"F32","shape":)", shape, R"(,"data_offsets":[0,8]})"),
                          HasSubstr(path_.string()));
  }
  for (const char* offsets : {"[0,9]", "[0,7]", "[8,0]", "[1,9]", "[18446744073709551608,18446744073709551616]",
                              "[18446744073709551615,7]", "[0]", "[0,8,8]", "[]", "[-8,0]", "0", "[0,[8]]"}) {
    expect_tensor_refused(message(R"({"dtype":"F32","shape":[2],"data_offsets":)", offsets, "}"),
                          HasSubstr(path_.string()));
  }
}

TEST_F(Safetensors, TensorsMustCoverTheDataOneAfterAnother) {
  const auto two = [](int b0, int e0, int b1, int e1, std::size_t bytes) {
    nlohmann::json header;
    header["a"] = {{"dtype", "U8"}, {"shape", {e0 - b0}}, {"data_offsets", {b0, e0}}};
    header["b"] = {{"dtype", "U8"}, {"shape", {e1 - b1}}, {"data_offsets", {b1, e1}}};
    return safetensors_file(header.dump(), std::string(bytes, 'x'));
  };
  EXPECT_EQ(open(two(0, 4, 4, 8, 8))->tensors().size(), 2);
  EXPECT_EQ(open(two(4, 8, 0, 4, 8))->tensors().size(), 2);
  expect_refused(two(0, 4, 3, 8, 8), HasSubstr("tensor b: begins at byte 3 of the data, expected 4"));
  expect_refused(two(0, 4, 5, 8, 8), HasSubstr("tensor b: begins at byte 5 of the data, expected 4"));
  expect_refused(two(1, 4, 4, 8, 8), HasSubstr("tensor a: begins at byte 1 of the data, expected 0"));
  expect_refused(two(0, 4, 4, 8, 9), HasSubstr(path_.string()));
  expect_refused(two(0, 4, 4, 8, 7), HasSubstr(path_.string()));
}

TEST_F(Safetensors, TwoTensorsOfOneNameAreRefused) {
  expect_refused(safetensors_file(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                  "xy"),
                 HasSubstr("two tensors named w"));
}

TEST_F(Safetensors, DeepNestingIsRefused) {
  expect_refused(safetensors_file("{\"w\":" + std::string(1'000'000, '['), ""), HasSubstr(path_.string()));
  std::string objects = "{";
  for (int i = 0; i < 100'000; ++i) objects += "\"a\":{";
  expect_refused(safetensors_file(objects, ""), HasSubstr(path_.string()));
}

TEST_F(Safetensors, AHeaderIsRefusedWhereItStopsBeingOne) {
  // A tree of these millions of objects would take gigabytes, and minutes to build.
  std::string header = R"({"w":{"dtype":"F32","shape":[)";
  for (int i = 0; i < 3'000'000; ++i) header += "{},";
  expect_refused(safetensors_file(header + "0]}}", ""), HasSubstr("tensor w: safetensors header has an object"));
  std::string dimensions = R"({"w":{"dtype":"F32","shape":[1)";
  for (int i = 0; i < 3'000'000; ++i) dimensions += ",1";
  expect_refused(safetensors_file(dimensions + "]}}", ""), HasSubstr("too many dimensions"));
}

TEST_F(Safetensors, NamesOfTensorsCannotBreakTheLine) {
  expect_refused(safetensors_file(R"({"a\nb\u001b":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", "x"),
                 HasSubstr("a\\x0ab\\x1b"));
}

TEST_F(Safetensors, AReadThatDoesNotFitIsADefect) {
  const auto checkpoint = open(safetensors_file(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "xy"));
  std::vector<float> out(3);
  expect_error(
      ErrorCode::internal, [&] { checkpoint->read(*checkpoint->find("w"), out); }, HasSubstr("w"));
  expect_error(
      ErrorCode::internal, [&] { checkpoint->read(TensorInfo{.name = "v"}, std::span(out).first(1)); }, HasSubstr("v"));
}

}  // namespace
}  // namespace lingbot_map
