// arch: sm_90a
// One GEMM of CUTLASS: C = A * B in FP16, all by rows, sums in FP32. What varies comes in as macros. It includes CUTLASS's headers,
// so nvcc compiles it to a shared library: see bench_cutlass.py.
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/kernel_hardware_info.h>
#include <cutlass/util/packed_stride.hpp>

#ifndef TILE_M
#define TILE_M 128
#define TILE_N 256
#define CLUSTER_M 2
#define CLUSTER_N 1
#define SCHEDULE KernelTmaWarpSpecializedCooperative
#define EPILOGUE TmaWarpSpecializedCooperative
#define SCHEDULER PersistentScheduler
#endif

// --8<-- [start:kernel]
using cute::Int, cute::Shape;
using Row = cutlass::layout::RowMajor;
#ifdef TN
using RowB = cutlass::layout::ColumnMajor;
#else
using RowB = Row;
#endif
using Half = cutlass::half_t;
using Tile = Shape<Int<TILE_M>, Int<TILE_N>, Int<64>>;  // what a CTA computes at a time
using Cluster = Shape<Int<CLUSTER_M>, Int<CLUSTER_N>, Int<1>>;  // CTAs that share tiles by multicast

using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 8, Half, Row, 8,
    cutlass::epilogue::EPILOGUE>::CollectiveOp;

using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Half, Row, 8, Half, RowB, 8, float, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<sizeof(typename Epilogue::SharedStorage)>,
    cutlass::gemm::SCHEDULE>::CollectiveOp;

using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, cutlass::gemm::SCHEDULER>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
// --8<-- [end:kernel]

static Gemm chosen;

// Take a problem; gives CUTLASS's status, 0 for success. decomposition: 0 heuristic, 1 data-parallel, 2 split-K, 3 stream-K.
extern "C" int prepare(void* a, void* b, void* c, int m, int n, int k, int swizzle, int along_n, int splits, int decomposition,
                       void* workspace) {
  typename Kernel::TileScheduler::Arguments scheduler{};
  scheduler.max_swizzle_size = swizzle;
  using Order = decltype(scheduler.raster_order);
  scheduler.raster_order = along_n < 0 ? Order::Heuristic : along_n ? Order::AlongN : Order::AlongM;
#ifdef STREAM_K
  using Mode = decltype(scheduler.decomposition_mode);
  scheduler.splits = splits;
  scheduler.decomposition_mode = decomposition == 1 ? Mode::DataParallel : decomposition == 2 ? Mode::SplitK
                               : decomposition == 3 ? Mode::StreamK : Mode::Heuristic;
#endif
  cutlass::KernelHardwareInfo hardware;
  hardware.device_id = 0;
  hardware.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {(Half*)a, cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1}),
       (Half*)b, cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1})},
      {{1.0f, 0.0f}, nullptr, {}, (Half*)c, cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1})},
      hardware,
      scheduler};
  if (Gemm::get_workspace_size(arguments) > (256u << 20)) return -1;
  const auto status = chosen.can_implement(arguments);
  return status == cutlass::Status::kSuccess ? int(chosen.initialize(arguments, workspace)) : int(status);
}

extern "C" int run(void* stream) { return int(chosen.run((cudaStream_t)stream)); }
extern "C" int stages() { return Mainloop::DispatchPolicy::Stages; }
extern "C" int shared_bytes() { return int(sizeof(typename Kernel::SharedStorage)); }
