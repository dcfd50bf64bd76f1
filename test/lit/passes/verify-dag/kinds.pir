// Whether a result is a shard or a part of a sum follows from its body, and its type says the same.
// RUN: piper-opt --pass verify-dag --split-input-file --verify-diagnostics %s

// A gradient is a summand of every replica, not rows of a larger one.
strategy.mesh @c <["dp" = 2]>
func.func private @loss()
// expected-note@+1 {{the body is here}}
func.func private @b(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %dw = nn.linear_dw %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  func.return %dw : tensor<4x4xf32>
}
dag.graph @step of @loss on @c {
  %x = dag.input "x" : !dag.dist<tensor<4x4xf32>, @c, [{"dp"}, {}]>
  %y = dag.input "y" : !dag.dist<tensor<4x4xf32>, @c, [{"dp"}, {}]>
  // expected-error@+1 {{result 0 of node 'f' is a shard along "dp" of dimension 0 according to !dag.dist<tensor<8x4xf32>, @c, [{"dp"}, {}]>, but its body makes a part of a sum over "dp"}}
  %d = dag.compute @b(%x, %y) F {PP = 0} node "f" -> !dag.dist<tensor<8x4xf32>, @c, [{"dp"}, {}]>
}

// -----

// Rows of different replicas that would be added up.
strategy.mesh @c <["dp" = 2]>
func.func private @loss()
// expected-note@+1 {{the body is here}}
func.func private @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = nn.gelu %x : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
dag.graph @step of @loss on @c {
  %x = dag.input "x" : !dag.dist<tensor<4x4xf32>, @c, [{"dp"}, {}]>
  // expected-error@+1 {{result 0 of node 'f' is a partial sum over "dp" according to !dag.dist<tensor<2x4xf32>, @c, partial = {"dp"}>, but its body makes a shard along "dp" of dimension 0}}
  %y = dag.compute @f(%x) F {PP = 0} node "f" -> !dag.dist<tensor<2x4xf32>, @c, partial = {"dp"}>
  %r = dag.all_reduce %y over ["dp"] -> !dag.dist<tensor<2x4xf32>, @c>
}

// -----

// The columns of a matrix divided over "tp" are the columns of what it makes, not its rows.
strategy.mesh @c <["tp" = 2]>
func.func private @loss()
// expected-note@+1 {{the body is here}}
func.func private @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = nn.linear %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
dag.graph @step of @loss on @c {
  %x = dag.input "x" : !dag.dist<tensor<4x4xf32>, @c>
  %w = dag.parameter "w" {init = #nn.init<zeros>} : !dag.dist<tensor<4x8xf32>, @c, [{}, {"tp"}]>
  // expected-error@+1 {{result 0 of node 'f' is a shard along "tp" of dimension 0 according to !dag.dist<tensor<8x4xf32>, @c, [{"tp"}, {}]>, but its body makes a shard of dimension 1}}
  %y = dag.compute @f(%x, %w) F {PP = 0} node "f" -> !dag.dist<tensor<8x4xf32>, @c, [{"tp"}, {}]>
}
