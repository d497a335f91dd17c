# Whether and how the GPU back end is built.
#   LINGBOT_MAP_CUDA                AUTO (the default: where nvcc 12 or newer is found), ON or OFF
#   LINGBOT_MAP_CUDA_ARCHITECTURES  compute capabilities to build for, e.g. 80,90a; empty: all that the compiler knows
#   LINGBOT_MAP_WITH_CUDA           the result

set(LINGBOT_MAP_CUDA AUTO CACHE STRING "The CUDA back end: AUTO, ON or OFF")
set_property(CACHE LINGBOT_MAP_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LINGBOT_MAP_CUDA_ARCHITECTURES "" CACHE STRING "Compute capabilities, e.g. 80,90a; empty: all the compiler knows")

set(LINGBOT_MAP_WITH_CUDA OFF)
if(NOT LINGBOT_MAP_CUDA STREQUAL "OFF")
  find_program(LINGBOT_MAP_NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin DOC "CUDA's compiler")
  if(LINGBOT_MAP_NVCC)
    execute_process(COMMAND ${LINGBOT_MAP_NVCC} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" ignored "${nvcc_version}")
    if(CMAKE_MATCH_1 GREATER_EQUAL 12)
      set(LINGBOT_MAP_WITH_CUDA ON)
    endif()
  endif()
  if(NOT LINGBOT_MAP_WITH_CUDA AND NOT LINGBOT_MAP_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "LINGBOT_MAP_CUDA=${LINGBOT_MAP_CUDA}: no nvcc 12 or newer found (${LINGBOT_MAP_NVCC}); set "
                        "LINGBOT_MAP_NVCC to it, or LINGBOT_MAP_CUDA=OFF")
  endif()
endif()
if(NOT LINGBOT_MAP_WITH_CUDA)
  message(STATUS "CUDA back end: off")
  return()
endif()

# 90a: what the matrix units of that generation are only to be had with. For newer GPUs than the list, code that the
# driver finishes (the last one's PTX).
string(REPLACE "," ";" architectures "${LINGBOT_MAP_CUDA_ARCHITECTURES}")
if(NOT architectures)
  execute_process(COMMAND ${LINGBOT_MAP_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
  foreach(architecture 75 80 86 89 90a 100 120)
    string(REPLACE "a" "" number ${architecture})
    if(known MATCHES "compute_${number}\n")
      list(APPEND architectures ${architecture})
    endif()
  endforeach()
endif()
set(CMAKE_CUDA_ARCHITECTURES "")
foreach(architecture ${architectures})
  list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture}-real)
endforeach()
list(GET architectures -1 newest)
if(NOT newest MATCHES "a$")
  list(APPEND CMAKE_CUDA_ARCHITECTURES ${newest}-virtual)
endif()
list(JOIN architectures ", " LINGBOT_MAP_CUDA_ARCHITECTURE_NAMES)

set(CMAKE_CUDA_COMPILER ${LINGBOT_MAP_NVCC})
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake before 3.26 does not know that newer nvcc have C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
include(FlashInfer)
include(Cudnn)
message(STATUS "CUDA back end: ${CMAKE_CUDA_COMPILER_VERSION}, for ${LINGBOT_MAP_CUDA_ARCHITECTURE_NAMES}; FlashInfer "
               "${LINGBOT_MAP_FLASHINFER}, cuDNN headers ${LINGBOT_MAP_CUDNN}")
