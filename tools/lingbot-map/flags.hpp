#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lingbot_map::tool {

/// Adds the flags of a command. Each may be written with `_` or with `-`, as the public programs and people do; the
/// help text lists it under its first name only, which has `_`.
class Flags {
 public:
  explicit Flags(CLI::App& app);

  /// The heading in the help text of what is added from now on.
  void group(std::string name) { group_ = std::move(name); }

  /// `names`: "--size", or "--window,--kv_cache_sliding_window". Of a flag that is given twice, the last counts.
  template <typename T>
  CLI::Option* value(const std::string& names, T& place, const std::string& help, const std::string& type) {
    return app_.add_option(both_spellings(names), place, help)->type_name(type)->group(group_)->take_last();
  }
  void flag(const std::string& names, bool& place, const std::string& help);
  /// A flag with values that only leaves a line behind. Not in the help text.
  void line_for(const std::string& name, int values, std::vector<std::string>& lines, const std::string& why);
  /// The same for a flag without a value.
  void switch_for(const std::string& name, std::vector<std::string>& lines, const std::string& why);

 private:
  /// "--image_folder" as "--image_folder,--image-folder".
  static std::string both_spellings(const std::string& names);

  CLI::App& app_;
  std::string group_ = "Options";
};

}  // namespace lingbot_map::tool
