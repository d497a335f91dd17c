#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention.hpp"
#include "backend/cpu/cpu_backend.hpp"
#include "backend/make_backend.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "bench/device_time.hpp"
#include "bench/operation_cases.hpp"
#include "bench/peak.hpp"
#include "bench/result_table.hpp"
#include "bench/statistics.hpp"
#include "bench/streams.hpp"
#include "checkpoint/elements.hpp"
#include "choices.hpp"
#include "config/manifest.hpp"
#include "flags.hpp"
#include "lingbot_map/device_info.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

struct OpsFlags {
  std::string config = "official";
  std::string size = "518x378";
  std::string device = "auto";
  std::string dtype = "fp32,bf16";
  std::string backend = "auto";
  std::string filter;
  std::string kernels;
  int threads = 0;
  int scale_frames = 8;
  int window = 64;
  int repeats = 20;
  int warmup = 2;
  std::string output = "md";
};

/// One of the machine's devices, and what it can do at most.
struct Measured {
  std::string name;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Peak> peak;
};

std::unique_ptr<Backend> open_backend(Device device, const OpsFlags& flags) {
  if (device.kind != Device::Kind::cpu || flags.kernels.empty()) return make_backend(device, flags.threads);
  std::string names;
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    if (flags.kernels == kernels->name) return std::make_unique<CpuBackend>(flags.threads, kernels);
    names += (names.empty() ? "" : ", ") + std::string(kernels->name);
  }
  fail(ErrorCode::usage, "--kernels: found \"", flags.kernels, "\", expected one of this processor's: ", names);
}

/// The CPU first: the others are held against it.
std::vector<Measured> open_devices(const OpsFlags& flags) {
  std::vector<Device> devices;
  if (flags.device == "auto") {
    devices = {Device::cpu()};
    if (default_device() != Device::cpu()) devices.push_back(default_device());
  } else {
    for (const std::string& name : list_of("--device", flags.device)) devices.push_back(device_of(name));
    std::stable_partition(devices.begin(), devices.end(), [](Device d) { return d == Device::cpu(); });
  }
  std::vector<Measured> measured;
  for (const Device& device : devices) {
    Measured one{.name = device.to_string(), .backend = open_backend(device, flags), .peak = nullptr};
    one.peak = std::make_unique<Peak>(*one.backend);
    measured.push_back(std::move(one));
  }
  return measured;
}

/// All outputs as float32, one after the other.
std::vector<float> values_of(Backend& backend, const std::vector<Tensor>& outputs) {
  std::vector<float> values;
  for (const Tensor& output : outputs) {
    std::vector<std::byte> bytes(output.bytes());
    backend.download(output, bytes);
    const std::size_t start = values.size();
    values.resize(start + static_cast<std::size_t>(output.elements()));
    convert_to_float(output.dtype(), bytes, std::span(values).subspan(start));
  }
  return values;
}

/// ||a - b|| / ||b||; infinite when a number is none.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    difference += d * d;
    norm += static_cast<double>(b[i]) * b[i];
  }
  const double relative = difference == 0 ? 0 : std::sqrt(difference / norm);
  return std::isfinite(relative) ? relative : HUGE_VAL;
}

class BenchOps {
 public:
  explicit BenchOps(const OpsFlags& flags)
      : flags_(flags),
        format_(output_format(flags.output)),
        config_(load_config(flags.config)),
        size_(frame_size(flags.size)),
        grid_(config_, size_.width, size_.height) {
    require_at_least_one("--repeats", flags.repeats);
    require_at_least_one("--scale_frames", flags.scale_frames);
    require_at_least_one("--window", flags.window);
    for (const std::string& name : list_of("--dtype", flags.dtype)) {
      const std::optional<DType> dtype = dtype_of(name);
      if (!dtype) fail(ErrorCode::usage, "--dtype: found auto, expected a list of fp32, bf16 and fp16");
      dtypes_.push_back(*dtype);
    }
    if (!flags.filter.empty()) filters_ = list_of("--filter", flags.filter);
    devices_ = open_devices(flags);
    for (const std::string& name : list_of("--backend", flags.backend))
      kinds_.push_back(attention_of(name, Device::parse(devices_.back().name)));
    operations_ = wanted_operations();
  }

