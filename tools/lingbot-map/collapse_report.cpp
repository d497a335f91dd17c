#include "collapse_report.hpp"

#include "base/message.hpp"
#include "choices.hpp"

namespace lingbot_map::tool {

OnCollapse on_collapse(const std::string& name) {
  return choice("--on_collapse", name, {"warn", "stop"}) == 1 ? OnCollapse::stop : OnCollapse::warn;
}

bool CollapseReport::go_on_with(const FrameResult& result) {
  for (const Collapse& collapse : watch_.look(result)) {
    all_.push_back(collapse);
    if (on_collapse_ == OnCollapse::stop) {
      end_ = collapse.text() + "; the run ends before it, as --on_collapse stop asks";
      return false;
    }
    if (all_.size() <= kMostTold) console_.info("warning: " + collapse.text() + "; the network may have lost its way");
    if (all_.size() == kMostTold) console_.info("further jumps are only counted in run.json");
  }
  return true;
}

nlohmann::ordered_json to_json(std::span<const Collapse> collapses) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Collapse& collapse : collapses)
    list.push_back({{"frame", collapse.frame},
                    {"sign", std::string(name_of(collapse.sign))},
                    {"found", collapse.found},
                    {"usual", collapse.usual}});
  return list;
}

}  // namespace lingbot_map::tool
