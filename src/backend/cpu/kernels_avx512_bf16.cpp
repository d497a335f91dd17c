#define LINGBOT_MAP_KERNELS kernels_avx512_bf16
#define LINGBOT_MAP_KERNELS_NAME "avx512_bf16"
#include "backend/cpu/kernels.inc"
