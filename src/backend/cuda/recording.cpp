#include "backend/cuda/recording.hpp"

#include "backend/cuda/check.hpp"

namespace lingbot_map::cuda {

std::unique_ptr<CudaRecording> CudaRecording::of(cudaStream_t stream, const std::function<void()>& work) {
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a frame");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    (void)cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream, &graph), "recording a frame");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  check_cuda(made, "recording a frame");
  return std::unique_ptr<CudaRecording>(new CudaRecording(executable));
}

CudaRecording::~CudaRecording() { (void)cudaGraphExecDestroy(graph_); }

void CudaRecording::launch(cudaStream_t stream) const {
  check_cuda(cudaGraphLaunch(graph_, stream), "replaying a frame");
}

}  // namespace lingbot_map::cuda
