// Results, packs, operands, attributes, successors: the parts of an operation.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect --mlir-print-op-generic %s | piper-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: module {
"t.none"() : () -> ()
// CHECK-NEXT: "t.none"() : () -> ()
%0 = "t.one"() : () -> i32
// CHECK-NEXT: %0 = "t.one"() : () -> i32
%1 = "t.one"() : () -> (i32)
// CHECK-NEXT: %1 = "t.one"() : () -> i32
%two:2 = "t.pack"() : () -> (i32, f32)
// CHECK-NEXT: %two:2 = "t.pack"() : () -> (i32, f32)
%a, %b = "t.names"(%two#1, %two) : (f32, i32) -> (i32, i64)
// CHECK-NEXT: %a, %b = "t.names"(%two#1, %two#0) : (f32, i32) -> (i32, i64)
%x:2, %y = "t.both"() : () -> (i32, i32, i32)
"t.use"(%x#1, %x, %y) : (i32, i32, i32) -> ()
// CHECK: "t.use"(%{{.*}}#1, %{{.*}}, %{{.*}}) : (i32, i32, i32) -> ()
"t.attrs"() {z = 1, a, "two words" = "x"} : () -> ()
// CHECK-NEXT: "t.attrs"() {a, "two words" = "x", z = 1} : () -> ()
"t.properties"() <{p = 1 : i8}> ({}) {q = 2} : () -> ()
// CHECK-NEXT: "t.properties"() <{p = 1 : i8}> ({
// CHECK-NEXT: }) {q = 2} : () -> ()
"no_dialect"() : () -> () "t.same_line"() : () -> ()
// CHECK-NEXT: "no_dialect"() : () -> ()
// CHECK-NEXT: "t.same_line"() : () -> ()
