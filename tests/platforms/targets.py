"""Machines for compilation only: TPUs by name, GPUs by the properties that XLA needs."""

# A GpuTargetConfigProto.
_GPU = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132
  fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535 memory_bandwidth: %d l2_cache_size: %d
  clock_rate_ghz: 1.98 device_memory_size: %d
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 feature_extension: ACCELERATED_FEATURES }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 12 patch: 0 }
device_description_str: "NVIDIA %s"
"""
H200 = _GPU % (4_800_000_000_000, 62914560, 150_000_000_000, "H200")
H100 = _GPU % (3_350_000_000_000, 52428800, 85_000_000_000, "H100")
