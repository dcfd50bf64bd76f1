// RUN: piper-opt --pass pipeline %s 2>&1 | FileCheck %s

strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    strategy.yield %g : tensor<8x16xf32>
  } : tensor<8x16xf32>
  %l = strategy.annotate {PP = 1} {
    %w1 = nn.parameter "w1" init = normal<0.0, 0.1> : tensor<16x10xf32>
    %a = nn.linear %h, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %loss = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 2
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      remark: ran 'import-tags,autodiff,build-dag' before 'pipeline', which works on their result
// CHECK-NEXT:  |
// CHECK-NEXT: help: the same in full: --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,pipeline)'; --no-implied-passes leaves them out
// CHECK-NEXT: module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 2]>
// CHECK-NEXT:   func.func private @f0(%x: tensor<4x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
// CHECK-NEXT:     %a = nn.linear %x, %w0 : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     %g = nn.gelu %a : tensor<4x16xf32>
// CHECK-NEXT:     func.return %a, %g : tensor<4x16xf32>, tensor<4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f1(%g: tensor<4x16xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %targets: tensor<4xi32> {batch_dim = 0}) -> (tensor<4x10xf32>, tensor<f32>, tensor<4xf32>) {
// CHECK-NEXT:     %a = nn.linear %g, %w1 : (tensor<4x16xf32>, tensor<16x10xf32>) -> tensor<4x10xf32>
// CHECK-NEXT:     %loss, %loss_lse = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<4x10xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK-NEXT:     func.return %a, %loss, %loss_lse : tensor<4x10xf32>, tensor<f32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b1(%a: tensor<4x10xf32> {batch_dim = 0}, %targets: tensor<4xi32> {batch_dim = 0}, %loss_lse: tensor<4xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %g: tensor<4x16xf32> {batch_dim = 0}) -> (tensor<4x16xf32>, tensor<16x10xf32>) {
// CHECK-NEXT:     %d_loss = nn.constant {pass = "BI", value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT:     %d_a = nn.cross_entropy_dx %a, %targets, %d_loss, %loss_lse {denominator = 8, pass = "BI"} : (tensor<4x10xf32>, tensor<4xi32>, tensor<f32>, tensor<4xf32>) -> tensor<4x10xf32>
// CHECK-NEXT:     %d_g = nn.linear_dx %d_a, %w1 {pass = "BI"} : (tensor<4x10xf32>, tensor<16x10xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     %d_w1 = nn.linear_dw %g, %d_a {pass = "BW"} : (tensor<4x16xf32>, tensor<4x10xf32>) -> tensor<16x10xf32>
// CHECK-NEXT:     func.return %d_g, %d_w1 : tensor<4x16xf32>, tensor<16x10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0(%a: tensor<4x16xf32> {batch_dim = 0}, %d_g: tensor<4x16xf32> {batch_dim = 0}, %x: tensor<4x4xf32> {batch_dim = 0}) -> tensor<4x16xf32> {
// CHECK-NEXT:     %d_a = nn.gelu_dx %a, %d_g {pass = "BI"} : tensor<4x16xf32>
// CHECK-NEXT:     %d_w0 = nn.linear_dw %x, %d_a {pass = "BW"} : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     func.return %d_w0 : tensor<4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster microbatches 2 {
// CHECK-NEXT:     %x_0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %targets_0 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 0, pp = 1}, [{"mb"}]>
// CHECK-NEXT:     %targets_1 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 1, pp = 1}, [{"mb"}]>
// CHECK-NEXT:     %w0 = dag.parameter "w0" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %w1 = dag.parameter "w1" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %0:2 = dag.compute @f0(%x_0, %w0) F {MB = 0, PP = 0} node "f0.0" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>)
// CHECK-NEXT:     %1 = dag.transfer %0#1 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %2:2 = dag.compute @f0(%x_1, %w0) F {MB = 1, PP = 0} node "f0.1" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>)
// CHECK-NEXT:     %3 = dag.transfer %2#1 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %4:3 = dag.compute @f1(%1, %w1, %targets_0) F {MB = 0, PP = 1} node "f1.0" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[0:1]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}]>)
// CHECK-NEXT:     %5:3 = dag.compute @f1(%3, %w1, %targets_1) F {MB = 1, PP = 1} node "f1.1" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[1:2]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}]>)
// CHECK-NEXT:     %6:2 = dag.compute @b1(%4#0, %targets_0, %4#2, %w1, %1) B {MB = 0, PP = 1} node "b1.0" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}, partial = {mb[0:1]}>)
// CHECK-NEXT:     %7 = dag.transfer %6#0 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %8:2 = dag.compute @b1(%5#0, %targets_1, %5#2, %w1, %3) B {MB = 1, PP = 1} node "b1.1" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}, partial = {mb[1:2]}>)
// CHECK-NEXT:     %9 = dag.transfer %8#0 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %10 = dag.compute @b0(%0#0, %7, %x_0) B {MB = 0, PP = 0} node "b0.0" -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}, partial = {mb[0:1]}>
// CHECK-NEXT:     %11 = dag.compute @b0(%2#0, %9, %x_1) B {MB = 1, PP = 0} node "b0.1" -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}, partial = {mb[1:2]}>
// CHECK-NEXT:     dag.output "loss" %4#1, %5#1 : !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[0:1]}>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[1:2]}>
// CHECK-NEXT:     %12 = dag.add %10, %11 -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %13 = dag.gradient "w0" %12 -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %14 = dag.add %6#1, %8#1 -> !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %15 = dag.gradient "w1" %14 -> !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     dag.order on {pp = 0} {{\[\[}}@f0.0], [@f0.1], [@b0.0], [@b0.1]]
// CHECK-NEXT:     dag.order on {pp = 1} {{\[\[}}@f1.0], [@b1.0], [@f1.1], [@b1.1]]
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
