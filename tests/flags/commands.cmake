# Where the flags of each command are tested: globs below tests/. A new command, or a new file of tests, is added here.
set(commands
  "lingbot-map=tools/model_commands_test.cpp"
  "lingbot-map run=tools/run_*.[ch]pp"
  "lingbot-map demo=tools/run_*.[ch]pp" # the same flags by the same code, which help_test.cpp holds it to
  "lingbot-map preprocess=media/preprocess_command_test.cpp"
  "lingbot-map export=tools/export_command_test.cpp"
  "lingbot-map info=tools/model_commands_test.cpp"
  "lingbot-map convert=tools/model_commands_test.cpp"
  "lingbot-map synth=tools/model_commands_test.cpp"
  "lingbot-map scene=tools/scene_command_test.cpp"
  "lingbot-map eval=tools/eval_command_test.cpp tools/eval_pictures_test.cpp"
  "lingbot-map picture=tools/picture_command_test.cpp"
  "lingbot-map profile=tools/profile_command_test.cpp"
  # bench_stream_test.cpp runs each of the four with the flags that they share.
  "lingbot-map bench frames=tools/bench_frames_test.cpp tools/bench_stream_test.cpp"
  "lingbot-map bench memory=tools/bench_memory_test.cpp tools/bench_stream_test.cpp"
  "lingbot-map bench start=tools/bench_start_test.cpp tools/bench_stream_test.cpp"
  "lingbot-map bench accuracy=tools/bench_accuracy_test.cpp tools/bench_stream_test.cpp"
  "lingbot-map bench ops=tools/bench_ops_test.cpp tools/bench_fixture.hpp")
