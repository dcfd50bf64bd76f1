// What runs in one launch: a product with its elementwise continuation, elementwise groups, everything else alone; equal
// bodies are one kernel, and what nobody reads is not computed.
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize)' %s | FileCheck %s
// RUN: piper-opt --pass-pipeline='builtin.module(kernelize)' %s | piper-opt | FileCheck %s

// The product and its activation; both are results, since both are read later.
// CHECK: kernel.func @gemm0(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {bytes = 672, flops = 1120, kind = "gemm"} {
// CHECK-NEXT: %h = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %a = nn.gelu %h : tensor<4x8xf32>
// CHECK-NEXT: kernel.return %h, %a : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK: kernel.func @gemm1(%a: tensor<4x8xf32>, %w: tensor<8x8xf32>, %x: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %p = nn.linear %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %y = nn.add %x, %p : tensor<4x8xf32>
// CHECK: func.func @forward
// CHECK-NEXT: %h, %a = kernel.launch @gemm0(%x, %w, %b)
// CHECK-NEXT: %y = kernel.launch @gemm1(%a, %w, %x)
// CHECK-NEXT: func.return %y, %h, %a
func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %h = nn.linear %x, %w, %b {pass = "F"} : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %a = nn.gelu %h {tags = {PP = 0}} : tensor<4x8xf32>
  %p = nn.linear %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = nn.add %x, %p : tensor<4x8xf32>
  func.return %y, %h, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Chains of elementwise operations are one launch, constants in them cost nothing.
