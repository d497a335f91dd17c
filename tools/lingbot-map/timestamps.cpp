#include "timestamps.hpp"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Parses digits with at most one point whatever the locale of the process is.
double number(std::string_view digits) {
  std::istringstream stream{std::string(digits)};
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> value;
  return value;
}

/// Seconds in a unit of a whole Unix time of this many digits.
double unit(std::size_t digits) {
  switch (digits) {
    case 13: return 1e-3;
    case 16: return 1e-6;
    case 19: return 1e-9;
    default: return 1;
  }
}

}  // namespace

std::optional<double> time_in_name(std::string_view file_name) {
  const std::string_view stem = file_name.substr(0, file_name.rfind('.'));
  const auto last = std::find_if(stem.rbegin(), stem.rend(), is_digit);
  if (last == stem.rend()) return std::nullopt;
  const std::size_t end = stem.size() - static_cast<std::size_t>(last - stem.rbegin());
  std::size_t begin = end;
  while (begin > 0 && is_digit(stem[begin - 1])) --begin;
  const double whole = number(stem.substr(begin, end - begin)) * unit(end - begin);
  if (begin < 2 || stem[begin - 1] != '.' || !is_digit(stem[begin - 2])) return whole;
  --begin;
  while (begin > 0 && is_digit(stem[begin - 1])) --begin;
  return number(stem.substr(begin, end - begin));
}

double Timestamps::next(std::optional<double> stated, std::int64_t source_index, const std::string& name) {
  double time = static_cast<double>(source_index) / fps_;
  if (rule_ == Rule::name) {
    const auto named = time_in_name(name);
    if (!named) fail(ErrorCode::input, name, ": no number in the file name for --timestamps name; use index");
    time = *named;
  } else if (stated) {
    time = *stated;
  }
  if (!std::isfinite(time))
    fail(ErrorCode::input, name, ": its time stamp is no finite number; use --timestamps index");
  if (last_ && time <= *last_) {
    std::ostringstream both;
    both.precision(17);
    both << time << " s, does not come after " << *last_ << " s of " << last_name_;
    fail(ErrorCode::input, name, ": its time stamp, ", both.str(),
         rule_ == Rule::name ? "; rename the files or use --timestamps index" : "");
  }
  last_ = time;
  last_name_ = name;
  return time;
}

}  // namespace lingbot_map::tool
