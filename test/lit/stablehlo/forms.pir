// The pretty forms are printed as they are read; the generic form is StableHLO's.
// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | FileCheck %s --check-prefix=GENERIC
// RUN: piper-opt --mlir-print-op-generic %s | piper-opt | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %n: tensor<4x8xi32>, %p: tensor<i1>) {
  // CHECK: %0 = stablehlo.add %x, %x : tensor<4x8xf32>
  // GENERIC: "stablehlo.add"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.add %x, %x : tensor<4x8xf32>
  // CHECK: stablehlo.convert %n : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %1 = stablehlo.convert %n : (tensor<4x8xi32>) -> tensor<4x8xf32>
  // One type is enough where all are the same.
  // CHECK: stablehlo.convert %x : tensor<4x8xf32>
  %2 = stablehlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.compare LT, %n, %n, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  // GENERIC: "stablehlo.compare"(%n, %n) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}>
  %3 = stablehlo.compare LT, %n, %n, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  // CHECK: stablehlo.select %3, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>
  %4 = stablehlo.select %3, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>
  // CHECK: stablehlo.select %p, %x, %x : tensor<i1>, tensor<4x8xf32>
  %5 = stablehlo.select %p, %x, %x : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.complex %x, %x : tensor<4x8xcomplex<f32>>
  %6 = stablehlo.complex %x, %x : tensor<4x8xcomplex<f32>>
  // CHECK: stablehlo.abs %6 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  %7 = stablehlo.abs %6 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  // CHECK: stablehlo.reduce_precision %x, format = e5m10 : tensor<4x8xf32>
  // GENERIC: <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}>
  %8 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x8xf32>
  // CHECK: stablehlo.tanh %x {note = "kept"} : tensor<4x8xf32>
  %9 = stablehlo.tanh %x {note = "kept"} : tensor<4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // CHECK: stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  // CHECK: stablehlo.iota dim = 1 : tensor<4x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK: stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // GENERIC: <{broadcast_dimensions = array<i64>}>
  %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK: stablehlo.slice %x [0:2, 1:8:3] : (tensor<4x8xf32>) -> tensor<2x3xf32>
  // GENERIC: <{limit_indices = array<i64: 2, 8>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 3>}>
  %5 = stablehlo.slice %x [0:2, 1:8:3] : (tensor<4x8xf32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %6 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK: stablehlo.pad %x, %0, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x17xf32>
  %7 = stablehlo.pad %x, %0, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x17xf32>
  // CHECK: stablehlo.tuple %x, %i : tuple<tensor<4x8xf32>, tensor<i32>>
  %8 = stablehlo.tuple %x, %i : tuple<tensor<4x8xf32>, tensor<i32>>
  // CHECK: stablehlo.get_tuple_element %8[1] : (tuple<tensor<4x8xf32>, tensor<i32>>) -> tensor<i32>
  %9 = stablehlo.get_tuple_element %8[1] : (tuple<tensor<4x8xf32>, tensor<i32>>) -> tensor<i32>
  // CHECK: stablehlo.optimization_barrier %x, %i : tensor<4x8xf32>, tensor<i32>
  %10:2 = stablehlo.optimization_barrier %x, %i : tensor<4x8xf32>, tensor<i32>
  func.return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<2x4x8xf32>, %b: tensor<2x8x16xf32>, %m: tensor<4x8xf32>) {
  // CHECK: stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
  // GENERIC: <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
  // CHECK: stablehlo.dot_general %m, %m, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> :
  %1 = stablehlo.dot_general %m, %m, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  func.return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<4x8xf32>, %n: tensor<4x8xi32>, %zero: tensor<f32>, %c: tensor<i32>) {
  // A region of one commutative operation has a short form.
  // CHECK: stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // GENERIC: "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %max = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %max : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.reduce(%x init: %zero), (%n init: %c) across dimensions = [0] :
  // CHECK-NEXT: {{^}}     reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
  %1:2 = stablehlo.reduce(%x init: %zero), (%n init: %c) across dimensions = [0] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %s = stablehlo.add %a, %b : tensor<f32>
    %t = stablehlo.add %i, %j : tensor<i32>
    stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }
  // Both regions of a loop name its values alike.
  // CHECK: stablehlo.while(%iterArg = %c, %iterArg_0 = %x) : tensor<i32>, tensor<4x8xf32>
  // CHECK-NEXT: {{^}}    cond {
  // CHECK: stablehlo.compare LT, %iterArg, %c
  // CHECK: } do {
  // CHECK: stablehlo.tanh %iterArg_0 : tensor<4x8xf32>
  // CHECK-NEXT: stablehlo.return %iterArg, %{{.*}} : tensor<i32>, tensor<4x8xf32>
  %2:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %x) : tensor<i32>, tensor<4x8xf32>
  cond {
    %go = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %y = stablehlo.tanh %iterArg_0 : tensor<4x8xf32>
    stablehlo.return %iterArg, %y : tensor<i32>, tensor<4x8xf32>
  }
  // CHECK: stablehlo.custom_call @Sharding(%x) {backend_config = ""} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // GENERIC: "stablehlo.custom_call"(%x) <{api_version = 1 : i32, backend_config = "", call_target_name = "Sharding", called_computations = [], has_side_effect = false}>
  %3 = stablehlo.custom_call @Sharding(%x) {backend_config = ""} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.composite "my.op" %x {composite_attributes = {k = 2}, decomposition = @impl} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.composite "my.op" %x {composite_attributes = {k = 2}, decomposition = @impl} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: %values, %indices = chlo.top_k(%x, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %values, %indices = chlo.top_k(%x, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // JAX writes calls without their dialect.
  // CHECK: func.call @impl(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = call @impl(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
// CHECK: func.func private @impl(%arg0: tensor<4x8xf32> {jax.buffer_donor = true}) -> (tensor<4x8xf32> {jax.result_info = "result", mhlo.sharding = "{replicated}"}) {
func.func private @impl(%arg0: tensor<4x8xf32> {jax.buffer_donor = true}) -> (tensor<4x8xf32> {jax.result_info = "result", mhlo.sharding = "{replicated}"}) {
  func.return %arg0 : tensor<4x8xf32>
}
