#define LINGBOT_MAP_KERNELS kernels_avx2
#define LINGBOT_MAP_KERNELS_NAME "avx2"
#include "backend/cpu/kernels.inc"
