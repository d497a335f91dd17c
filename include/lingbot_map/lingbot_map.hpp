#pragma once

/// LingBot-Map: camera poses, depth and a point cloud from a stream of frames. Model::load, then Session::push.
#include "lingbot_map/collapse_watch.hpp"
#include "lingbot_map/config.hpp"
#include "lingbot_map/device_info.hpp"
#include "lingbot_map/error.hpp"
#include "lingbot_map/model.hpp"
#include "lingbot_map/session.hpp"
#include "lingbot_map/types.hpp"
#include "lingbot_map/version.hpp"
#include "lingbot_map/windowed_session.hpp"
