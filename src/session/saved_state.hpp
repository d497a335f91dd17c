#pragma once

#include "lingbot_map/session.hpp"
#include "model/model_impl.hpp"
#include "state/state_reader.hpp"
#include "state/state_writer.hpp"

namespace lingbot_map {

/// Writes what a session must be restored with: version, model, dtype and the options that its results depend on.
void save_identity(StateWriter& state, const Model::Impl& model, const SessionOptions& options);

/// Throws Error(input) that names the first thing in which the saved session differs.
void check_identity(const StateReader& state, const Model::Impl& model, const SessionOptions& options);

}  // namespace lingbot_map
