#include "checkpoint/pickle.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/little_endian.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "checkpoint/pickle_opcodes.hpp"

namespace lingbot_map {
namespace {

// A training checkpoint of the official network, with its optimizer, needs about a tenth of each.
constexpr std::size_t kMostValues = std::size_t{1} << 21;
constexpr std::size_t kMostItems = std::size_t{1} << 23;
constexpr std::size_t kMostStacked = std::size_t{1} << 21;
constexpr std::size_t kMostMemo = std::size_t{1} << 21;

}  // namespace

using Kind = PickleValue::Kind;

/// The machine: a stack of references, the marks in it, and the memo.
class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  PickleValues run() {
    while (step()) {
    }
    return std::move(values_);
  }

 private:
  [[noreturn]] void fail_damaged(const std::string& what) const {
    fail(ErrorCode::input, source_, ": damaged pickle at byte ", at_, ": ", what, "; get the file again");
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail_damaged("it ends too early");
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }
  template <typename T>
  T take_integer() {
    return load_le<T>(take(sizeof(T)));
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail_damaged("it ends within a name");
    const std::string_view line = take(end - at_);
    take(1);
    return line;
  }

  PickleRef add(PickleValue value) {
    if (values_.values_.size() >= kMostValues) fail_damaged(message("more than ", kMostValues, " values"));
    count_items(value.items.size());
    values_.values_.push_back(std::move(value));
    return static_cast<PickleRef>(values_.values_.size() - 1);
  }
  // Without this, one long tuple copied by a few bytes again and again would fill the memory.
  void count_items(std::size_t more) {
    items_ += more;
    if (items_ > kMostItems) fail_damaged(message("more than ", kMostItems, " values in its containers"));
  }
  PickleValue& at(PickleRef ref) { return values_.values_[ref]; }

  void push(PickleRef ref) {
    if (stack_.size() >= kMostStacked) fail_damaged(message("more than ", kMostStacked, " values on its stack"));
    stack_.push_back(ref);
  }
  void push(PickleValue value) { push(add(std::move(value))); }
  void push_kind(Kind kind) { push({.kind = kind}); }
  void push_integer(std::int64_t value, Kind kind = Kind::integer) { push({.kind = kind, .integer = value}); }
  void push_text(std::string_view text) { push({.kind = Kind::text, .text = std::string(text)}); }
  // Python's integers of any length, in two's complement.
  void push_long(std::string_view digits) {
    if (digits.size() > 8) return push_kind(Kind::number);
    const bool negative = !digits.empty() && static_cast<signed char>(digits.back()) < 0;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    push_integer(static_cast<std::int64_t>(value));
  }

