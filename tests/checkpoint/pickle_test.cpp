#include "checkpoint/pickle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "pickle_writer.hpp"

namespace lingbot_map {
namespace {

using Kind = PickleValue::Kind;
using test::expect_error;
using test::PickleWriter;
using testing::AllOf;
using testing::HasSubstr;

PickleValues load(std::string_view bytes) { return unpickle(bytes, "m.pt: data.pkl"); }

template <typename Matcher>
void expect_refused(std::string_view bytes, const Matcher& message) {
  expect_error(
      ErrorCode::input, [&] { (void)load(bytes); }, AllOf(testing::StartsWith("m.pt: data.pkl: "), message));
}

TEST(Pickle, ReadsNumbersOfEveryForm) {
  const auto integer = [](std::string_view opcodes) {
    const PickleValues values = load(std::string(opcodes) + ".");
    EXPECT_EQ(values.root().kind, Kind::integer);
    return values.root().integer;
  };
  EXPECT_EQ(integer("K\xff"), 255);
  EXPECT_EQ(integer("M\xfe\xff"), 65534);
  EXPECT_EQ(integer("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(integer(std::string_view("\x8a\x00", 2)), 0);
  EXPECT_EQ(integer("\x8a\x01\xfe"), -2);
  EXPECT_EQ(integer(std::string_view("\x8a\x02\xff\x00", 4)), 255);
  EXPECT_EQ(integer("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer(std::string_view("\x8b\x01\x00\x00\x00\x07", 6)), 7);
  EXPECT_EQ(load(PickleWriter()
                     .raw("\x8a\x09"
                          "123456789")
                     .stop())
                .root()
                .kind,
            Kind::number);
  EXPECT_EQ(load(PickleWriter().number().stop()).root().kind, Kind::number);
  EXPECT_EQ(load(PickleWriter().boolean(true).stop()).root().integer, 1);
  EXPECT_EQ(load(PickleWriter().none().stop()).root().kind, Kind::none);
}

TEST(Pickle, ReadsTextAndBytesOfEveryForm) {
  using namespace std::string_view_literals;
  for (const std::string_view opcodes :
       {"\x8c\x02hi"sv, "X\x02\0\0\0hi"sv, "\x8d\x02\0\0\0\0\0\0\0hi"sv, "U\x02hi"sv, "T\x02\0\0\0hi"sv}) {
    const PickleValues values = load(std::string(opcodes) + ".");
    EXPECT_EQ(values.root().kind, Kind::text);
    EXPECT_EQ(values.root().text, "hi");
  }
  for (const std::string_view opcodes :
       {"C\x02hi"sv, "B\x02\0\0\0hi"sv, "\x8e\x02\0\0\0\0\0\0\0hi"sv, "\x96\x02\0\0\0\0\0\0\0hi"sv}) {
    EXPECT_EQ(load(std::string(opcodes) + ".").root().kind, Kind::bytes);
  }
}

TEST(Pickle, ReadsContainers) {
  const PickleValues dict =
      load(PickleWriter().begin_dict().text("a").integer(1).text("a").integer(2).end_dict().stop());
  EXPECT_EQ(dict.root().kind, Kind::mapping);
  ASSERT_NE(dict.lookup(dict.root(), "a"), nullptr);
  EXPECT_EQ(dict.lookup(dict.root(), "a")->integer, 2);
  EXPECT_EQ(dict.lookup(dict.root(), "b"), nullptr);
  const auto items = [](std::string_view opcodes, Kind kind) {
    const PickleValues values = load(std::string(opcodes) + ".");
    EXPECT_EQ(values.root().kind, kind);
    std::vector<std::int64_t> numbers;
    for (const PickleRef ref : values.root().items) numbers.push_back(values[ref].integer);
    return numbers;
  };
  using testing::ElementsAre;
  EXPECT_THAT(items("K\x01K\x02K\x03\x87", Kind::tuple), ElementsAre(1, 2, 3));
  EXPECT_THAT(items("K\x01K\x02\x86", Kind::tuple), ElementsAre(1, 2));
  EXPECT_THAT(items("K\x01\x85", Kind::tuple), ElementsAre(1));
  EXPECT_THAT(items("(K\x01t", Kind::tuple), ElementsAre(1));
  EXPECT_THAT(items(")", Kind::tuple), ElementsAre());
  EXPECT_THAT(items("](K\x01K\x02"
                    "e",
                    Kind::sequence),
              ElementsAre(1, 2));
  EXPECT_THAT(items("]K\x01"
                    "a",
                    Kind::sequence),
              ElementsAre(1));
  EXPECT_THAT(items("(K\x01l", Kind::sequence), ElementsAre(1));
  EXPECT_THAT(items("\x8f(K\x01\x90", Kind::sequence), ElementsAre(1));
  EXPECT_THAT(items("(K\x01\x91", Kind::sequence), ElementsAre(1));
  EXPECT_THAT(items("(K\x01K\x02"
                    "d",
                    Kind::mapping),
              ElementsAre(1, 2));
  EXPECT_THAT(items("}K\x01K\x02s", Kind::mapping), ElementsAre(1, 2));
}

TEST(Pickle, KeepsAMemoAndAStack) {
  using namespace std::string_view_literals;
  EXPECT_EQ(load("K\x05q\x00"
                 "0h\x00."sv)
                .root()
                .integer,
            5);
  EXPECT_EQ(load("K\x05r\x00\x01\x00\x00"
                 "0j\x00\x01\x00\x00."sv)
                .root()
                .integer,
            5);
  EXPECT_EQ(load("K\x05\x94K\x06\x94"
                 "00h\x00."sv)
                .root()
                .integer,
            5);
  EXPECT_EQ(load("K\x05(K\x06K\x07"
                 "1."sv)
                .root()
                .integer,
            5);
  EXPECT_EQ(load("K\x05(0."sv).root().integer, 5);
  EXPECT_EQ(load("K\x05"
                 "2\x86."sv)
                .root()
                .items.size(),
            2);
  EXPECT_EQ(load("\x80\x04\x95\x03\0\0\0\0\0\0\0K\x05."sv).root().integer, 5);
}

TEST(Pickle, BuildsPlainObjectsWithoutACall) {
  PickleWriter ordered;
  ordered.global("collections", "OrderedDict").raw("(](").mark().text("a").integer(1).raw("te").raw("tR");
  const PickleValues dict = load(ordered.stop());
  EXPECT_EQ(dict.root().kind, Kind::mapping);
  EXPECT_EQ(dict.lookup(dict.root(), "a")->integer, 1);
  PickleWriter counter;
  counter.global("collections", "Counter").mark().begin_dict().text("a").integer(3).end_dict().raw("tR");
  const PickleValues counts = load(counter.stop());
  EXPECT_EQ(counts.lookup(counts.root(), "a")->integer, 3);
  PickleWriter size;
  size.global("torch", "Size").mark().integers({2, 3}).raw("tR");
  EXPECT_EQ(load(size.stop()).root().items.size(), 2);
  PickleWriter factory;
  factory.global("collections", "defaultdict").global("__builtin__", "dict").raw("\x85R");
  EXPECT_EQ(load(factory.stop()).root().kind, Kind::mapping);
  PickleWriter set;
  set.global("__builtin__", "set").mark().raw("](").integer(1).raw("etR");
  EXPECT_EQ(load(set.stop()).root().kind, Kind::data);
  PickleWriter stacked;
  stacked.text("torch").text("device").raw("\x93").text("cpu").raw("\x85R");
  EXPECT_EQ(load(stacked.stop()).root().kind, Kind::data);
}

TEST(Pickle, AnObjectOutsideTheListRefusesTheFileAndIsNamed) {
  const auto named = [](const char* object) {
    return AllOf(HasSubstr(object), HasSubstr("expected only tensors and plain containers"),
                 HasSubstr("torch.save({k: v"));
  };
  PickleWriter call;
  expect_refused(call.global("os", "system").text("true").raw("\x85R").stop(), named("os.system"));
  PickleWriter stacked;
  expect_refused(stacked.text("builtins").text("eval").raw("\x93").stop(), named("builtins.eval"));
  expect_refused(PickleWriter().mark().raw("iposix\nsystem\n").stop(), named("posix.system"));
  // Named only, deep inside an entry that would be ignored, and after the tensors.
  PickleWriter hidden;
  hidden.begin_dict().text("extra").raw("](").global("numpy.core.multiarray", "scalar").raw("e").end_dict();
  expect_refused(hidden.stop(), named("numpy.core.multiarray.scalar"));
  PickleWriter near;
  expect_refused(near.global("torch", "load").stop(), named("torch.load"));
  PickleWriter dotted;
  expect_refused(dotted.text("torch").text("device.__class__").raw("\x93").stop(), named("torch.device.__class__"));
  PickleWriter control;
  expect_refused(control.text("a\nb").text("c\x1b").raw("\x93").stop(), named("a\\x0ab.c\\x1b"));
}

TEST(Pickle, DamageIsRefused) {
  using namespace std::string_view_literals;
  const auto damaged = [](std::string_view bytes, const char* what) {
    expect_refused(bytes, AllOf(HasSubstr("damaged pickle at byte"), HasSubstr(what)));
  };
  damaged(""sv, "ends too early");
  damaged("K"sv, "ends too early");
  damaged("N"sv, "ends too early");
  damaged(
      "X\xff\xff\xff\xff"
      "abc"sv,
      "ends too early");
  damaged(
      "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
      "abc"sv,
      "ends too early");
  damaged("\x8b\xff\xff\xff\xff"sv, "ends too early");
  damaged("ctorch\nSi"sv, "ends within a name");
  damaged("."sv, "stack is empty");
  damaged("0"sv, "stack is empty");
  damaged("N(\x85."sv, "stack is empty");
  damaged("t"sv, "mark is missing");
  damaged("u"sv, "mark is missing");
  damaged("}(Nu."sv, "key but no value");
  damaged("(Nd."sv, "key but no value");
  damaged("N(NNu."sv, "holds none");
  damaged("]NNs."sv, "holds none");
  damaged("}Na."sv, "holds none");
  damaged("h\x07."sv, "memo 7 was never set");
  damaged("Nr\xff\xff\xff\xff."sv, "memo 4294967295 is out of range");
  damaged("N)R."sv, "no class or function");
  damaged("ctorch\nSize\nNR."sv, "without a tuple");
  damaged("ctorch\nSize\n)R."sv, "torch.Size without a tuple");
  damaged("ctorch\nFloatStorage\n)R."sv, "storage built from arguments");
  damaged("ctorch._utils\n_rebuild_parameter\n)R."sv, "parameter without a tensor");
  damaged("ccollections\nOrderedDict\n](Ne\x85R."sv, "no pair");
  damaged("NQ."sv, "named by no tuple");
  damaged("NN\x93."sv, "named by no text");
}

TEST(Pickle, OpcodesOutsideTheSetAreRefused) {
  expect_refused("S'text'\n.", HasSubstr("pickle opcode 83 at byte 0"));
  expect_refused("\x82\x01.", HasSubstr("pickle opcode 130"));
  expect_refused("P1\n.", HasSubstr("pickle opcode 80"));
}

TEST(Pickle, AFewBytesCannotFillTheMemory) {
  // Millions of values, marks or copies: each costs memory many times the bytes that ask for it.
  expect_refused(std::string(3'000'000, 'N'), HasSubstr("more than"));
  expect_refused(std::string(3'000'000, '('), HasSubstr("too many marks"));
  expect_refused("N" + std::string(3'000'000, '2'), HasSubstr("on its stack"));
  std::string copies = "(";
  for (int i = 0; i < 100'000; ++i) copies += "N";
  copies += std::string_view(
      "tq\x00"
      "0",
      4);
  for (int i = 0; i < 100'000; ++i) copies += std::string_view("h\x00Q0", 4);
  expect_refused(copies, HasSubstr("in its containers"));
}

TEST(Pickle, DeepAndCyclicValuesAreHarmless) {
  const PickleValues deep = load(std::string(500'000, ']') + std::string(499'999, 'a') + ".");
  EXPECT_EQ(deep.root().kind, Kind::sequence);
  const PickleValues cycle =
      load(std::string_view("]q\x00h\x00"
                            "a.",
                            7));
  EXPECT_EQ(&cycle[cycle.root().items[0]], &cycle.root());
}

}  // namespace
}  // namespace lingbot_map
