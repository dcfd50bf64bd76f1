// Every attribute.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

#alias = {k = [1, "two"]}
// CHECK: "t.int"() {a = 16 : i8, b = -1 : i8, c = true, d = false, e = -1, f = 3 : ui8, g = 4 : index} : () -> ()
"t.int"() {a = 0x10 : i8, b = 255 : i8, c = true, d = 0 : i1, e = -1, f = 3 : ui8, g = 4 : index} : () -> ()
// CHECK: "t.float"() {a = 1.000000e+00, b = 0x7F800000 : f32, c = 1.000000e-01 : f32, d = 3.007810e-01 : bf16, e = -0.000000e+00 : f32} : () -> ()
"t.float"() {a = 1.0, b = 0x7F800000 : f32, c = 0.1 : f32, d = 0.3 : bf16, e = -0.0 : f32} : () -> ()
// CHECK: "t.str"() {a = "tab\09q\22b\\ nl\0A \C3\A9", b = ""} : () -> ()
"t.str"() {a = "tab\tq\"b\\ nl\n é", b = ""} : () -> ()
// CHECK: "t.sym"() {a = @f, b = @f::@"g h", c = @"1a"} : () -> ()
"t.sym"() {a = @f, b = @f::@"g h", c = @"1a"} : () -> ()
// CHECK: "t.list"() {a = [], b = [1, 2.000000e+00, [i32]], c = {}, d = {x, y = 1}, e = {k = [1, "two"]}} : () -> ()
"t.list"() {a = [], b = [1, 2.0, [i32]], c = {}, d = {y = 1, x = unit}, e = #alias} : () -> ()
// CHECK: "t.dense"() {a = array<i64>, b = array<i32: 1, -2>, c = array<f32: 1.000000e+00>, d = array<i1: true, false>} : () -> ()
"t.dense"() {a = array<i64>, b = array<i32: 1, -2>, c = array<f32: 1.0>, d = array<i1: true, false>} : () -> ()
// CHECK: "t.elements"() {a = dense<1.000000e+00> : tensor<2xf32>, b = dense<[1, 2]> : tensor<2xi32>} : () -> ()
"t.elements"() {a = dense<1.0> : tensor<2xf32>, b = dense<[1, 2]> : tensor<2xi32>} : () -> ()
// CHECK: "t.opaque"() {a = #d.x, b = #d.x<y -> "}">, c = #d<1x>, d = #d.x : i32} : () -> ()
"t.opaque"() {a = #d.x, b = #d.x<y -> "}">, c = #d<1x>, d = #d.x : i32} : () -> ()
