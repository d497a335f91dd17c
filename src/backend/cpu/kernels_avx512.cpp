#define LINGBOT_MAP_KERNELS kernels_avx512
#define LINGBOT_MAP_KERNELS_NAME "avx512"
#include "backend/cpu/kernels.inc"