  // The stack above the last mark is what an opcode may take.
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleRef top() const {
    if (stack_.size() <= floor()) fail_damaged("its stack is empty");
    return stack_.back();
  }
  PickleRef pop() {
    const PickleRef ref = top();
    stack_.pop_back();
    return ref;
  }
  std::vector<PickleRef> pop_to_mark() {
    if (marks_.empty()) fail_damaged("a mark is missing on its stack");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<PickleRef> pop_some(std::size_t count) {
    std::vector<PickleRef> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  void push_container(Kind kind, std::vector<PickleRef> items) {
    if (kind == Kind::mapping && items.size() % 2 != 0) fail_damaged("a dict with a key but no value");
    push({.kind = kind, .items = std::move(items)});
  }

  void extend(PickleRef target, Kind kind, const std::vector<PickleRef>& items) {
    PickleValue& value = at(target);
    if (value.kind != kind && value.kind != Kind::data) fail_damaged("items put into something that holds none");
    if (kind == Kind::mapping && items.size() % 2 != 0) fail_damaged("a dict with a key but no value");
    count_items(items.size());
    value.items.insert(value.items.end(), items.begin(), items.end());
  }

  void push_global(std::string_view module, std::string_view name) {
    const PickleGlobal* global = find_pickle_global(module, name);
    if (global == nullptr) {
      fail(ErrorCode::input, source_, ": names the Python object ", printable(module), ".", printable(name),
           ", expected only tensors and plain containers; if you trust its origin, re-save its tensors with python -c ",
           "\"import torch; d = torch.load('OLD.pt', map_location='cpu', weights_only=False); d = d.get('model', d); ",
           "torch.save({k: v for k, v in d.items() if torch.is_tensor(v)}, 'NEW.pt')\"");
    }
    push({.kind = Kind::global, .global = global});
  }

  // What would be a call in Python only notes what was to be built from what.
  void construct(PickleRef callable, PickleRef arguments) {
    if (at(callable).kind != Kind::global) fail_damaged("a call of something that is no class or function");
    if (at(arguments).kind != Kind::tuple) fail_damaged("a call without a tuple of arguments");
    const PickleGlobal* global = at(callable).global;
    std::vector<PickleRef> items = at(arguments).items;
    switch (global->role) {
      case PickleRole::tensor: return push({.kind = Kind::tensor, .items = std::move(items), .global = global});
      case PickleRole::parameter:
        if (items.empty() || at(items[0]).kind != Kind::tensor) fail_damaged("a parameter without a tensor");
        return push(items[0]);
      case PickleRole::mapping: return push_container(Kind::mapping, pairs_of(items));
      case PickleRole::size:
        if (items.size() != 1 || at(items[0]).kind != Kind::tuple) fail_damaged("a torch.Size without a tuple");
        return push(items[0]);
      case PickleRole::storage: fail_damaged("a storage built from arguments");
      case PickleRole::data: return push({.kind = Kind::data, .items = std::move(items), .global = global});
    }
  }

  // An OrderedDict may carry its items as one sequence of pairs; a defaultdict begins with its factory.
  std::vector<PickleRef> pairs_of(const std::vector<PickleRef>& arguments) {
    std::vector<PickleRef> items;
    if (arguments.size() != 1 || at(arguments[0]).kind == Kind::global || at(arguments[0]).kind == Kind::none)
      return items;
    const PickleValue& source = at(arguments[0]);
    if (source.kind == Kind::mapping) return source.items;
    for (const PickleRef pair : source.items) {
      const PickleValue& value = at(pair);
      if ((value.kind != Kind::tuple && value.kind != Kind::sequence) || value.items.size() != 2) {
        fail_damaged("a dict built from something that is no pair");
      }
      items.insert(items.end(), value.items.begin(), value.items.end());
    }
    return items;
  }

  void put(std::uint64_t index) {
    if (index >= kMostMemo) fail_damaged(message("memo ", index, " is out of range"));
    if (index >= memo_.size()) memo_.resize(static_cast<std::size_t>(index) + 1, kUnset);
    if (memo_[index] == kUnset) ++memoized_;
    memo_[index] = top();
  }
  void get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kUnset) fail_damaged(message("memo ", index, " was never set"));
    push(memo_[index]);
  }

