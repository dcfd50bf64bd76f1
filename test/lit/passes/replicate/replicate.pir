// The batch is divided over "dp": inputs and activations get the axis, bodies local shapes, contributions a partial sum that
// is reduced before it is called a gradient. The loss stays partial, and its mean keeps the count 8.
// RUN: piper-opt --pass replicate %s | FileCheck %s
strategy.mesh @cluster <["dp" = 2]>

func.func private @loss()
strategy.plan @train for @loss on @cluster {
  strategy.replicate over "dp"
}

func.func private @f0(%x: tensor<8x4xf32> {batch_dim = 0}, %w: tensor<4x4xf32>, %t: tensor<8xi32> {batch_dim = 0}) -> tensor<f32> {
  %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = nn.cross_entropy %y, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}

func.func private @b0(%x: tensor<8x4xf32> {batch_dim = 0}, %w: tensor<4x4xf32>, %t: tensor<8xi32> {batch_dim = 0}) -> tensor<4x4xf32> {
  %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %one = nn.constant {value = 1.0} : tensor<f32>
  %dy = nn.cross_entropy_dx %y, %t, %one {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>, tensor<f32>) -> tensor<8x4xf32>
  %dw = nn.linear_dw %x, %dy : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  func.return %dw : tensor<4x4xf32>
}

dag.graph @train_step of @loss on @cluster {
  %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster>
  %t = dag.input "t" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster>
  %w = dag.parameter "w" {init = #nn.init<normal<0.0, 0.02>>} : !dag.dist<tensor<4x4xf32>, @cluster>
  %loss = dag.compute @f0(%x, %w, %t) F {PP = 0} node "f0" : (!dag.dist<tensor<8x4xf32>, @cluster>, !dag.dist<tensor<4x4xf32>, @cluster>, !dag.dist<tensor<8xi32>, @cluster>) -> !dag.dist<tensor<f32>, @cluster>
  %dw = dag.compute @b0(%x, %w, %t) B {PP = 0} node "b0" : (!dag.dist<tensor<8x4xf32>, @cluster>, !dag.dist<tensor<4x4xf32>, @cluster>, !dag.dist<tensor<8xi32>, @cluster>) -> !dag.dist<tensor<4x4xf32>, @cluster>
  %g = dag.gradient "w" %dw : !dag.dist<tensor<4x4xf32>, @cluster> -> !dag.dist<tensor<4x4xf32>, @cluster>
  dag.output "loss" %loss : !dag.dist<tensor<f32>, @cluster>
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   strategy.mesh @cluster <["dp" = 2]>
// CHECK-NEXT:   func.func private @loss()
// CHECK-NEXT:   strategy.plan @train for @loss on @cluster {
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @f0(%x: tensor<4x4xf32> {batch_dim = 0}, %w: tensor<4x4xf32>, %t: tensor<4xi32> {batch_dim = 0}) -> tensor<f32> {
// CHECK-NEXT:     %y = nn.linear %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:     %loss = nn.cross_entropy %y, %t {denominator = 8} : (tensor<4x4xf32>, tensor<4xi32>) -> tensor<f32>
// CHECK-NEXT:     func.return %loss : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @b0(%x: tensor<4x4xf32> {batch_dim = 0}, %w: tensor<4x4xf32>, %t: tensor<4xi32> {batch_dim = 0}) -> tensor<4x4xf32> {
// CHECK-NEXT:     %y = nn.linear %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:     %one = nn.constant {value = 1.000000e+00} : tensor<f32>
// CHECK-NEXT:     %dy = nn.cross_entropy_dx %y, %t, %one {denominator = 8} : (tensor<4x4xf32>, tensor<4xi32>, tensor<f32>) -> tensor<4x4xf32>
// CHECK-NEXT:     %dw = nn.linear_dw %x, %dy : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:     func.return %dw : tensor<4x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   dag.graph @train_step of @loss on @cluster {
// CHECK-NEXT:     %x = dag.input "x" {batch_dim = 0} : !dag.dist<tensor<8x4xf32>, @cluster, [{"dp"}, {}]>
// CHECK-NEXT:     %t = dag.input "t" {batch_dim = 0} : !dag.dist<tensor<8xi32>, @cluster, [{"dp"}]>
// CHECK-NEXT:     %w = dag.parameter "w" {init = #nn.init<normal<0.0, 0.02>>} : !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     %loss = dag.compute @f0(%x, %w, %t) F {PP = 0} node "f0" -> !dag.dist<tensor<f32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:     %dw = dag.compute @b0(%x, %w, %t) B {PP = 0} node "b0" -> !dag.dist<tensor<4x4xf32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:     %0 = dag.all_reduce %dw over ["dp"] -> !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     %g = dag.gradient "w" %0 -> !dag.dist<tensor<4x4xf32>, @cluster>
// CHECK-NEXT:     dag.output "loss" %loss : !dag.dist<tensor<f32>, @cluster, partial = {"dp"}>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
