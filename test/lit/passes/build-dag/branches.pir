// Segments form a DAG: two branches from one input, joined in a third segment, with a skip connection around it.
// RUN: piper-opt --pass build-dag %s 2>/dev/null | FileCheck %s

strategy.mesh @cluster <["pp" = 1]>

func.func @loss(%x: tensor<4x8xf32> {role = "data", batch_dim = 0}, %targets: tensor<4xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %in = strategy.annotate {PP = 0} {
    %w = nn.parameter "in" init = normal<0.0, 0.1> : tensor<8x8xf32>
    %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    strategy.yield %y : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %left = strategy.annotate {PP = 1} {
    %w = nn.parameter "left" init = normal<0.0, 0.1> : tensor<8x8xf32>
    %y = nn.linear %in, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    strategy.yield %y : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %right = strategy.annotate {PP = 2} {
    %w = nn.parameter "right" init = normal<0.0, 0.1> : tensor<8x8xf32>
    %y = nn.linear %in, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    strategy.yield %y : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %l = strategy.annotate {PP = 3} {
    %both = nn.add %left, %right : tensor<4x8xf32>
    %all = nn.add %both, %in : tensor<4x8xf32>
    %loss = nn.cross_entropy %all, %targets {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<f32>
    strategy.yield %loss : tensor<f32>
  } : tensor<f32>
  func.return %l : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
}

// The branches have equal bodies, so they share their functions.
// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["pp" = 1]>
// CHECK-NEXT:   func.func private @f0(%x: tensor<4x8xf32> {batch_dim = 0}, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:     %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     func.return %y : tensor<4x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f3(%y: tensor<4x8xf32> {batch_dim = 0}, %y_0: tensor<4x8xf32> {batch_dim = 0}, %y_1: tensor<4x8xf32> {batch_dim = 0}, %targets: tensor<4xi32> {batch_dim = 0}) -> (tensor<4x8xf32>, tensor<f32>, tensor<4xf32>) {
// CHECK-NEXT:     %both = nn.add %y, %y_0 : tensor<4x8xf32>
// CHECK-NEXT:     %all = nn.add %both, %y_1 : tensor<4x8xf32>
// CHECK-NEXT:     %loss, %loss_lse = nn.cross_entropy %all, %targets {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK-NEXT:     func.return %all, %loss, %loss_lse : tensor<4x8xf32>, tensor<f32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b3(%all: tensor<4x8xf32> {batch_dim = 0}, %targets: tensor<4xi32> {batch_dim = 0}, %loss_lse: tensor<4xf32> {batch_dim = 0}) -> tensor<4x8xf32> {
// CHECK-NEXT:     %d_loss = nn.constant {pass = "BI", value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT:     %d_all = nn.cross_entropy_dx %all, %targets, %d_loss, %loss_lse {denominator = 4, pass = "BI"} : (tensor<4x8xf32>, tensor<4xi32>, tensor<f32>, tensor<4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     func.return %d_all : tensor<4x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b2(%d_all: tensor<4x8xf32> {batch_dim = 0}, %w: tensor<8x8xf32>, %y: tensor<4x8xf32> {batch_dim = 0}) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:     %d_y = nn.linear_dx %d_all, %w {pass = "BI"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     %d_w = nn.linear_dw %y, %d_all {pass = "BW"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     func.return %d_y, %d_w : tensor<4x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0(%d_all: tensor<4x8xf32> {batch_dim = 0}, %d_y: tensor<4x8xf32> {batch_dim = 0}, %d_y_0: tensor<4x8xf32> {batch_dim = 0}, %x: tensor<4x8xf32> {batch_dim = 0}) -> tensor<8x8xf32> {
// CHECK-NEXT:     %d_y_1 = nn.add %d_all, %d_y {pass = "BI"} : tensor<4x8xf32>
// CHECK-NEXT:     %d_y_2 = nn.add %d_y_1, %d_y_0 {pass = "BI"} : tensor<4x8xf32>
// CHECK-NEXT:     %d_w = nn.linear_dw %x, %d_y_2 {pass = "BW"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     func.return %d_w : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster {
// CHECK-NEXT:     %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<4x8xf32>, @cluster>
// CHECK-NEXT:     %targets = dag.input "targets" {batch_dim = 0} : !dag.dist<tensor<4xi32>, @cluster>
// CHECK-NEXT:     %w = dag.parameter "in" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:     %w_0 = dag.parameter "left" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:     %w_1 = dag.parameter "right" {init = #nn.init<normal<0.0, 0.1>>} : !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:     %y = dag.compute @f0(%x, %w) F {PP = 0} node "f0" -> !dag.dist<tensor<4x8xf32>, @cluster>
// CHECK-NEXT:     %y_0 = dag.compute @f0(%y, %w_0) F {PP = 1} node "f1" -> !dag.dist<tensor<4x8xf32>, @cluster>
// CHECK-NEXT:     %y_1 = dag.compute @f0(%y, %w_1) F {PP = 2} node "f2" -> !dag.dist<tensor<4x8xf32>, @cluster>
// CHECK-NEXT:     %all, %loss, %loss_lse = dag.compute @f3(%y_0, %y_1, %y, %targets) F {PP = 3} node "f3" -> (!dag.dist<tensor<4x8xf32>, @cluster>, !dag.dist<tensor<f32>, @cluster>, !dag.dist<tensor<4xf32>, @cluster>)
// CHECK-NEXT:     %d_all = dag.compute @b3(%all, %targets, %loss_lse) B {PP = 3} node "b3" -> !dag.dist<tensor<4x8xf32>, @cluster>
// CHECK-NEXT:     %d_y, %d_w = dag.compute @b2(%d_all, %w_1, %y) B {PP = 2} node "b2" -> (!dag.dist<tensor<4x8xf32>, @cluster>, !dag.dist<tensor<8x8xf32>, @cluster>)
// CHECK-NEXT:     %d_y_0, %d_w_0 = dag.compute @b2(%d_all, %w_0, %y) B {PP = 1} node "b1" -> (!dag.dist<tensor<4x8xf32>, @cluster>, !dag.dist<tensor<8x8xf32>, @cluster>)
// CHECK-NEXT:     %d_w_1 = dag.compute @b0(%d_all, %d_y, %d_y_0, %x) B {PP = 0} node "b0" -> !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:     dag.output "loss" %loss : !dag.dist<tensor<f32>, @cluster>
// CHECK-NEXT:     %0 = dag.gradient "in" %d_w_1 -> !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:     %1 = dag.gradient "left" %d_w_0 -> !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:     %2 = dag.gradient "right" %d_w -> !dag.dist<tensor<8x8xf32>, @cluster>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
