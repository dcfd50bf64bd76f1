// What a device cannot be divided into is refused where it was asked for.
// RUN: piper-opt --split-input-file --verify-diagnostics %s --pass expand-directives

// Granularity: the driver sets aside multiples of 8 on sm_90. The hint has the nearest.
strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{20 SMs cannot be set aside on sm_90: partitions are multiples of 8, at least 8}}
  strategy.sm_partition arch = "sm_90" comm = 20 streams = ["comm"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{3 SMs cannot be set aside on sm_80: partitions are multiples of 2, at least 4}}
  strategy.sm_partition arch = "sm_80" comm = 3 streams = ["comm"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{132 of 132 leave nothing to compute with}}
  strategy.sm_partition arch = "sm_90" comm = 132 streams = ["comm"]
}

// -----

// A device of which nothing is known.
strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{how many SMs a device of "sm_120" has is not known}}
  strategy.sm_partition arch = "sm_120" comm = 16 streams = ["comm"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{"gfx942" cannot be divided: it is no architecture with green contexts}}
  strategy.sm_partition arch = "gfx942" comm = 16 streams = ["comm"] total = 304
}

// -----

// Communicators within NCCL's limits and their partition.
strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{NCCL takes at most 32 CTAs before version 2.25, not 40}}
  strategy.sm_partition arch = "sm_90" comm = 48 streams = ["comm"] ctas = 40 nccl = "2.24"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{NCCL takes at most 64 CTAs, not 65}}
  strategy.sm_partition arch = "sm_90" comm = 72 streams = ["comm"] ctas = 65
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{24 CTAs do not fit 16 SMs: they run all at once or not at all}}
  strategy.sm_partition arch = "sm_90" comm = 16 streams = ["comm"] ctas = 24
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{at least 9 CTAs, but at most 8}}
  strategy.sm_partition arch = "sm_90" comm = 16 streams = ["comm"] ctas = 8 min_ctas = 9
}

// -----

// Partitions share a device.
strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm"]
  // expected-error@+1 {{the partitions take 136 SMs of 132}}
  strategy.resource partition "compute" arch = "sm_90" sms = 112 streams = ["compute"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm"]
  // expected-error@+1 {{stream "comm" is in partition "comm" too}}
  strategy.resource partition "more" arch = "sm_90" sms = 24 streams = ["comm"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm"]
  // expected-error@+1 {{there are two partitions "comm"}}
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["compute"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm"]
  // expected-error@+1 {{partition "compute" is of sm_80 with 108, but "comm" of sm_90 with 132}}
  strategy.resource partition "compute" arch = "sm_80" sms = 64 streams = ["compute"]
}

// -----

// A device of the threads runtime is one worker.
strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{1 of 1 leave nothing to compute with}}
  strategy.sm_partition arch = "cpu" comm = 1 streams = ["comm"]
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{4 workers are more than the 1 of a device}}
  strategy.resource partition "compute" arch = "cpu" workers = 4 streams = ["compute"]
}
