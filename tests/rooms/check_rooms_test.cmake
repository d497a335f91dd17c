# Tries check_rooms.cmake on trees that it must accept or refuse. Arguments: CHECK, that script; WORK, a folder that
# may be emptied.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../expect_verdict.cmake)

# try_tree(RESULT accept|TEXT FILE CONTENT [FILE CONTENT ...]): the tree has rooms low, middle, media and backend; the
# check must accept it, or name TEXT in what it refuses.
function(try_tree expected)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/rooms.cmake
    "set(rooms low middle backend media)\nset(knows_middle low)\nset(knows_backend low middle)\nset(knows_media low)\n${extra}")
  while(ARGN)
    list(POP_FRONT ARGN file content)
    file(WRITE ${WORK}/${file} "${content}\n")
  endwhile()
  execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE=${WORK} -D ROOMS=${WORK}/rooms.cmake -P ${CHECK}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  expect_verdict("${expected}" "${status}" "${output}" "refused a right tree")
endfunction()

try_tree(accept src/low/a.hpp "#include <vector>" src/middle/b.cpp "#include \"low/a.hpp\"\n#include \"middle/b.hpp\"")
try_tree(accept src/plot/a.cpp "#include <opencv2/core.hpp>")
try_tree(accept src/media/a.cpp "#include <opencv2/core.hpp>" src/backend/cuda/k.cu "#include <cuda_runtime.h>")
try_tree(accept src/middle/b.cpp "#include \"lingbot_map/types.hpp\"\n#include <sys/mman.h>\n#include <nlohmann/json.hpp>")
try_tree("room low does not say that it knows middle" src/low/a.cpp "  #  include \"middle/b.hpp\"")
try_tree("room media does not say that it knows middle" src/media/a.cpp "#include \"middle/b.hpp\"")
try_tree("belongs in src/media or src/plot alone" src/middle/b.cpp "#include <opencv2/core.hpp>")
try_tree("belongs in src/media or src/plot alone" tools/p/main.cpp "#include <opencv2/core.hpp>")
try_tree("belongs in src/backend or src/attention" src/middle/b.hpp "#include <cuda_runtime.h>")
try_tree("belongs in tools or benchmarks alone" src/low/a.cpp "#include <CLI/CLI.hpp>")
try_tree("standard library and nlohmann/json alone" src/low/a.cpp "#include <fmt/core.h>")
try_tree("no include found" src/low/a.txt "nothing")
set(extra "set(knows_low middle)\n")
try_tree("room low knows middle, which does not stand above it" src/low/a.hpp "#include <vector>")
