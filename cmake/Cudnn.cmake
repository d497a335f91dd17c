# cuDNN's headers. The library itself is opened at run time, so nothing is linked.
#   LINGBOT_MAP_CUDNN   whether they are there
#   CUDNN_INCLUDE_DIR   where
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include
          DOC "Folder of cudnn.h, version 9.10 or newer")

set(LINGBOT_MAP_CUDNN OFF)
if(CUDNN_INCLUDE_DIR AND EXISTS "${CUDNN_INCLUDE_DIR}/cudnn_version.h")
  file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" cudnn_version REGEX "^#define CUDNN_(MAJOR|MINOR) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" cudnn_version "${cudnn_version}")
  list(JOIN cudnn_version "." cudnn_version)
  if(cudnn_version VERSION_GREATER_EQUAL 9.10)
    set(LINGBOT_MAP_CUDNN ON)
  endif()
endif()
