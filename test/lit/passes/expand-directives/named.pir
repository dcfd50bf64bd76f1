// RUN: piper-opt --pass-pipeline='builtin.module(expand-directives)' --split-input-file %s | FileCheck %s
// RUN: piper-opt --pass-pipeline='builtin.module(expand-directives,expand-directives)' --split-input-file %s | FileCheck %s

// What a 1F1B with ZeRO-1 is made of.

// CHECK-LABEL: strategy.plan @one_f_one_b
// CHECK-NEXT:    strategy.split "MB" into 4
// CHECK-NEXT:    strategy.place {PP = 0} on {pp = 0}
// CHECK-NEXT:    strategy.place {PP = 1} on {pp = 1}
// CHECK-NEXT:    strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3"
// CHECK-NEXT:    strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"
// CHECK-NEXT:    strategy.replicate over "dp" zero = 1 bucket = "1MiB"
// CHECK-NEXT:    strategy.update sgd <lr = 5.000000e-01>
// CHECK-NEXT:  }
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @one_f_one_b for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.zero over "dp" stage = 1 bucket = "1MiB"
  strategy.optimizer sgd <lr = 0.5>
}

// -----

// DualPipe: every stage on two ranks, microbatches from both ends, the last backwards in halves.

// CHECK-LABEL: strategy.plan @both_ends
// CHECK-NEXT:    strategy.split "MB" into 4
// CHECK-NEXT:    strategy.place {PP = 0} on [{pp = 0}, {pp = 1}] microbatches = [0:2, 2:4]
// CHECK-NEXT:    strategy.place {PP = 1} on [{pp = 1}, {pp = 0}] microbatches = [0:2, 2:4]
// CHECK-NEXT:    strategy.split_backward {PP = 0}
// CHECK-NEXT:    strategy.order stages = "PP" on {pp = 0} "0F0 1F2 0F1 1B2 (1F3 | 0B0) 1B3 0I1 0W1"
// CHECK-NEXT:    strategy.order stages = "PP" on {pp = 1} "0F2 1F0 0F3 1B0 (1F1 | 0B2) 1B1 0I3 0W3"
// CHECK-NEXT:  }
strategy.mesh @m <["pp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @both_ends for @loss on @m {
  strategy.dualpipe over "pp" stages = "PP" microbatches = 4
}