// CHECK: kernel.func @map0(%d: tensor<4x8xf32>, %x: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %s = nn.scale
// CHECK-NEXT: %g = nn.silu_dx
// CHECK-NEXT: %one = nn.constant
// CHECK-NEXT: %y = nn.add
// CHECK-NEXT: kernel.return
// CHECK: func.func @chain
// CHECK-NEXT: %{{.*}} = kernel.launch @map0(%d, %x)
// CHECK-NEXT: func.return
func.func @chain(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %unused = nn.gelu %x : tensor<4x8xf32>
  %s = nn.scale %d {factor = 0.5} : tensor<4x8xf32>
  %g = nn.silu_dx %x, %s : tensor<4x8xf32>
  %one = nn.constant {value = 1.0} : tensor<4x8xf32>
  %y = nn.add %g, %one : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// The log-sum-exp is not computed where nobody reads it.
// CHECK: kernel.func @attention0({{.*}}) -> tensor<1x4x8xf32> attributes {{{.*}}kind = "attention"}
// CHECK-NOT: func.func @infer
// CHECK: kernel.return %o : tensor<1x4x8xf32>
func.func @infer(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %s = nn.stop_gradient %x : tensor<1x4x8xf32>
  %o, %lse = nn.attention %s, %x, %x {heads = 2, kv_heads = 2} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  func.return %o : tensor<1x4x8xf32>
}

// Equal bodies are one kernel, whatever their values and functions are called.
// CHECK-NOT: kernel.func
// CHECK: func.func @again
// CHECK-NEXT: %{{.*}} = kernel.launch @map0(%v, %u)
func.func @again(%u: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = nn.scale %v {factor = 0.5} : tensor<4x8xf32>
  %g = nn.silu_dx %u, %s : tensor<4x8xf32>
  %one = nn.constant {value = 1.0} : tensor<4x8xf32>
  %y = nn.add %g, %one : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// A sum of what a launch takes and gives cannot run before it, so not with the product either.
// CHECK: func.func @across
// CHECK-NEXT: [[P:%.*]] = kernel.launch @gemm{{[0-9]+}}(%x, %w)
// CHECK-NEXT: [[N:%.*]] = kernel.launch @norm0([[P]], %g)
// CHECK-NEXT: [[Y:%.*]] = kernel.launch @map1([[P]], [[N]])
// CHECK-NEXT: func.return [[Y]]
func.func @across(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %n = nn.rms_norm %p, %g {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %y = nn.add %p, %n : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// A loss that is computed again for its log-sum-exp alone is not: its gradient finds that itself.
// CHECK: kernel.func @cross_entropy_dx0(%z: {{[^%]*}}, %t: {{[^%]*}}, %d: tensor<f32>) -> tensor<4x8xf32>
// CHECK: func.func @recomputed
// CHECK-NEXT: %d_z = kernel.launch @cross_entropy_dx0(%z, %t, %d)
// CHECK-NEXT: func.return %d_z
func.func @recomputed(%z: tensor<4x8xf32>, %t: tensor<4xi32>, %d: tensor<f32>) -> tensor<4x8xf32> {
  %l, %lse = nn.cross_entropy %z, %t {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %d_z = nn.cross_entropy_dx %z, %t, %d, %lse {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>, tensor<f32>, tensor<4xf32>) -> tensor<4x8xf32>
  func.return %d_z : tensor<4x8xf32>
}

// Where the loss is read as well, it gives its log-sum-exp, and the gradient takes it.
// CHECK: func.func @kept
// CHECK-NEXT: %l, %lse = kernel.launch @cross_entropy0(%z, %t) : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK-NEXT: %d_z = kernel.launch @cross_entropy_dx1(%z, %t, %d, %lse)
func.func @kept(%z: tensor<4x8xf32>, %t: tensor<4xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<4x8xf32>) {
  %l, %lse = nn.cross_entropy %z, %t {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %d_z = nn.cross_entropy_dx %z, %t, %d, %lse {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>, tensor<f32>, tensor<4xf32>) -> tensor<4x8xf32>
  func.return %l, %d_z : tensor<f32>, tensor<4x8xf32>
}

// The gradient of a residual connection is added by the norm's gradient, if nobody else reads that.
// CHECK: kernel.func @norm_dx0(%h: tensor<4x8xf32>, %g: tensor<8xf32>, %d_n: tensor<4x8xf32>, %d_y: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {{{.*}}kind = "norm_dx"}
// CHECK-NEXT: %d_h = nn.rms_norm_dx %h, %g, %d_n
// CHECK-NEXT: [[S:%.*]] = nn.add %d_y, %d_h
// CHECK-NEXT: kernel.return [[S]]
// CHECK: func.func @residual
// CHECK-NEXT: [[S:%.*]] = kernel.launch @norm_dx0(%h, %g, %d_n, %d_y)
// CHECK-NEXT: func.return [[S]]
func.func @residual(%h: tensor<4x8xf32>, %g: tensor<8xf32>, %d_n: tensor<4x8xf32>, %d_y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %d_h = nn.rms_norm_dx %h, %g, %d_n {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.add %d_y, %d_h : tensor<4x8xf32>
  func.return %s : tensor<4x8xf32>
}

// What is read elsewhere is written as it is: the sum is a launch of its own.
// CHECK: func.func @twice_read
// CHECK-NEXT: [[N:%.*]] = kernel.launch @norm_dx1(%h, %g, %d_n)
// CHECK-NEXT: [[S:%.*]] = kernel.launch @map{{[0-9]+}}(
// CHECK-NEXT: func.return [[S]], [[N]]
func.func @twice_read(%h: tensor<4x8xf32>, %g: tensor<8xf32>, %d_n: tensor<4x8xf32>, %d_y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %d_h = nn.rms_norm_dx %h, %g, %d_n {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.add %d_y, %d_h : tensor<4x8xf32>
  func.return %s, %d_h : tensor<4x8xf32>, tensor<4x8xf32>
}

// A constant is no argument of a norm's gradient: it is a launch.
// CHECK: func.func @with_constant
// CHECK-NEXT: [[C:%.*]] = kernel.launch @map{{[0-9]+}}()
// CHECK-NEXT: [[S:%.*]] = kernel.launch @norm_dx0(%h, %g, %d_n, [[C]])
// CHECK-NEXT: func.return [[S]]
func.func @with_constant(%h: tensor<4x8xf32>, %g: tensor<8xf32>, %d_n: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = nn.constant {value = 1.0} : tensor<4x8xf32>
  %d_h = nn.rms_norm_dx %h, %g, %d_n {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.add %one, %d_h : tensor<4x8xf32>
  func.return %s : tensor<4x8xf32>
}

// Whichever term the gradient is, and whatever the other one is: here what the norm's gradient reads, too.
// CHECK: func.func @its_own_argument
// CHECK-NEXT: [[S:%.*]] = kernel.launch @norm_dx{{[0-9]+}}(%h, %g, %d_n, %d_n)
// CHECK-NEXT: func.return [[S]]
func.func @its_own_argument(%h: tensor<4x8xf32>, %g: tensor<8xf32>, %d_n: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %d_h = nn.layer_norm_dx %h, %g, %d_n {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.add %d_h, %d_n : tensor<4x8xf32>
  func.return %s : tensor<4x8xf32>
}

// Of two gradients one adds the other; a second sum is a launch of its own, and so is a gradient added to itself.
// CHECK: func.func @sums
// CHECK: [[A:%.*]] = kernel.launch @norm_dx{{[0-9]+}}(%h, %g, %d_n)
// CHECK-NEXT: [[B:%.*]] = kernel.launch @norm_dx{{[0-9]+}}(%h, %g, %d_m, [[A]])
// CHECK-NEXT: [[C:%.*]] = kernel.launch @norm_dx{{[0-9]+}}(%h, %g, %d_o)
// CHECK-NEXT: [[D:%.*]] = kernel.launch @map{{[0-9]+}}([[C]], [[B]])
// CHECK-NEXT: func.return [[D]]
func.func @sums(%h: tensor<4x8xf32>, %g: tensor<8xf32>, %d_n: tensor<4x8xf32>, %d_m: tensor<4x8xf32>, %d_o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = nn.rms_norm_dx %h, %g, %d_n {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = nn.rms_norm_dx %h, %g, %d_m {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = nn.add %a, %b : tensor<4x8xf32>
  %c = nn.rms_norm_dx %h, %g, %d_o {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %twice = nn.add %c, %c : tensor<4x8xf32>
  %t = nn.add %s, %twice : tensor<4x8xf32>
  func.return %t : tensor<4x8xf32>
}
