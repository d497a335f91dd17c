# Arguments: BUILD, a finished build; CONSUMER, the project that uses the package; EXAMPLE, its source; WORK, a folder
# that may be emptied; CXX.
cmake_policy(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${WORK}/prefix
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -D CMAKE_PREFIX_PATH=${WORK}/prefix
                        -D CMAKE_CXX_COMPILER=${CXX} -D EXAMPLE=${EXAMPLE}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/build/push_frames --synthetic OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "frame +[0-9]+" lines "${output}")
list(LENGTH lines count)
if(NOT count EQUAL 12)
  message(FATAL_ERROR "push_frames: found ${count} poses, expected 12, in:\n${output}")
endif()
