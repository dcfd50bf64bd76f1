// After split, microbatches may differ.
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,split,recompute)' %s | FileCheck %s

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
  strategy.split "MB" into 4
  strategy.recompute {PP = 0, MB = 1:3}
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 2]>
// CHECK-NEXT:   func.func private @f0(%x: tensor<2x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>, %v0: tensor<16x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>) {
// CHECK-NEXT:     %a = nn.linear %x, %w0 : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %g = nn.gelu %a : tensor<2x16xf32>
// CHECK-NEXT:     %b = nn.linear %g, %v0 : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     func.return %a, %g, %b : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f0.lean(%x: tensor<2x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>, %v0: tensor<16x16xf32>) -> tensor<2x16xf32> {
// CHECK-NEXT:     %a = nn.linear %x, %w0 : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %g = nn.gelu %a : tensor<2x16xf32>
// CHECK-NEXT:     %b = nn.linear %g, %v0 : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     func.return %b : tensor<2x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f1(%b: tensor<2x16xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %targets: tensor<2xi32> {batch_dim = 0}) -> (tensor<2x10xf32>, tensor<f32>, tensor<2xf32>) {
// CHECK-NEXT:     %a = nn.linear %b, %w1 : (tensor<2x16xf32>, tensor<16x10xf32>) -> tensor<2x10xf32>
// CHECK-NEXT:     %loss, %loss_lse = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<2x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
// CHECK-NEXT:     func.return %a, %loss, %loss_lse : tensor<2x10xf32>, tensor<f32>, tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b1(%a: tensor<2x10xf32> {batch_dim = 0}, %targets: tensor<2xi32> {batch_dim = 0}, %loss_lse: tensor<2xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %b: tensor<2x16xf32> {batch_dim = 0}) -> (tensor<2x16xf32>, tensor<16x10xf32>) {
// CHECK-NEXT:     %d_loss = nn.constant {pass = "BI", value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT:     %d_a = nn.cross_entropy_dx %a, %targets, %d_loss, %loss_lse {denominator = 8, pass = "BI"} : (tensor<2x10xf32>, tensor<2xi32>, tensor<f32>, tensor<2xf32>) -> tensor<2x10xf32>
// CHECK-NEXT:     %d_b = nn.linear_dx %d_a, %w1 {pass = "BI"} : (tensor<2x10xf32>, tensor<16x10xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %d_w1 = nn.linear_dw %b, %d_a {pass = "BW"} : (tensor<2x16xf32>, tensor<2x10xf32>) -> tensor<16x10xf32>
// CHECK-NEXT:     func.return %d_b, %d_w1 : tensor<2x16xf32>, tensor<16x10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0(%d_b: tensor<2x16xf32> {batch_dim = 0}, %v0: tensor<16x16xf32>, %g: tensor<2x16xf32> {batch_dim = 0}, %a: tensor<2x16xf32> {batch_dim = 0}, %x: tensor<2x4xf32> {batch_dim = 0}) -> (tensor<16x16xf32>, tensor<4x16xf32>) {
// CHECK-NEXT:     %d_g = nn.linear_dx %d_b, %v0 {pass = "BI"} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %d_v0 = nn.linear_dw %g, %d_b {pass = "BW"} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:     %d_a = nn.gelu_dx %a, %d_g {pass = "BI"} : tensor<2x16xf32>
// CHECK-NEXT:     %d_w0 = nn.linear_dw %x, %d_a {pass = "BW"} : (tensor<2x4xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     func.return %d_v0, %d_w0 : tensor<16x16xf32>, tensor<4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0.again(%d_b: tensor<2x16xf32> {batch_dim = 0}, %v0: tensor<16x16xf32>, %x: tensor<2x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>) -> (tensor<16x16xf32>, tensor<4x16xf32>) {
// CHECK-NEXT:     %a = nn.linear %x, %w0 {pass = "F"} : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %g = nn.gelu %a {pass = "F"} : tensor<2x16xf32>
// CHECK-NEXT:     %d_g = nn.linear_dx %d_b, %v0 {pass = "BI"} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %d_v0 = nn.linear_dw %g, %d_b {pass = "BW"} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:     %d_a = nn.gelu_dx %a, %d_g {pass = "BI"} : tensor<2x16xf32>
// CHECK-NEXT:     %d_w0 = nn.linear_dw %x, %d_a {pass = "BW"} : (tensor<2x4xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     func.return %d_v0, %d_w0 : tensor<16x16xf32>, tensor<4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster microbatches 4 {
// CHECK-NEXT:     %x_0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_2 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 2}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_3 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 3}, [{"mb"}, {}]>
// CHECK-NEXT:     %targets_0 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 0}, [{"mb"}]>
// CHECK-NEXT:     %targets_1 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 1}, [{"mb"}]>
// CHECK-NEXT:     %targets_2 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 2}, [{"mb"}]>
// CHECK-NEXT:     %targets_3 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 3}, [{"mb"}]>
// CHECK-NEXT:     %w0 = dag.parameter "w0" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<4x16xf32>, @cluster>
// CHECK-NEXT:     %v0 = dag.parameter "v0" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<16x16xf32>, @cluster>
// CHECK-NEXT:     %w1 = dag.parameter "w1" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<16x10xf32>, @cluster>
// CHECK-NEXT:     %0:3 = dag.compute @f0(%x_0, %w0, %v0) F {MB = 0, PP = 0} node "f0.0" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>)
// CHECK-NEXT:     %1 = dag.compute @f0.lean(%x_1, %w0, %v0) F {MB = 1, PP = 0} node "f0.1" -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %2 = dag.compute @f0.lean(%x_2, %w0, %v0) F {MB = 2, PP = 0} node "f0.2" -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 2}, [{"mb"}, {}]>
// CHECK-NEXT:     %3:3 = dag.compute @f0(%x_3, %w0, %v0) F {MB = 3, PP = 0} node "f0.3" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 3}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 3}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 3}, [{"mb"}, {}]>)
// CHECK-NEXT:     %4:3 = dag.compute @f1(%0#2, %w1, %targets_0) F {MB = 0, PP = 1} node "f1.0" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster, partial = {mb[0:1]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 0}, [{"mb"}]>)
// CHECK-NEXT:     %5:3 = dag.compute @f1(%1, %w1, %targets_1) F {MB = 1, PP = 1} node "f1.1" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 1}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster, partial = {mb[1:2]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 1}, [{"mb"}]>)
// CHECK-NEXT:     %6:3 = dag.compute @f1(%2, %w1, %targets_2) F {MB = 2, PP = 1} node "f1.2" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 2}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster, partial = {mb[2:3]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 2}, [{"mb"}]>)
// CHECK-NEXT:     %7:3 = dag.compute @f1(%3#2, %w1, %targets_3) F {MB = 3, PP = 1} node "f1.3" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 3}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster, partial = {mb[3:4]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 3}, [{"mb"}]>)
// CHECK-NEXT:     %8:2 = dag.compute @b1(%4#0, %targets_0, %4#2, %w1, %0#2) B {MB = 0, PP = 1} node "b1.0" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 0}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster, partial = {mb[0:1]}>)
// CHECK-NEXT:     %9:2 = dag.compute @b1(%5#0, %targets_1, %5#2, %w1, %1) B {MB = 1, PP = 1} node "b1.1" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 1}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster, partial = {mb[1:2]}>)
// CHECK-NEXT:     %10:2 = dag.compute @b1(%6#0, %targets_2, %6#2, %w1, %2) B {MB = 2, PP = 1} node "b1.2" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 2}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster, partial = {mb[2:3]}>)
// CHECK-NEXT:     %11:2 = dag.compute @b1(%7#0, %targets_3, %7#2, %w1, %3#2) B {MB = 3, PP = 1} node "b1.3" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 3}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster, partial = {mb[3:4]}>)
// CHECK-NEXT:     %12:2 = dag.compute @b0(%8#0, %v0, %0#1, %0#0, %x_0) B {MB = 0, PP = 0} node "b0.0" -> (!dag.dist<tensor<16x16xf32>, @cluster, partial = {mb[0:1]}>, !dag.dist<tensor<4x16xf32>, @cluster, partial = {mb[0:1]}>)
// CHECK-NEXT:     %13:2 = dag.compute @b0.again(%9#0, %v0, %x_1, %w0) B {MB = 1, PP = 0} node "b0.1" -> (!dag.dist<tensor<16x16xf32>, @cluster, partial = {mb[1:2]}>, !dag.dist<tensor<4x16xf32>, @cluster, partial = {mb[1:2]}>)
// CHECK-NEXT:     %14:2 = dag.compute @b0.again(%10#0, %v0, %x_2, %w0) B {MB = 2, PP = 0} node "b0.2" -> (!dag.dist<tensor<16x16xf32>, @cluster, partial = {mb[2:3]}>, !dag.dist<tensor<4x16xf32>, @cluster, partial = {mb[2:3]}>)
// CHECK-NEXT:     %15:2 = dag.compute @b0(%11#0, %v0, %3#1, %3#0, %x_3) B {MB = 3, PP = 0} node "b0.3" -> (!dag.dist<tensor<16x16xf32>, @cluster, partial = {mb[3:4]}>, !dag.dist<tensor<4x16xf32>, @cluster, partial = {mb[3:4]}>)
// CHECK-NEXT:     dag.output "loss" %4#1, %5#1, %6#1, %7#1 : !dag.dist<tensor<f32>, @cluster, partial = {mb[0:1]}>, !dag.dist<tensor<f32>, @cluster, partial = {mb[1:2]}>, !dag.dist<tensor<f32>, @cluster, partial = {mb[2:3]}>, !dag.dist<tensor<f32>, @cluster, partial = {mb[3:4]}>
// CHECK-NEXT:     %16 = dag.add %12#1, %13#1 -> !dag.dist<tensor<4x16xf32>, @cluster, partial = {mb[0:2]}>
// CHECK-NEXT:     %17 = dag.add %16, %14#1 -> !dag.dist<tensor<4x16xf32>, @cluster, partial = {mb[0:3]}>
// CHECK-NEXT:     %18 = dag.add %17, %15#1 -> !dag.dist<tensor<4x16xf32>, @cluster>
// CHECK-NEXT:     %19 = dag.gradient "w0" %18 -> !dag.dist<tensor<4x16xf32>, @cluster>
// CHECK-NEXT:     %20 = dag.add %12#0, %13#0 -> !dag.dist<tensor<16x16xf32>, @cluster, partial = {mb[0:2]}>
// CHECK-NEXT:     %21 = dag.add %20, %14#0 -> !dag.dist<tensor<16x16xf32>, @cluster, partial = {mb[0:3]}>
// CHECK-NEXT:     %22 = dag.add %21, %15#0 -> !dag.dist<tensor<16x16xf32>, @cluster>
// CHECK-NEXT:     %23 = dag.gradient "v0" %22 -> !dag.dist<tensor<16x16xf32>, @cluster>
// CHECK-NEXT:     %24 = dag.add %8#1, %9#1 -> !dag.dist<tensor<16x10xf32>, @cluster, partial = {mb[0:2]}>
// CHECK-NEXT:     %25 = dag.add %24, %10#1 -> !dag.dist<tensor<16x10xf32>, @cluster, partial = {mb[0:3]}>
// CHECK-NEXT:     %26 = dag.add %25, %11#1 -> !dag.dist<tensor<16x10xf32>, @cluster>
// CHECK-NEXT:     %27 = dag.gradient "w1" %26 -> !dag.dist<tensor<16x10xf32>, @cluster>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
