// Shapes and element types that do not fit name the dimension, and what it should be.
// RUN: not piper-opt --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// linear
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %v = nn.parameter "v" init = ones : tensor<7x5xf32>
  %y = nn.linear %x, %v : (tensor<2x3x4xf32>, tensor<7x5xf32>) -> tensor<2x3x5xf32>
  func.return
}

// CHECK: error: 'nn.linear': dimension K of 'w' is 7, but 'x' makes it 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: note: 'w' is defined here
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-8]]:8
// CHECK: help: the shapes are x[..., K], w[K, N] -> y[..., N]

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.linear %x, %w {transpose_w} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.linear': dimension K of 'w' is 5, but 'x' makes it 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the shapes are x[..., K], w[N, K] -> y[..., N]

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.linear %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x9x5xf32>
  func.return
}

// CHECK: error: 'nn.linear': dimension 1 of 'y' is 9, but 'x' makes it 3
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the shapes are x[..., K], w[K, N] -> y[..., N]

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %v = nn.parameter "v" init = ones : tensor<4xf32>
  %y = nn.linear %x, %v : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.linear': 'w' has type tensor<4xf32>, expected the form [K, N]
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: note: 'w' is defined here
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-8]]:8
// CHECK: help: the shapes are x[..., K], w[K, N] -> y[..., N]

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %v = nn.parameter "v" init = ones : tensor<4x5xf64>
  %y = nn.linear %x, %v : (tensor<2x3x4xf32>, tensor<4x5xf64>) -> tensor<2x3x5xf32>
  func.return
}

// CHECK: error: 'nn.linear': 'w' holds f64, but 'x' holds f32
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: an operation computes in one element type

// -----

// embedding
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.embedding %t, %w : (tensor<2x3xi32>, tensor<4x5xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.embedding': dimension D of 'y' is 4, but 'w' makes it 5
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the shapes are tokens[B, S], w[V, D] -> y[B, S, D]

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.embedding %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  func.return
}

// CHECK: error: operand 'tokens' of 'nn.embedding' must be a tensor of i32 with static shape, but has type tensor<2x3x4xf32>
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

// norms
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %g = nn.parameter "g" init = ones : tensor<5xf32>
  %y = nn.rms_norm %x, %g {eps = 1.0e-5} : (tensor<2x3x4xf32>, tensor<5xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.rms_norm': dimension D of 'gamma' is 5, but 'x' makes it 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: note: 'gamma' is defined here
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-8]]:8
// CHECK: help: the shapes are x[..., D], gamma[D] -> y[..., D]

// -----

// add
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.add %x, %x : tensor<2x3x5xf32>
  func.return
}

// CHECK: error: 'nn.add': dimension 2 of 'y' is 5, but 'a' makes it 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the shapes are a[...], b[...] -> y[...]

// -----

// attention
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.attention %x, %x, %x {heads = 3, kv_heads = 3} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.attention': heads = 3 does not divide dimension H*hd = 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the last dimension is heads of equal size, one after the other
// CHECK: error: 'nn.attention': kv_heads = 3 does not divide dimension KV*hd = 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-8]]:8
// CHECK: help: the last dimension is heads of equal size, one after the other

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.attention %x, %x, %x {heads = 4, kv_heads = 3} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.attention': kv_heads = 3 does not divide dimension KV*hd = 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the last dimension is heads of equal size, one after the other
// CHECK: error: 'nn.attention': kv_heads = 3 does not divide heads = 4
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-8]]:8
// CHECK: help: equally many query heads share one key and value head

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.attention %x, %x, %x {heads = 4, kv_heads = 2} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.attention': the head size of 'q' is 1, but that of 'k' is 2
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: 'q' has heads, 'k' and 'v' have kv_heads of one size

// -----

// rotary
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.rotary %x {heads = 4, base = 10000.0} : tensor<2x3x4xf32>
  func.return
}

// CHECK: error: 'nn.rotary': the head size 1 is odd; values turn in pairs
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: take fewer heads, or wider ones

// -----

// cross_entropy
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %l = nn.cross_entropy %x, %t {denominator = 6} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<2xf32>
  func.return
}

// CHECK: error: result 'loss' of 'nn.cross_entropy' must be a scalar tensor, tensor<f32> or tensor<f64>, but has type tensor<2xf32>
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %u = nn.constant {value = 0.0} : tensor<2x3xf32>
  %l = nn.cross_entropy %x, %u {denominator = 6} : (tensor<2x3x4xf32>, tensor<2x3xf32>) -> tensor<f32>
  func.return
}

// CHECK: error: operand 'targets' of 'nn.cross_entropy' must be a tensor of i32 with static shape, but has type tensor<2x3xf32>
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %l = nn.cross_entropy %x, %t {denominator = 0} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<f32>
  func.return
}

// CHECK: error: attribute 'denominator' of 'nn.cross_entropy' must be a positive integer, but is 0
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %l = nn.cross_entropy %x, %t {denominator = 8} : (tensor<2x3x4xf32>, tensor<2x3x1xi32>) -> tensor<f32>
  func.return
}

// CHECK: error: use of '%t' expects type tensor<2x3x1xi32>, but it has type tensor<2x3xi32>
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:29
// CHECK: note: defined here
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-8]]:14

// -----

func.func @f(%x: tensor<2x3x4xf32>, %u: tensor<2x3x1xi32>) {
  %l = nn.cross_entropy %x, %u {denominator = 6} : (tensor<2x3x4xf32>, tensor<2x3x1xi32>) -> tensor<f32>
  func.return
}

// CHECK: error: 'nn.cross_entropy': 'targets' has type tensor<2x3x1xi32> of 3 dimension(s), but 'logits' makes that 2
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8
// CHECK: help: the shapes are logits[..., V], targets[...] -> loss[]

// -----

// parameter
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %v = nn.parameter "v" init = ones : tensor<?x4xf32>
  func.return
}

// CHECK: error: result 'w' of 'nn.parameter' must be a tensor of f32, f64 or bf16 with static shape, but has type tensor<?x4xf32>
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %v = nn.parameter "v" init = ones : tensor<4xi32>
  func.return
}

// CHECK: error: result 'w' of 'nn.parameter' must be a tensor of f32, f64 or bf16 with static shape, but has type tensor<4xi32>
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %v = nn.parameter "" init = ones : tensor<4xf32>
  func.return
}

// CHECK: error: a parameter needs a name
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:8

// -----

// Too few operands, and too many.
func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.linear %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: expected ',', found ':'
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:21
// CHECK: help: the form is: nn.linear %x, %w [, %bias] : (<types>) -> <types>

// -----

func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %d: tensor<2x3x4xf64>) {
  %y = nn.linear %x, %w, %w, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK: error: expected ':', found ','
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:28
// CHECK: help: the form is: nn.linear %x, %w [, %bias] : (<types>) -> <types>

// -----

// Functions.
func.func @f(%x: tensor<4xf32>) -> tensor<5xf32> {
  func.return %x : tensor<4xf32>
}

// CHECK: error: returns (tensor<4xf32>), but '@f' is declared to return (tensor<5xf32>)
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-4]]:3
// CHECK: note: '@f' is declared here
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-7]]:1

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.gelu %x : tensor<4xf32>
}

// CHECK: error: a block of 'func.func' must end with a terminator
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-4]]:8
// CHECK: help: end it with func.return

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
  %y = nn.gelu %x : tensor<4xf32>
}

// CHECK: error: 'func.return' must be the last operation of its block
// CHECK-NEXT: --> {{.*}}shapes.pir:[[#@LINE-5]]:3
