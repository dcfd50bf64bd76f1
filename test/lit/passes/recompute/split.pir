// BI recomputes what it needs; what BW needs of that is a residual.
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,recompute,split-backward)' %s | FileCheck %s

strategy.mesh @cluster <["pp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %targets: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PP = 0} {
    %w0 = nn.parameter "w0" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %v0 = nn.parameter "v0" init = normal<0.0, 0.1> : tensor<16x16xf32>
    %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g = nn.gelu %a : tensor<8x16xf32>
    %b = nn.linear %g, %v0 : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    strategy.yield %b : tensor<8x16xf32>
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
  strategy.recompute {PP = 0}
  strategy.split_backward {PP = 0}
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 2]>
// CHECK-NEXT:   func.func private @f0.lean(%x: tensor<8x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>, %v0: tensor<16x16xf32>) -> tensor<8x16xf32> {
// CHECK-NEXT:     %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:     %g = nn.gelu %a : tensor<8x16xf32>
// CHECK-NEXT:     %b = nn.linear %g, %v0 : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:     func.return %b : tensor<8x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f1(%b: tensor<8x16xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %targets: tensor<8xi32> {batch_dim = 0}) -> (tensor<8x10xf32>, tensor<f32>, tensor<8xf32>) {
// CHECK-NEXT:     %a = nn.linear %b, %w1 : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
// CHECK-NEXT:     %loss, %loss_lse = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
// CHECK-NEXT:     func.return %a, %loss, %loss_lse : tensor<8x10xf32>, tensor<f32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b1(%a: tensor<8x10xf32> {batch_dim = 0}, %targets: tensor<8xi32> {batch_dim = 0}, %loss_lse: tensor<8xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %b: tensor<8x16xf32> {batch_dim = 0}) -> (tensor<8x16xf32>, tensor<16x10xf32>) {
// CHECK-NEXT:     %d_loss = nn.constant {pass = "BI", value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT:     %d_a = nn.cross_entropy_dx %a, %targets, %d_loss, %loss_lse {denominator = 8, pass = "BI"} : (tensor<8x10xf32>, tensor<8xi32>, tensor<f32>, tensor<8xf32>) -> tensor<8x10xf32>
// CHECK-NEXT:     %d_b = nn.linear_dx %d_a, %w1 {pass = "BI"} : (tensor<8x10xf32>, tensor<16x10xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:     %d_w1 = nn.linear_dw %b, %d_a {pass = "BW"} : (tensor<8x16xf32>, tensor<8x10xf32>) -> tensor<16x10xf32>
// CHECK-NEXT:     func.return %d_b, %d_w1 : tensor<8x16xf32>, tensor<16x10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0.again.w(%d_b: tensor<8x16xf32> {batch_dim = 0}, %x: tensor<8x4xf32> {batch_dim = 0}, %a: tensor<8x16xf32> {batch_dim = 0}, %d_a: tensor<8x16xf32> {batch_dim = 0}) -> (tensor<16x16xf32>, tensor<4x16xf32>) {
// CHECK-NEXT:     %g = nn.gelu %a : tensor<8x16xf32>
// CHECK-NEXT:     %d_v0 = nn.linear_dw %g, %d_b : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:     %d_w0 = nn.linear_dw %x, %d_a : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     func.return %d_v0, %d_w0 : tensor<16x16xf32>, tensor<4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0.again.i(%d_b: tensor<8x16xf32> {batch_dim = 0}, %v0: tensor<16x16xf32>, %x: tensor<8x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
// CHECK-NEXT:     %a = nn.linear %x, %w0 : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:     %d_g = nn.linear_dx %d_b, %v0 : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:     %d_a = nn.gelu_dx %a, %d_g : tensor<8x16xf32>
// CHECK-NEXT:     func.return %a, %d_a : tensor<8x16xf32>, tensor<8x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster {
// CHECK-NEXT:     %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster>
// CHECK-NEXT:     %targets = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster>
// CHECK-NEXT:     %w0 = dag.parameter "w0" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<4x16xf32>, @cluster>
// CHECK-NEXT:     %v0 = dag.parameter "v0" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<16x16xf32>, @cluster>
// CHECK-NEXT:     %w1 = dag.parameter "w1" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<16x10xf32>, @cluster>
// CHECK-NEXT:     %b = dag.compute @f0.lean(%x, %w0, %v0) F {PP = 0} node "f0" -> !dag.dist<tensor<8x16xf32>, @cluster>
// CHECK-NEXT:     %a, %loss, %loss_lse = dag.compute @f1(%b, %w1, %targets) F {PP = 1} node "f1" -> (!dag.dist<tensor<8x10xf32>, @cluster>, !dag.dist<tensor<f32>, @cluster>, !dag.dist<tensor<8xf32>, @cluster>)
// CHECK-NEXT:     %d_b, %d_w1 = dag.compute @b1(%a, %targets, %loss_lse, %w1, %b) B {PP = 1} node "b1" -> (!dag.dist<tensor<8x16xf32>, @cluster>, !dag.dist<tensor<16x10xf32>, @cluster>)
// CHECK-NEXT:     %0:2 = dag.compute @b0.again.i(%d_b, %v0, %x, %w0) BI {PP = 0} node "bi0" -> (!dag.dist<tensor<8x16xf32>, @cluster>, !dag.dist<tensor<8x16xf32>, @cluster>)
// CHECK-NEXT:     %1:2 = dag.compute @b0.again.w(%d_b, %x, %0#0, %0#1) BW {PP = 0} node "bw0" -> (!dag.dist<tensor<16x16xf32>, @cluster>, !dag.dist<tensor<4x16xf32>, @cluster>)
// CHECK-NEXT:     dag.output "loss" %loss : !dag.dist<tensor<f32>, @cluster>
// CHECK-NEXT:     %2 = dag.gradient "w0" %1#1 -> !dag.dist<tensor<4x16xf32>, @cluster>
// CHECK-NEXT:     %3 = dag.gradient "v0" %1#0 -> !dag.dist<tensor<16x16xf32>, @cluster>
// CHECK-NEXT:     %4 = dag.gradient "w1" %d_w1 -> !dag.dist<tensor<16x10xf32>, @cluster>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