  // One opcode; false after the last.
  bool step() {
    const auto op = static_cast<unsigned char>(take(1).front());
    switch (op) {
      case kProto: take(1); break;
      case kFrame: take(8); break;
      case kStop: values_.root_ = pop(); return false;
      case kMark:
        marks_.push_back(stack_.size());
        limit_marks();
        break;
      case kPop: pop_or_unmark(); break;
      case kPopMark: pop_to_mark(); break;
      case kDup: push(top()); break;
      case kNone: push_kind(Kind::none); break;
      case kNewTrue: push_integer(1, Kind::boolean); break;
      case kNewFalse: push_integer(0, Kind::boolean); break;
      case kBinInt: push_integer(static_cast<std::int32_t>(take_integer<std::uint32_t>())); break;
      case kBinInt1: push_integer(take_integer<std::uint8_t>()); break;
      case kBinInt2: push_integer(take_integer<std::uint16_t>()); break;
      case kLong1: push_long(take(take_integer<std::uint8_t>())); break;
      case kLong4: push_long(take(take_integer<std::uint32_t>())); break;
      case kBinFloat:
        take(8);
        push_kind(Kind::number);
        break;
      case kShortBinUnicode:
      case kShortBinString: push_text(take(take_integer<std::uint8_t>())); break;
      case kBinUnicode:
      case kBinString: push_text(take(take_integer<std::uint32_t>())); break;
      case kBinUnicode8: push_text(take(take_integer<std::uint64_t>())); break;
      case kShortBinBytes:
        take(take_integer<std::uint8_t>());
        push_kind(Kind::bytes);
        break;
      case kBinBytes:
        take(take_integer<std::uint32_t>());
        push_kind(Kind::bytes);
        break;
      case kBinBytes8:
      case kByteArray8:
        take(take_integer<std::uint64_t>());
        push_kind(Kind::bytes);
        break;
      case kEmptyDict: push_kind(Kind::mapping); break;
      case kEmptyList:
      case kEmptySet: push_kind(Kind::sequence); break;
      case kEmptyTuple: push_kind(Kind::tuple); break;
      case kTuple1: push_container(Kind::tuple, pop_some(1)); break;
      case kTuple2: push_container(Kind::tuple, pop_some(2)); break;
      case kTuple3: push_container(Kind::tuple, pop_some(3)); break;
      case kTuple: push_container(Kind::tuple, pop_to_mark()); break;
      case kList:
      case kFrozenSet: push_container(Kind::sequence, pop_to_mark()); break;
      case kDict: push_container(Kind::mapping, pop_to_mark()); break;
      case kAppend: extend_top(Kind::sequence, pop_some(1)); break;
      case kAppends:
      case kAddItems: extend_top(Kind::sequence, pop_to_mark()); break;
      case kSetItem: extend_top(Kind::mapping, pop_some(2)); break;
      case kSetItems: extend_top(Kind::mapping, pop_to_mark()); break;
      case kBinPut: put(take_integer<std::uint8_t>()); break;
      case kLongBinPut: put(take_integer<std::uint32_t>()); break;
      case kMemoize: put(memoized_); break;
      case kBinGet: get(take_integer<std::uint8_t>()); break;
      case kLongBinGet: get(take_integer<std::uint32_t>()); break;
      case kGlobal:
      case kInst: global_from_lines(op); break;
      case kStackGlobal: global_from_stack(); break;
      case kReduce:
      case kNewObj: construct_from_stack(2); break;
      case kNewObjEx: construct_from_stack(3); break;
      case kBuild:
        pop();
        top();
        break;  // attributes, such as a state dict's _metadata, are of no use here
      case kBinPersId: persistent_from_stack(); break;
      default:
        fail(ErrorCode::input, source_, ": pickle opcode ", static_cast<int>(op), " at byte ", at_ - 1,
             ", expected one that tensors need; re-save the file with torch.save and its default pickle protocol");
    }
    return true;
  }

  void limit_marks() const {
    if (marks_.size() > kMostStacked) fail_damaged("too many marks on its stack");
  }
  void pop_or_unmark() {
    if (stack_.size() > floor()) {
      pop();
    } else if (!marks_.empty()) {
      marks_.pop_back();
    } else {
      fail_damaged("its stack is empty");
    }
  }
  void extend_top(Kind kind, const std::vector<PickleRef>& items) { extend(top(), kind, items); }
  void global_from_lines(unsigned char op) {
    const std::string_view module = take_line();
    const std::string_view name = take_line();
    push_global(module, name);
    if (op == kInst) {
      const PickleRef callable = pop();
      const PickleRef arguments = add({.kind = Kind::tuple, .items = pop_to_mark()});
      construct(callable, arguments);
    }
  }
  void global_from_stack() {
    const PickleRef name = pop();
    const PickleRef module = pop();
    if (at(name).kind != Kind::text || at(module).kind != Kind::text) fail_damaged("an object named by no text");
    push_global(at(module).text, at(name).text);
  }
  void construct_from_stack(std::size_t operands) {
    const std::vector<PickleRef> taken = pop_some(operands);  // callable, arguments, and keyword arguments or none
    construct(taken[0], taken[1]);
  }
  void persistent_from_stack() {
    const PickleRef id = pop();
    if (at(id).kind != Kind::tuple) fail_damaged("a storage named by no tuple");
    std::vector<PickleRef> items = at(id).items;
    push({.kind = Kind::storage, .items = std::move(items)});
  }

  static constexpr PickleRef kUnset = ~PickleRef{0};

  std::string_view bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
  PickleValues values_;
  std::size_t items_ = 0;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleRef> memo_;
  std::size_t memoized_ = 0;
};

const PickleValue* PickleValues::lookup(const PickleValue& mapping, std::string_view key) const {
  for (std::size_t i = mapping.items.size(); i >= 2; i -= 2) {
    const PickleValue& candidate = values_[mapping.items[i - 2]];
    if (candidate.kind == Kind::text && candidate.text == key) return &values_[mapping.items[i - 1]];
  }
  return nullptr;
}

PickleValues unpickle(std::string_view bytes, const std::string& source) { return Unpickler(bytes, source).run(); }

}  // namespace lingbot_map