  void run() {
    ResultTable table(std::cout, format_, {{"version", version()}, {"commit", commit()}});
    table.note(message("lingbot-map ", version(), " (", commit(), "), ", flags_.config, ", frames of ", size_.text(),
                       ", ", flags_.scale_frames, " scale frames and a window of ", flags_.window));
    for (const Measured& device : devices_) table.note(peaks_text(device));
    table.columns(columns());
    for (const auto& [operation, dtype] : operations_) table.add(measure(operation, dtype));
  }

 private:
  /// What the filter leaves.
  [[nodiscard]] std::vector<std::pair<OperationCase, DType>> wanted_operations() const {
    std::vector<std::pair<OperationCase, DType>> operations;
    const SessionOptions session{.scale_frames = flags_.scale_frames, .window = flags_.window};
    for (const DType dtype : dtypes_) {
      for (const OperationCase& operation : operation_cases(config_, grid_, session, dtype, kinds_))
        if (wanted(operation)) operations.emplace_back(operation, dtype);
    }
    if (operations.empty())
      fail(ErrorCode::usage, "--filter: found \"", printable(flags_.filter),
           "\", which is in no operation's name/type; leave it out to see them all");
    return operations;
  }

  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> columns = {{"operation", "/operation"}, {"shape", "/shape"}, {"type", "/precision"}};
    for (const Measured& device : devices_) {
      const std::string at = "/devices/" + device.name;
      columns.push_back({device.name + " ms", at + "/ms/median", 1, 4});
      columns.push_back({"+-", at + "/ms/deviation", 1, 4});
      columns.push_back({"GFLOP/s", at + "/flops", 1e-9, 0});
      columns.push_back({"GB/s", at + "/bytes_per_second", 1e-9, 0});
      columns.push_back({"% of peak", at + "/share_of_peak", 100, 0});
    }
    if (devices_.size() > 1) columns.push_back({"difference", "/relative_difference", 1, -2});
    return columns;
  }

  [[nodiscard]] std::string peaks_text(const Measured& device) const {
    std::string text = message(device_text(Device::parse(device.name)), ": at most");
    for (const DType dtype : dtypes_) {
      if (!device.backend->supports(dtype)) continue;
      const Precision precision = precision_of(dtype);
      text += message(" ", std::lround(device.peak->flops(precision) * 1e-9), " GFLOP/s in ", name_of(precision), ",");
    }
    return message(text, " ", std::lround(device.peak->bandwidth() * 1e-9), " GB/s");
  }

  [[nodiscard]] bool wanted(const OperationCase& operation) const {
    const std::string name = message(operation.name, "/", name_of(operation.precision));
    return filters_.empty() || std::any_of(filters_.begin(), filters_.end(), [&name](const std::string& part) {
             return name.find(part) != std::string::npos;
           });
  }

  Json measure(const OperationCase& operation, DType dtype) {
    Json result = {{"kind", "operation"},       {"operation", operation.name},
                   {"shape", operation.shape},  {"precision", std::string(name_of(operation.precision))},
                   {"flops", operation.flops},  {"bytes", operation.bytes},
                   {"config", flags_.config},   {"size", size_.text()},
                   {"repeats", flags_.repeats}, {"relative_difference", nullptr},
                   {"devices", Json::object()}};
    std::optional<std::vector<float>> reference;
    for (Measured& device : devices_) {
      if (!device.backend->supports(dtype)) continue;
      Operands operands(*device.backend);
      const PreparedOperation prepared = operation.prepare(*device.backend, operands);
      prepared.step();
      const std::vector<float> values = values_of(*device.backend, prepared.outputs);
      if (reference) {
        const double difference = relative_difference(values, *reference);
        result["relative_difference"] = difference;
        result["devices"][device.name]["relative_difference"] = difference;
      } else {
        reference = values;
      }
      time(operation, device, prepared.step, result["devices"][device.name]);
    }
    return result;
  }

  void time(const OperationCase& operation, Measured& device, const std::function<void()>& step, Json& result) {
    const Statistics seconds =
        Statistics::of(device_seconds(*device.backend, step, {.repeats = flags_.repeats, .warmup = flags_.warmup}));
    const double compute = operation.flops > 0 ? operation.flops / device.peak->flops(operation.precision) : 0;
    const double memory = operation.bytes / device.peak->bandwidth();
    const DeviceInfo info = device_info(Device::parse(device.name));
    result["name"] = info.name;
    result["driver"] = info.driver.empty() ? Json(nullptr) : Json(info.driver);
    result["threads"] = device.backend->threads_used();
    result["ms"] = seconds.json(1000);
    result["flops"] = operation.flops > 0 ? Json(operation.flops / seconds.median) : Json(nullptr);
    result["bytes_per_second"] = operation.bytes / seconds.median;
    result["bound_by"] = compute > memory ? "compute" : "memory";
    result["share_of_peak"] = std::max(compute, memory) / seconds.median;
  }

  OpsFlags flags_;
  OutputFormat format_;
  Config config_;
  FrameSize size_;
  FrameGrid grid_;
  std::vector<DType> dtypes_;
  std::vector<AttentionKind> kinds_;
  std::vector<std::pair<OperationCase, DType>> operations_;
  std::vector<std::string> filters_;
  std::vector<Measured> devices_;
};

}  // namespace

