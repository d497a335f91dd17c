#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "lingbot_map/error.hpp"
#include "pickle_writer.hpp"
#include "safetensors_file.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::PickleWriter;
using test::storage_of;

/// Spoils files in the ways that transfers, disks and ill will do. The same for every run.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutate(std::string bytes) {
    for (std::size_t times = 1 + below(4); times > 0 && !bytes.empty(); --times) mutate_once(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_()) % limit; }

  void mutate_once(std::string& bytes) {
    const std::size_t at = below(bytes.size());
    const std::size_t length = std::min(1 + below(16), bytes.size() - at);
    switch (below(8)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(below(256)); break;
      case 2: bytes.insert(at, 1 + below(8), static_cast<char>(below(256))); break;
      case 3: bytes.erase(at, length); break;
      case 4: bytes.resize(at); break;
      case 5: bytes.insert(at, std::string(bytes, below(bytes.size()), length)); break;
      case 6:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(length, 8), '\xff');
        break;
      default:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(length, 8), '\0');
        break;
    }
  }

  std::mt19937 random_;
};

/// A checkpoint with everything the format can hold, as its pickle.
std::string pickle() {
  PickleWriter pickle;
  pickle.begin_dict().text("model");
  pickle.global("collections", "OrderedDict").raw(")R(");
  pickle.text("a").tensor("FloatStorage", "0", 6, 0, {2, 3}, {3, 1});
  pickle.text("transposed").tensor("FloatStorage", "0", 6, 0, {3, 2}, {1, 3});
  pickle.text("half").tensor("HalfStorage", "1", 2, 1, {1}, {1});
  pickle.text("parameter").global("torch._utils", "_rebuild_parameter").mark();
  pickle.tensor("LongStorage", "2", 1, 0, {}, {}).boolean(true).none().raw("tR");
  pickle.end_dict().begin_dict().text("_metadata").none().end_dict().raw("b");
  pickle.text("epoch").integer(7).text("list").raw("](").integer(1).number().raw("e");
  return pickle.end_dict().stop();
}

const std::map<std::string, std::string>& storages() {
  static const std::map<std::string, std::string> all = {{"0", storage_of<float>({0, 1, 2, 3, 4, 5})},
                                                         {"1", storage_of<std::uint16_t>({0, 1})},
                                                         {"2", storage_of<std::int64_t>({9})}};
  return all;
}

class MutatedCheckpoints : public testing::Test {
 protected:
  /// Opening and reading must succeed or throw an Error of one line; true if it succeeded.
  bool survives() {
    try {
      const auto checkpoint = Checkpoint::open(path_);
      for (const TensorInfo& tensor : checkpoint->tensors()) {
        EXPECT_LT(tensor.elements(), 1000) << "more than the file can hold";
        std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
        checkpoint->read(tensor, values);
      }
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input) << error.what();
      EXPECT_EQ(std::string(error.what()).find_first_of(std::string("\n\r\0\x1b", 4)), std::string::npos)
          << error.what();
      return false;
    }
  }
  void expect_mixed(int survived, int all) const {
    EXPECT_GT(survived, 0);
    EXPECT_LT(survived, all);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model";
};

TEST_F(MutatedCheckpoints, TorchArchives) {
  test::write_torch_archive(path_, pickle(), storages());
  const std::string whole = test::content_of(path_);
  ASSERT_TRUE(survives());
  Mutator mutator(1);
  int survived = 0;
  for (int i = 0; i < 2000; ++i) {
    test::write_content(path_, mutator.mutate(whole));
    survived += survives() ? 1 : 0;
  }
  expect_mixed(survived, 2000);
}

TEST_F(MutatedCheckpoints, PicklesInWholeArchives) {
  const std::string whole = pickle();
  Mutator mutator(2);
  int survived = 0;
  for (int i = 0; i < 4000; ++i) {
    test::write_torch_archive(path_, mutator.mutate(whole), storages());
    survived += survives() ? 1 : 0;
  }
  expect_mixed(survived, 4000);
}

TEST_F(MutatedCheckpoints, SafetensorsHeaders) {
  const std::string header = R"({"__metadata__":{"lingbot_map.config":"{\"depth\":4}","format":"pt"},)"
                             R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                             R"("half":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)"
                             R"("none":{"dtype":"I64","shape":[0,5],"data_offsets":[32,32]}})";
  const std::string data(32, '\x3f');
  const std::string whole = test::safetensors_file(header, data);
  test::write_content(path_, whole);
  ASSERT_TRUE(survives());
  Mutator mutator(3);
  int survived = 0;
  for (int i = 0; i < 4000; ++i) {
    test::write_content(path_,
                        i % 2 == 0 ? mutator.mutate(whole) : test::safetensors_file(mutator.mutate(header), data));
    survived += survives() ? 1 : 0;
  }
  expect_mixed(survived, 4000);
}

}  // namespace
}  // namespace lingbot_map
