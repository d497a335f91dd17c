#include "checkpoint/torch_checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>

#include "checkpoint/checkpoint.hpp"
#include "expect_error.hpp"
#include "pickle_writer.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::PickleWriter;
using test::storage_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

class TorchCheckpoint : public testing::Test {
 protected:
  std::unique_ptr<Checkpoint> open(std::string_view pickle, const std::map<std::string, std::string>& storages = {}) {
    test::write_torch_archive(path_, pickle, storages);
    return Checkpoint::open(path_);
  }
  /// A state dict of the one tensor "w" over the storage "0" of six float32 numbers 0 to 5.
  std::unique_ptr<Checkpoint> open_view(std::int64_t offset, const std::vector<std::int64_t>& shape,
                                        const std::vector<std::int64_t>& strides, std::int64_t stored = 6) {
    PickleWriter pickle;
    pickle.begin_dict().text("w").tensor("FloatStorage", "0", stored, offset, shape, strides).end_dict();
    return open(pickle.stop(), {{"0", storage_of<float>({0, 1, 2, 3, 4, 5})}});
  }
  static std::vector<float> read(const Checkpoint& checkpoint, std::string_view name) {
    const TensorInfo* info = checkpoint.find(name);
    if (info == nullptr) return {};
    std::vector<float> values(static_cast<std::size_t>(info->elements()));
    checkpoint.read(*info, values);
    return values;
  }
  template <typename Matcher>
  void expect_refused(std::string_view pickle, const Matcher& message) {
    expect_error(
        ErrorCode::input, [&] { open(pickle); }, AllOf(HasSubstr(path_.string()), message));
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.pt";
};

TEST_F(TorchCheckpoint, ReadsAStateDictOnItsOwn) {
  const auto checkpoint = open_view(0, {2, 3}, {3, 1});
  EXPECT_EQ(checkpoint->format(), "PyTorch zip");
  EXPECT_EQ(checkpoint->source(), path_.string());
  EXPECT_EQ(checkpoint->config_json(), std::nullopt);
  EXPECT_THAT(checkpoint->ignored_entries(), IsEmpty());
  ASSERT_EQ(checkpoint->tensors().size(), 1);
  EXPECT_EQ(checkpoint->tensors()[0].name, "w");
  EXPECT_EQ(checkpoint->tensors()[0].dtype, DType::f32);
  EXPECT_THAT(checkpoint->tensors()[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(checkpoint->find("v"), nullptr);
  EXPECT_THAT(read(*checkpoint, "w"), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(TorchCheckpoint, ReadsTheEntryModelAndNamesTheOthers) {
  PickleWriter pickle;
  pickle.begin_dict();
  pickle.text("model").begin_dict();
  pickle.text("w").tensor("FloatStorage", "0", 2, 0, {2}, {1});
  pickle.text("steps").integer(3).end_dict();
  pickle.text("epoch").integer(7);
  pickle.text("args").global("argparse", "Namespace").raw(")\x81").begin_dict().text("lr").number().end_dict().raw("b");
  pickle.text("best").tensor("FloatStorage", "9", 1, 0, {}, {});
  const auto checkpoint = open(pickle.end_dict().stop(), {{"0", storage_of<float>({1, 2})}});
  EXPECT_THAT(read(*checkpoint, "w"), ElementsAre(1, 2));
  EXPECT_EQ(checkpoint->tensors().size(), 1);
  EXPECT_THAT(checkpoint->ignored_entries(), testing::UnorderedElementsAre("epoch", "args", "best", "model.steps"));
}

TEST_F(TorchCheckpoint, ReadsOrderedDictsWithTheirMetadataAndParameters) {
  PickleWriter pickle;
  pickle.global("collections", "OrderedDict").raw(")R(");
  pickle.text("w").global("torch._utils", "_rebuild_parameter").mark();
  pickle.tensor("FloatStorage", "0", 1, 0, {1}, {1}).boolean(true);
  pickle.global("collections", "OrderedDict").raw(")RtRu");
  pickle.begin_dict().text("_metadata").none().end_dict().raw("b");
  EXPECT_THAT(read(*open(pickle.stop(), {{"0", storage_of<float>({8})}}), "w"), ElementsAre(8));
}

TEST_F(TorchCheckpoint, ConvertsEveryTypeOfStorage) {
  PickleWriter pickle;
  pickle.begin_dict();
  const char* classes[] = {"HalfStorage",  "BFloat16Storage", "DoubleStorage", "LongStorage", "IntStorage",
                           "ShortStorage", "CharStorage",     "ByteStorage",   "BoolStorage"};
  std::map<std::string, std::string> storages = {{"HalfStorage", storage_of<std::uint16_t>({0x3c00, 0xc000})},
                                                 {"BFloat16Storage", storage_of<std::uint16_t>({0x3f80, 0xc000})},
                                                 {"DoubleStorage", storage_of<double>({1, -2})},
                                                 {"LongStorage", storage_of<std::int64_t>({1, -2})},
                                                 {"IntStorage", storage_of<std::int32_t>({1, -2})},
                                                 {"ShortStorage", storage_of<std::int16_t>({1, -2})},
                                                 {"CharStorage", storage_of<std::int8_t>({1, -2})},
                                                 {"ByteStorage", storage_of<std::uint8_t>({1, 254})},
                                                 {"BoolStorage", storage_of<std::uint8_t>({1, 0})}};
  for (const char* name : classes) pickle.text(name).tensor(name, name, 2, 0, {2}, {1});
  const auto checkpoint = open(pickle.end_dict().stop(), storages);
  for (const char* name : {"HalfStorage", "BFloat16Storage", "DoubleStorage", "LongStorage", "IntStorage",
                           "ShortStorage", "CharStorage"}) {
    EXPECT_THAT(read(*checkpoint, name), ElementsAre(1, -2)) << name;
  }
  EXPECT_THAT(read(*checkpoint, "ByteStorage"), ElementsAre(1, 254));
  EXPECT_THAT(read(*checkpoint, "BoolStorage"), ElementsAre(1, 0));
}

TEST_F(TorchCheckpoint, ReadsViewsWithTheirStrides) {
  EXPECT_THAT(read(*open_view(0, {3, 2}, {1, 3}), "w"), ElementsAre(0, 3, 1, 4, 2, 5));  // a transposed matrix
  EXPECT_THAT(read(*open_view(1, {2, 2}, {3, 1}), "w"), ElementsAre(1, 2, 4, 5));        // two of its columns
  EXPECT_THAT(read(*open_view(4, {2}, {1}), "w"), ElementsAre(4, 5));
  EXPECT_THAT(read(*open_view(5, {}, {}), "w"), ElementsAre(5));
  EXPECT_THAT(read(*open_view(6, {0}, {1}), "w"), IsEmpty());
  EXPECT_THAT(read(*open_view(0, {2, 2}, {0, 1}), "w"), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(read(*open_view(3, {1, 3}, {kHuge, 1}), "w"), ElementsAre(3, 4, 5));
  EXPECT_THAT(read(*open_view(1, {2, 1, 2}, {3, kHuge, 1}), "w"), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(read(*open_view(0, {0, 2}, {kHuge, kHuge}), "w"), IsEmpty());
}

TEST_F(TorchCheckpoint, ViewsThatLeaveTheirStorageAreRefused) {
  const auto refused = [&](std::int64_t offset, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                           const char* message) {
    expect_error(
        ErrorCode::input, [&] { open_view(offset, shape, strides); },
        AllOf(HasSubstr(path_.string()), HasSubstr("tensor w: "), HasSubstr(message)));
  };
  refused(0, {7}, {1}, "more elements than the 6");
  refused(1, {6}, {1}, "past the end");
  refused(7, {0}, {1}, "past the end");
  refused(-1, {2}, {1}, "past the end");
  refused(0, {2}, {6}, "past the end");
  refused(0, {2}, {kHuge}, "past the end");
  refused(0, {2, 2, 1}, {kHuge, kHuge, 1}, "past the end");
  refused(kHuge, {1}, {1}, "past the end");
  refused(0, {kHuge}, {0}, "more elements");
  refused(0, {kHuge, kHuge}, {0, 0}, "more elements");
  refused(0, {1 << 20, 1 << 20}, {0, 0}, "more elements");
  refused(0, {-2}, {1}, "size or stride");
  refused(0, {2}, {-1}, "size or stride");
  refused(0, {2}, {1, 1}, "1 sizes and 2 strides");
  refused(0, std::vector<std::int64_t>(17, 1), std::vector<std::int64_t>(17, 1), "at most 16");
}

TEST_F(TorchCheckpoint, AStorageMustBeInTheArchive) {
  PickleWriter pickle;
  pickle.begin_dict().text("w").tensor("FloatStorage", "0", 1, 0, {1}, {1}).end_dict();
  expect_refused(pickle.stop(), AllOf(HasSubstr("tensor w"), HasSubstr("archive/data/0")));
}

TEST_F(TorchCheckpoint, TensorsOfAnotherMakeAreRefused) {
  const auto refused = [&](const std::function<void(PickleWriter&)>& write_storage) {
    PickleWriter pickle;
    pickle.begin_dict().text("w").global("torch._utils", "_rebuild_tensor_v2").mark();
    write_storage(pickle);
    pickle.integer(0).integers({1}).integers({1}).raw("tR").end_dict();
    expect_refused(pickle.stop(), AllOf(HasSubstr("tensor w: "), HasSubstr("the file is damaged")));
  };
  refused([](PickleWriter& pickle) { pickle.none(); });
  refused([](PickleWriter& pickle) { pickle.raw(")Q"); });
  refused([](PickleWriter& pickle) {
    pickle.mark().text("storage").global("torch", "Size").text("0").text("cpu").integer(1).raw("tQ");
  });
  refused([](PickleWriter& pickle) {
    pickle.mark().text("storage").global("torch", "FloatStorage").integer(0).text("cpu").integer(1).raw("tQ");
  });
  PickleWriter no_arguments;
  no_arguments.begin_dict().text("w").global("torch._utils", "_rebuild_tensor_v2").raw(")R").end_dict();
  expect_refused(no_arguments.stop(), HasSubstr("tensor w: "));
}

TEST_F(TorchCheckpoint, TwoTensorsOfOneNameAreRefused) {
  PickleWriter pickle;
  pickle.begin_dict();
  for (int i = 0; i < 2; ++i) pickle.text("w").tensor("FloatStorage", "0", 1, 0, {1}, {1});
  const std::string bytes = pickle.end_dict().stop();
  expect_error(
      ErrorCode::input,
      [&] {
        open(bytes, {{"0", storage_of<float>({1})}});
      },
      HasSubstr("two tensors named w"));
}

TEST_F(TorchCheckpoint, WhatHoldsNoStateDictIsRefused) {
  expect_refused(PickleWriter().integer(1).stop(), HasSubstr("holds no dict"));
  expect_refused(PickleWriter().begin_dict().text("epoch").integer(1).end_dict().stop(), HasSubstr("holds no tensors"));
  PickleWriter nested;
  nested.begin_dict().text("state_dict").begin_dict().text("w").tensor("FloatStorage", "0", 1, 0, {1}, {1});
  expect_refused(nested.end_dict().end_dict().stop(), HasSubstr("has its tensors under \"state_dict\""));
}

TEST_F(TorchCheckpoint, ArchivesOfAnotherMakeAreRefused) {
  const auto open_file = [&] { (void)Checkpoint::open(path_); };
  ZipWriter other(path_);
  other.add("weights.npy", "x");
  other.finish();
  expect_error(ErrorCode::input, open_file, HasSubstr("without data.pkl"));
  ZipWriter two(path_);
  two.add("a/data.pkl", "x");
  two.add("b/data.pkl", "x");
  two.finish();
  expect_error(ErrorCode::input, open_file, HasSubstr("two models"));
  test::write_torch_archive(path_, PickleWriter().stop(), {}, "big");
  expect_error(ErrorCode::input, open_file, HasSubstr("byte order is big"));
}

TEST_F(TorchCheckpoint, CompressedStoragesAreRefused) {
  PickleWriter pickle;
  pickle.begin_dict().text("w").tensor("FloatStorage", "0", 1, 0, {1}, {1}).end_dict();
  test::write_torch_archive(path_, pickle.stop(), {{"0", storage_of<float>({1})}});
  std::string bytes = test::content_of(path_);
  const std::size_t name = bytes.rfind("archive/data/0");
  bytes[name - 46 + 10] = 8;
  test::write_content(path_, bytes);
  expect_error(
      ErrorCode::input, [&] { (void)Checkpoint::open(path_); },
      AllOf(HasSubstr("tensor w"), HasSubstr("is compressed"), HasSubstr("re-save")));
}

TEST_F(TorchCheckpoint, ReadsStoragesPast4GiB) {
  // The archive's middle is a hole: a file of 4.3 GB that takes a few kilobytes of disk.
  constexpr std::uint64_t kFar = 4'300'000'000;
  PickleWriter pickle;
  pickle.begin_dict().text("w").tensor("FloatStorage", "0", 2, 0, {2}, {1}).end_dict();
  test::write_torch_archive(path_, pickle.stop(), {{"0", storage_of<float>({3, 4})}});
  std::string bytes = test::content_of(path_);
  const std::size_t header = bytes.find("PK\x03\x04", bytes.find("archive/byteorder") + 1);
  const std::size_t directory = bytes.find("PK\x01\x02");
  const std::uint64_t moved_by = kFar - header;
  std::string tail = bytes.substr(header, directory - header);
  for (std::size_t at = directory; bytes.compare(at, 4, "PK\x01\x02") == 0;) {
    std::string entry = bytes.substr(at, 46 + load_le<std::uint16_t>(bytes, at + 28));
    at += entry.size();
    const std::uint64_t offset = load_le<std::uint32_t>(entry, 42);
    std::string extra;
    append_le(extra, std::uint16_t{1});
    append_le(extra, std::uint16_t{8});
    append_le(extra, offset + (offset >= header ? moved_by : 0));
    entry[30] = static_cast<char>(extra.size());
    std::fill_n(entry.begin() + 42, 4, '\xff');
    tail += entry + extra;
  }
  const std::uint64_t end64 = kFar + tail.size();
  const std::uint64_t entries = load_le<std::uint16_t>(bytes, bytes.size() - 12);
  append_le(tail, std::uint32_t{0x06064b50});
  append_le(tail, std::uint64_t{44});
  tail.append(12, '\0');
  const std::uint64_t moved_directory = directory + moved_by;
  for (const std::uint64_t value : {entries, entries, end64 - moved_directory, moved_directory}) append_le(tail, value);
  append_le(tail, std::uint32_t{0x07064b50});
  append_le(tail, std::uint32_t{0});
  append_le(tail, end64);
  append_le(tail, std::uint32_t{1});
  append_le(tail, std::uint32_t{0x06054b50});
  tail.append(4, '\0');
  tail.append(12, '\xff');
  tail.append(2, '\0');
  test::write_content(path_, bytes.substr(0, header));
  std::filesystem::resize_file(path_, kFar);
  std::ofstream(path_, std::ios::binary | std::ios::app) << tail;

  EXPECT_GT(std::filesystem::file_size(path_), std::uint64_t{1} << 32);
  EXPECT_THAT(read(*Checkpoint::open(path_), "w"), ElementsAre(3, 4));
}

}  // namespace
}  // namespace lingbot_map
