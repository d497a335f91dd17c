# FlashInfer's headers (scripts/fetch_headers.sh puts them into third_party/flashinfer), header-only.
#   LINGBOT_MAP_FLASHINFER               whether they are there
#   lingbot_map_flashinfer_headers       include folders, as system ones, and how sources that include them are compiled
#   LINGBOT_MAP_FLASHINFER_FA3           whether the architectures hold 90a, the only one that the FA3 kernels run on
#   LINGBOT_MAP_FLASHINFER_FA3_ARCHITECTURE  what CUDA_ARCHITECTURES of a target of flashinfer_fa3.cu must be
set(FLASHINFER_ROOT "${PROJECT_SOURCE_DIR}/third_party/flashinfer" CACHE PATH "Unpacked source of FlashInfer 0.3.1")

set(LINGBOT_MAP_FLASHINFER OFF)
set(LINGBOT_MAP_FLASHINFER_FA3 OFF)
set(LINGBOT_MAP_FLASHINFER_FA3_ARCHITECTURE 90a-real)
if(EXISTS "${FLASHINFER_ROOT}/include/flashinfer/attention/scheduler.cuh" AND
   EXISTS "${FLASHINFER_ROOT}/3rdparty/cutlass/include/cutlass/cutlass.h")
  set(LINGBOT_MAP_FLASHINFER ON)
  if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)90a")
    set(LINGBOT_MAP_FLASHINFER_FA3 ON)
  endif()

  add_library(lingbot_map_flashinfer_headers INTERFACE)
  target_include_directories(
    lingbot_map_flashinfer_headers SYSTEM
    INTERFACE "${FLASHINFER_ROOT}/include" "${FLASHINFER_ROOT}/3rdparty/cutlass/include"
              "${FLASHINFER_ROOT}/3rdparty/cutlass/tools/util/include")
  # Fast math is part of these kernels' speed: the softmax's exp2f() is one instruction of the special-function unit only
  # where subnormal results may be flushed to zero. What it changes is far below the output's rounding: weights under
  # 1e-38 become 0, one division a row is off by 2 ulp. It stays with the targets that link this; nothing else of the
  # project is compiled so. NDEBUG keeps FlashInfer from printing to standard error what it also returns.
  target_compile_options(lingbot_map_flashinfer_headers
                         INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -use_fast_math -DNDEBUG>)
endif()
