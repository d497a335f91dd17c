#include "flags.hpp"

#include <algorithm>
#include <memory>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

class FirstNames : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string names = CLI::Formatter::make_option_name(option, is_positional);
    return names.starts_with("--") ? names.substr(0, names.find(',')) : names;
  }
};

}  // namespace

Flags::Flags(CLI::App& app) : app_(app) { app.formatter(std::make_shared<FirstNames>()); }

void Flags::flag(const std::string& names, bool& place, const std::string& help) {
  app_.add_flag(both_spellings(names), place, help)->group(group_);
}

void Flags::line_for(const std::string& name, int values, std::vector<std::string>& lines, const std::string& why) {
  auto* option = app_.add_option_function<std::vector<std::string>>(
      both_spellings(name),
      [&lines, name, why](const std::vector<std::string>&) { lines.push_back(message(name, ": ", why)); });
  option->group("")->expected(values)->take_last();
}

void Flags::switch_for(const std::string& name, std::vector<std::string>& lines, const std::string& why) {
  app_.add_flag_callback(both_spellings(name), [&lines, name, why] { lines.push_back(message(name, ": ", why)); })
      ->group("");
}

std::string Flags::both_spellings(const std::string& names) {
  std::string dashed = names;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (dashed == names) return names;
  std::string all = names;
  for (std::size_t start = 0; start < dashed.size();) {
    const std::size_t end = std::min(dashed.find(',', start), dashed.size());
    // CLI11 refuses a name that is there twice.
    if (dashed.compare(start, end - start, names, start, end - start) != 0)
      all += "," + dashed.substr(start, end - start);
    start = end + 1;
  }
  return all;
}

}  // namespace lingbot_map::tool
