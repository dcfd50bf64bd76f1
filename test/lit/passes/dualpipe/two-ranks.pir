// The worked example of the README: a file at the strategy level, one pass asked for, the lowering before it inserted.
// RUN: piper-opt --pass dualpipe %s 2>&1 | FileCheck %s

strategy.mesh @cluster <["pp" = 2, "dp" = 2]>

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
  strategy.dualpipe over "pp" stages = "PP" microbatches = 4
  strategy.zero over "dp" stage = 1
  strategy.optimizer adamw <lr = 1.0e-3, clip = 1.0>
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      remark: ran 'import-tags,autodiff,build-dag' before 'dualpipe', which works on their result
// CHECK-NEXT:  |
// CHECK-NEXT: help: the same in full: --pass-pipeline='builtin.module(import-tags,autodiff,build-dag,dualpipe)'; --no-implied-passes leaves them out
// CHECK-NEXT: module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 2, "dp" = 2]>
// CHECK-NEXT:   func.func private @f0(%x: tensor<2x4xf32> {batch_dim = 0}, %w0: tensor<4x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
// CHECK-NEXT:     %a = nn.linear %x, %w0 : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %g = nn.gelu %a : tensor<2x16xf32>
// CHECK-NEXT:     func.return %a, %g : tensor<2x16xf32>, tensor<2x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f1(%g: tensor<2x16xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %targets: tensor<2xi32> {batch_dim = 0}) -> (tensor<2x10xf32>, tensor<f32>, tensor<2xf32>) {
// CHECK-NEXT:     %a = nn.linear %g, %w1 : (tensor<2x16xf32>, tensor<16x10xf32>) -> tensor<2x10xf32>
// CHECK-NEXT:     %loss, %loss_lse = nn.cross_entropy %a, %targets {denominator = 8} : (tensor<2x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
// CHECK-NEXT:     func.return %a, %loss, %loss_lse : tensor<2x10xf32>, tensor<f32>, tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b1(%a: tensor<2x10xf32> {batch_dim = 0}, %targets: tensor<2xi32> {batch_dim = 0}, %loss_lse: tensor<2xf32> {batch_dim = 0}, %w1: tensor<16x10xf32>, %g: tensor<2x16xf32> {batch_dim = 0}) -> (tensor<2x16xf32>, tensor<16x10xf32>) {
// CHECK-NEXT:     %d_loss = nn.constant {pass = "BI", value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT:     %d_a = nn.cross_entropy_dx %a, %targets, %d_loss, %loss_lse {denominator = 8, pass = "BI"} : (tensor<2x10xf32>, tensor<2xi32>, tensor<f32>, tensor<2xf32>) -> tensor<2x10xf32>
// CHECK-NEXT:     %d_g = nn.linear_dx %d_a, %w1 {pass = "BI"} : (tensor<2x10xf32>, tensor<16x10xf32>) -> tensor<2x16xf32>
// CHECK-NEXT:     %d_w1 = nn.linear_dw %g, %d_a {pass = "BW"} : (tensor<2x16xf32>, tensor<2x10xf32>) -> tensor<16x10xf32>
// CHECK-NEXT:     func.return %d_g, %d_w1 : tensor<2x16xf32>, tensor<16x10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0.w(%x: tensor<2x4xf32> {batch_dim = 0}, %d_a: tensor<2x16xf32> {batch_dim = 0}) -> tensor<4x16xf32> {
// CHECK-NEXT:     %d_w0 = nn.linear_dw %x, %d_a : (tensor<2x4xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:     func.return %d_w0 : tensor<4x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0.i(%a: tensor<2x16xf32> {batch_dim = 0}, %d_g: tensor<2x16xf32> {batch_dim = 0}) -> tensor<2x16xf32> {
// CHECK-NEXT:     %d_a = nn.gelu_dx %a, %d_g : tensor<2x16xf32>
// CHECK-NEXT:     func.return %d_a : tensor<2x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:     strategy.zero over "dp" stage = 1
// CHECK-NEXT:     strategy.optimizer adamw <lr = 1.000000e-03, clip = 1.000000e+00>
// CHECK-NEXT:   }
// CHECK-NEXT:   strategy.group @pp0_pp1 on @cluster [{pp = 0}, {pp = 1}]
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster microbatches 4 {
// CHECK-NEXT:     %x_0 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_1 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_2 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 2, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %x_3 = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster on {mb = 3, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %targets_0 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 0, pp = 1}, [{"mb"}]>
// CHECK-NEXT:     %targets_1 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 1, pp = 1}, [{"mb"}]>
// CHECK-NEXT:     %targets_2 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 2, pp = 0}, [{"mb"}]>
// CHECK-NEXT:     %targets_3 = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster on {mb = 3, pp = 0}, [{"mb"}]>
// CHECK-NEXT:     %w0 = dag.parameter "w0" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<4x16xf32>, @cluster on @pp0_pp1>
// CHECK-NEXT:     %0 = dag.project %w0 -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %1 = dag.project %w0 -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %w1 = dag.parameter "w1" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<16x10xf32>, @cluster on @pp0_pp1>
// CHECK-NEXT:     %2 = dag.project %w1 -> !dag.dist<tensor<16x10xf32>, @cluster on {pp = 0}>
// CHECK-NEXT:     %3 = dag.project %w1 -> !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}>
// CHECK-NEXT:     %4:2 = dag.compute @f0(%x_0, %0) F {MB = 0, PP = 0} node "f0.0" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>)
// CHECK-NEXT:     %5 = dag.transfer %4#1 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %6:2 = dag.compute @f0(%x_1, %0) F {MB = 1, PP = 0} node "f0.1" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>)
// CHECK-NEXT:     %7 = dag.transfer %6#1 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %8:2 = dag.compute @f0(%x_2, %1) F {MB = 2, PP = 0} node "f0.2" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 2, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 2, pp = 1}, [{"mb"}, {}]>)
// CHECK-NEXT:     %9 = dag.transfer %8#1 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 2, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %10:2 = dag.compute @f0(%x_3, %1) F {MB = 3, PP = 0} node "f0.3" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 3, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<8x16xf32>, @cluster on {mb = 3, pp = 1}, [{"mb"}, {}]>)
// CHECK-NEXT:     %11 = dag.transfer %10#1 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 3, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %12:3 = dag.compute @f1(%5, %3, %targets_0) F {MB = 0, PP = 1} node "f1.0" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[0:1]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}]>)
// CHECK-NEXT:     %13:3 = dag.compute @f1(%7, %3, %targets_1) F {MB = 1, PP = 1} node "f1.1" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[1:2]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}]>)
// CHECK-NEXT:     %14:3 = dag.compute @f1(%9, %2, %targets_2) F {MB = 2, PP = 1} node "f1.2" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 2, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster on {pp = 0}, partial = {mb[2:3]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 2, pp = 0}, [{"mb"}]>)
// CHECK-NEXT:     %15:3 = dag.compute @f1(%11, %2, %targets_3) F {MB = 3, PP = 1} node "f1.3" -> (!dag.dist<tensor<8x10xf32>, @cluster on {mb = 3, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<f32>, @cluster on {pp = 0}, partial = {mb[3:4]}>, !dag.dist<tensor<8xf32>, @cluster on {mb = 3, pp = 0}, [{"mb"}]>)
// CHECK-NEXT:     %16:2 = dag.compute @b1(%12#0, %targets_0, %12#2, %3, %5) B {MB = 0, PP = 1} node "b1.0" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}, partial = {mb[0:1]}>)
// CHECK-NEXT:     %17 = dag.transfer %16#0 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %18:2 = dag.compute @b1(%13#0, %targets_1, %13#2, %3, %7) B {MB = 1, PP = 1} node "b1.1" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 1}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}, partial = {mb[1:2]}>)
// CHECK-NEXT:     %19 = dag.transfer %18#0 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %20:2 = dag.compute @b1(%14#0, %targets_2, %14#2, %2, %9) B {MB = 2, PP = 1} node "b1.2" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 2, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster on {pp = 0}, partial = {mb[2:3]}>)
// CHECK-NEXT:     %21 = dag.transfer %20#0 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 2, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %22:2 = dag.compute @b1(%15#0, %targets_3, %15#2, %2, %11) B {MB = 3, PP = 1} node "b1.3" -> (!dag.dist<tensor<8x16xf32>, @cluster on {mb = 3, pp = 0}, [{"mb"}, {}]>, !dag.dist<tensor<16x10xf32>, @cluster on {pp = 0}, partial = {mb[3:4]}>)
// CHECK-NEXT:     %23 = dag.transfer %22#0 -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 3, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %24 = dag.compute @b0.i(%4#0, %17) BI {MB = 0, PP = 0} node "bi0.0" -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 0, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %25 = dag.compute @b0.i(%6#0, %19) BI {MB = 1, PP = 0} node "bi0.1" -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 1, pp = 0}, [{"mb"}, {}]>
// CHECK-NEXT:     %26 = dag.compute @b0.i(%8#0, %21) BI {MB = 2, PP = 0} node "bi0.2" -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 2, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %27 = dag.compute @b0.i(%10#0, %23) BI {MB = 3, PP = 0} node "bi0.3" -> !dag.dist<tensor<8x16xf32>, @cluster on {mb = 3, pp = 1}, [{"mb"}, {}]>
// CHECK-NEXT:     %28 = dag.compute @b0.w(%x_0, %24) BW {MB = 0, PP = 0} node "bw0.0" -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}, partial = {mb[0:1]}>
// CHECK-NEXT:     %29 = dag.compute @b0.w(%x_1, %25) BW {MB = 1, PP = 0} node "bw0.1" -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}, partial = {mb[1:2]}>
// CHECK-NEXT:     %30 = dag.compute @b0.w(%x_2, %26) BW {MB = 2, PP = 0} node "bw0.2" -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 1}, partial = {mb[2:3]}>
// CHECK-NEXT:     %31 = dag.compute @b0.w(%x_3, %27) BW {MB = 3, PP = 0} node "bw0.3" -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 1}, partial = {mb[3:4]}>
// CHECK-NEXT:     dag.output "loss" %12#1, %13#1, %14#1, %15#1 : !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[0:1]}>, !dag.dist<tensor<f32>, @cluster on {pp = 1}, partial = {mb[1:2]}>, !dag.dist<tensor<f32>, @cluster on {pp = 0}, partial = {mb[2:3]}>, !dag.dist<tensor<f32>, @cluster on {pp = 0}, partial = {mb[3:4]}>
// CHECK-NEXT:     %32 = dag.add %28, %29 -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 0}, partial = {mb[0:2]}>
// CHECK-NEXT:     %33 = dag.add %30, %31 -> !dag.dist<tensor<4x16xf32>, @cluster on {pp = 1}, partial = {mb[2:4]}>
// CHECK-NEXT:     %34 = dag.join %32, %33 -> !dag.dist<tensor<4x16xf32>, @cluster on @pp0_pp1, partial = {"pp0_pp1"}>
// CHECK-NEXT:     %35 = dag.all_reduce %34 over [@pp0_pp1] -> !dag.dist<tensor<4x16xf32>, @cluster on @pp0_pp1>
// CHECK-NEXT:     %36 = dag.gradient "w0" %35 -> !dag.dist<tensor<4x16xf32>, @cluster on @pp0_pp1>
// CHECK-NEXT:     %37 = dag.add %20#1, %22#1 -> !dag.dist<tensor<16x10xf32>, @cluster on {pp = 0}, partial = {mb[2:4]}>
// CHECK-NEXT:     %38 = dag.add %16#1, %18#1 -> !dag.dist<tensor<16x10xf32>, @cluster on {pp = 1}, partial = {mb[0:2]}>
// CHECK-NEXT:     %39 = dag.join %37, %38 -> !dag.dist<tensor<16x10xf32>, @cluster on @pp0_pp1, partial = {"pp0_pp1"}>
// CHECK-NEXT:     %40 = dag.all_reduce %39 over [@pp0_pp1] -> !dag.dist<tensor<16x10xf32>, @cluster on @pp0_pp1>
// CHECK-NEXT:     %41 = dag.gradient "w1" %40 -> !dag.dist<tensor<16x10xf32>, @cluster on @pp0_pp1>
// CHECK-NEXT:     dag.order on {pp = 0} {{\[\[}}@f0.0], [@f1.2], [@f0.1], [@b1.2], [@f1.3, @bi0.0, @bw0.0], [@b1.3], [@bi0.1], [@bw0.1]]
// CHECK-NEXT:     dag.order on {pp = 1} {{\[\[}}@f0.2], [@f1.0], [@f0.3], [@b1.0], [@f1.1, @bi0.2, @bw0.2], [@b1.1], [@bi0.3], [@bw0.3]]
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
