// Every builtin type, and those of dialects nobody registered.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

!alias = tensor<4x?xf32>
// CHECK: "t.i"() : () -> (i1, i32, si8, ui16, index, none)
%i:6 = "t.i"() : () -> (i1, i32, si8, ui16, index, none)
// CHECK: "t.f"() : () -> (f16, bf16, f32, f64, f8E4M3FN, f8E5M2, tf32)
%f:7 = "t.f"() : () -> (f16, bf16, f32, f64, f8E4M3FN, f8E5M2, tf32)
// CHECK: "t.t"() : () -> (tensor<f32>, tensor<0x10xi32>, tensor<4x8x?xf32>, tensor<*xf32>, tensor<2xf32, #e.x<"y">>, tensor<2xf32, {a = 1}>)
%t:6 = "t.t"() : () -> (tensor<f32>, tensor<0x10xi32>, tensor<4x 8 x ? xf32>, tensor<*xf32>, tensor<2xf32, #e.x<"y">>, tensor<2xf32, {a = 1}>)
// CHECK: "t.c"() : () -> (vector<4xf32>, memref<2x3xf32>, complex<f32>, tuple<>, tuple<i32, f32>)
%c:5 = "t.c"() : () -> (vector<4xf32>, memref<2x3xf32>, complex<f32>, tuple<>, tuple<i32, f32>)
// CHECK: "t.fn"() {a = () -> (), b = ((i32) -> i32) -> (f32, f64)} : () -> tensor<4x?xf32>
%fn = "t.fn"() {a = () -> (), b = ((i32) -> i32) -> (f32, f64)} : () -> !alias
// CHECK: "t.d"() : () -> (!d.t, !d.t<a x b>, !d<"x y">, !d.t<valid / mlir // syntax>, !d.plain)
%d:5 = "t.d"() : () -> (!d.t, !d.t<a x b>, !d<"x y">, !d.t<valid / mlir // syntax>, !d<plain>)
// CHECK: "t.float"() {a = [f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E5M2, f8E4M3, f8E4M3FN, f8E5M2FNUZ, f8E4M3FNUZ, f8E4M3B11FNUZ, f8E3M4, f8E8M0FNU, tf32, bf16, f80, f128]} : () -> ()
"t.float"() {a = [f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E5M2, f8E4M3, f8E4M3FN, f8E5M2FNUZ, f8E4M3FNUZ, f8E4M3B11FNUZ, f8E3M4, f8E8M0FNU, tf32, bf16, f80, f128]} : () -> ()
// CHECK: "t.vector"() {a = [vector<f32>, vector<4x[8]xindex>, vector<[2]x[4]xi1>, vector<2x4xf16>]} : () -> ()
"t.vector"() {a = [vector<f32>, vector<4x[8]xindex>, vector<[2]x[4]xi1>, vector<2x4xf16>]} : () -> ()
// CHECK: "t.memref"() {a = [memref<2xf32>, memref<2xf32, 1>, memref<2xf32, 1 : i32>, memref<*xf32, 2>, memref<2x3xf32, strided<[3, 1], offset: ?>, "hbm">, memref<2xmemref<*xf32>>, memref<2x3xf32, {a = 1}>, memref<2x3xf32, strided<[3, 1]>>]} : () -> ()
"t.memref"() {a = [memref<2xf32, affine_map<(i) -> (i)>, 0>, memref<2xf32, 1>, memref<2xf32, 1 : i32>, memref<*xf32, 2>, memref<2x3xf32, strided<[3, 1], offset: ?>, "hbm">, memref<2xmemref<*xf32>>, memref<2x3xf32, {a = 1}>, memref<2x3xf32, strided<[3, 1], offset: 0>>]} : () -> ()
// CHECK: "t.nested"() {a = () -> (() -> ()), b = tuple<i32, tuple<>>, c = tensor<2xvector<2xf32>>, d = tensor<2xf32, 1>} : () -> ()
"t.nested"() {a = () -> (() -> ()), b = tuple<i32, tuple<>>, c = tensor<2xvector<2xf32>>, d = tensor<2xf32, 1>} : () -> ()