void add_bench_ops(CLI::App& app) {
  const auto flags = std::make_shared<OpsFlags>();
  CLI::App* command =
      app.add_subcommand("ops", "Every operation of a frame on every device, and how the results differ");
  command->footer(
      "The share of peak is the time that arithmetic or memory traffic takes at the measured peak, whichever is "
      "longer, "
      "over the time measured. Small operands stay in caches: shares above 100 % of memory are no error.");
  Flags adder(*command);
  adder.group("Operations");
  adder.value("--config", flags->config, "Sizes of the network (official)", "official|tiny|FILE.json");
  adder.value("--size", flags->size, "Pixels of a frame, multiples of 14 (518x378)", "WxH");
  adder.value("--scale_frames,--num_scale_frames", flags->scale_frames, "Scale frames in the cache (8)", "N");
  adder.value("--window,--kv_cache_sliding_window", flags->window, "Keyframes in the cache (64)", "N");
  adder.value("--filter", flags->filter, "Only operations whose name/type has one of these parts", "LIST");
  adder.group("Measurement");
  adder.value("--device", flags->device, "auto: the CPU, and a GPU where there is one", "LIST");
  adder.value("--dtype", flags->dtype, "Of fp32, bf16, fp16 (fp32,bf16)", "LIST");
  adder.value("--backend", flags->backend, "Attention on a GPU: auto, sdpa, flashinfer", "LIST");
  adder.value("--threads", flags->threads, "Of the CPU; 0: one for each processor (0)", "N")
      ->check(CLI::NonNegativeNumber);
  adder.value("--kernels", flags->kernels, "Of the CPU: an instruction set in place of the best one", "NAME");
  adder.value("--repeats", flags->repeats, "Of every operation (20)", "N");
  adder.value("--warmup", flags->warmup, "Runs before them (2)", "N")->check(CLI::NonNegativeNumber);
  adder.group("Results");
  adder.value("--output", flags->output, "A table for people or an array for programs (md)", "md|json");
  command->callback([flags] { BenchOps(*flags).run(); });
}

}  // namespace lingbot_map::tool
