#pragma once

#include <functional>
#include <string>

namespace lingbot_map {

enum class LogLevel { debug, info, warning };

/// Receives the library's messages, one line each without a newline. Empty: messages are dropped.
using LogSink = std::function<void(LogLevel, const std::string&)>;

}  // namespace lingbot_map
