#define LINGBOT_MAP_KERNELS kernels_generic
#define LINGBOT_MAP_KERNELS_NAME "generic"
#include "backend/cpu/kernels.inc"
