// What differs from device to device is sharded or partial in its type, and nothing else is.
// RUN: piper-opt --pass verify-dag --split-input-file --verify-diagnostics %s

// A gradient of one replica's data that claims to be the same everywhere: nobody would sum it.
strategy.mesh @c <["dp" = 2]>
func.func private @loss()
func.func private @f(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
func.func private @b(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %dw = nn.linear_dw %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  func.return %dw : tensor<4x4xf32>
}
dag.graph @step of @loss on @c {
  // expected-note@+1 {{this differs along "dp"}}
  %x = dag.input "x" : !dag.dist<tensor<4x4xf32>, @c, [{"dp"}, {}]>
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @c>
  %y = dag.compute @f(%x, %w) F {PP = 0} node "f" -> !dag.dist<tensor<4x4xf32>, @c, [{"dp"}, {}]>
  // expected-error@+1 {{result 0 of node 'b' is made of values that differ along "dp", but is the same along it according to !dag.dist<tensor<4x4xf32>, @c>: the sum over "dp" would be left out}}
  %d = dag.compute @b(%x, %y) B {PP = 0} node "b" -> !dag.dist<tensor<4x4xf32>, @c>
  %g = dag.gradient "w" %d : !dag.dist<tensor<4x4xf32>, @c> -> !dag.dist<tensor<4x4xf32>, @c>
}

// -----

// Something every replica computes alike: a sum over them would double it.
strategy.mesh @c <["dp" = 2]>
func.func private @loss()
func.func private @decay(%w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %d = nn.scale %w {factor = 0.1} : tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}
dag.graph @step of @loss on @c {
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4x4xf32>, @c>
  // expected-error@+1 {{result 0 of node 'b' is a partial sum over "dp", but nothing it is made of differs along it: it would be multiplied}}
  %d = dag.compute @decay(%w) B {PP = 0} node "b" -> !dag.dist<tensor<4x4xf32>, @c, partial = {"dp"}>
  %r = dag.all_reduce %d over ["dp"] -> !dag.dist<tensor<4x4xf32>, @c>
  %g = dag.gradient "w" %r : !dag.dist<tensor<4x4xf32>, @c> -> !dag.dist<tensor<4x4xf32>, @c>
}

// -----

// One microbatch's loss as if it were the whole batch's.
strategy.mesh @c <["dp" = 1]>
func.func private @loss()
func.func private @l(%x: tensor<2x4xf32>, %t: tensor<2xi32>) -> tensor<f32> {
  %l = nn.cross_entropy %x, %t {denominator = 4} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}
dag.graph @step of @loss on @c microbatches 2 {
  // expected-note@+1 {{this differs along "mb"}}
  %x = dag.input "x" : !dag.dist<tensor<4x4xf32>, @c on {mb = 0}, [{"mb"}, {}]>
  %t = dag.input "t" : !dag.dist<tensor<4xi32>, @c on {mb = 0}, [{"mb"}]>
  // expected-error@+1 {{result 0 of node 'f' is made of one microbatch, but is of all of them according to !dag.dist<tensor<f32>, @c>: the others would be left out}}
  %l = dag.compute @l(%x, %t) F {MB = 0, PP = 0} node "f" -> !dag.dist<tensor<f32>, @c>
  dag.output "loss" %l : !dag.dist<tensor<f32>, @c>
}
