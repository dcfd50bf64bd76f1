// Misfits name both sides.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{'stablehlo.add': 'rhs' has type tensor<8x4xf32>, but 'lhs' has tensor<4x8xf32>}}
  %0 = stablehlo.add %x, %y : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{'stablehlo.multiply': 'rhs' has type tensor<4xf64>, but 'lhs' has tensor<4xf32>}}
  %0 = stablehlo.multiply %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%n: tensor<4xi32>) {
  // expected-error@+2 {{operand 'operand' of 'stablehlo.tanh' must be a tensor of floating-point or complex numbers, but has type tensor<4xi32>}}
  // expected-error@+1 {{result 'result' of 'stablehlo.tanh' must be a tensor of floating-point or complex numbers, but has type tensor<4xi32>}}
  %0 = stablehlo.tanh %n : tensor<4xi32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{result 'result' of 'stablehlo.compare' must be a tensor of booleans (i1), but has type tensor<4x8xi32>}}
  %0 = stablehlo.compare EQ, %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected one of EQ, NE, GE, GT, LE, LT, found 'LS'}}
  %0 = stablehlo.compare LS, %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  func.return
}

// -----

func.func @f(%p: tensor<4xi1>, %x: tensor<8xf32>) {
  // expected-error@+1 {{'stablehlo.select': 'pred' has type tensor<4xi1>, but 'on_true' has tensor<8xf32>}}
  %0 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<4x16xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general': contracting dimension 0 of 'rhs' is 4, but dimension 1 of 'lhs' is 8}}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general': the result has type tensor<16x4xf32>, but the operands make it tensor<4x16xf32>}}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<16x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general': the list of dimensions of 'lhs' names dimension 2 of a tensor of rank 2}}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim': dimension 0 of the operand, of size 8, cannot be dimension 0 of the result, of size 4}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'stablehlo.transpose': 'dims' names dimension 0 twice}}
  %0 = stablehlo.transpose %x, dims = [0, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'stablehlo.reshape': tensor<4x8xf32> has 32 values, but tensor<4x9xf32> has 36}}
  %0 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<4x9xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{'stablehlo.iota': 'dim' names dimension 2 of a tensor of rank 2}}
  %0 = stablehlo.iota dim = 2 : tensor<4x8xi32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %z: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.reduce': the initial value of operand 0 has type tensor<i32>, expected tensor<f32>}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce': result 0 has type tensor<4xf32>, but the operands make it tensor<8xf32>}}
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'stablehlo.slice': range 0:9:1 does not lie in dimension 1, of size 8}}
  %0 = stablehlo.slice %x [0:4, 0:9] : (tensor<4x8xf32>) -> tensor<4x9xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate': the result has type tensor<4x8xf32>, but the operands make it tensor<8x8xf32>}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{[1] is no tensor of constants}}
  %0 = stablehlo.constant [1]
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.while': the condition gives (tensor<i32>), expected (tensor<i1>)}}
  %0 = stablehlo.while(%v = %x) : tensor<4xf32>
  cond {
    stablehlo.return %c : tensor<i32>
  } do {
    stablehlo.return %v : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.if': branch 1 gives (tensor<i1>), but the results are (tensor<4xf32>)}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %p : tensor<i1>
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{there is no field 'lhs_contracting'}}
  %0 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting = [0]>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{dialect 'stablehlo' has no operation 'stablehlo.ad'}}
  %0 = stablehlo.ad %x, %x : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // What has no pretty form says how to print it otherwise.
  // expected-error@+1 {{'stablehlo.sort' has no custom form}}
  %0 = stablehlo.sort %x : tensor<4xf32>
  func.return
}
