// An H100 in two parts: by the driver in eights, or by persistent grids to the number.
// RUN: piper-opt %s --split-input-file --pass expand-directives | FileCheck %s

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.sm_partition arch = "sm_90" comm = 24 streams = ["comm"] ctas = 20
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}) -> tensor<8x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.sm_partition arch = "sm_90" comm = 20 streams = ["comm"] method = "grid"
}

// CHECK: strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm"] ctas = 20
// CHECK-NEXT: strategy.resource partition "compute" arch = "sm_90" sms = 108 streams = ["compute"]
// CHECK: strategy.resource partition "comm" arch = "sm_90" sms = 20 streams = ["comm"] method = "grid"
// CHECK-NEXT: strategy.resource partition "compute" arch = "sm_90" sms = 112 streams = ["compute"] method = "grid"
