// What is written once under a name: maps, sets, distinct attributes and long tuples before the module, locations behind it.
// RUN: piper-opt --allow-unregistered-dialect --mlir-print-debuginfo %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect --mlir-print-debuginfo %s | piper-opt --allow-unregistered-dialect --mlir-print-debuginfo | FileCheck %s

// CHECK: !tuple = tuple<i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1>
// CHECK-NEXT: #distinct = distinct[0]<"x">
// CHECK-NEXT: #loc{{[0-9]*}} = loc("f":1:2 to :4)
// CHECK-NEXT: #map = affine_map<(d0) -> (d0 + 1)>
// CHECK: "t.a"() ({
// CHECK-NEXT: ^bb0(%arg0: i32 loc(#[[ARG:loc[0-9]*]])):
// CHECK-NEXT: "t.b"() {a = #map} : () -> () loc(#[[Y:loc[0-9]*]])
// CHECK-NEXT: }) {a = #distinct, b = #distinct, c = distinct[1]<>, d = #loc{{[0-9]*}}} : () -> !tuple loc(#[[FUSED:loc[0-9]*]])
// CHECK-DAG: #[[ARG]] = loc("arg")
// CHECK-DAG: #[[Y]] = loc("y")
// CHECK-DAG: #[[A:loc[0-9]*]] = loc("a")
// CHECK-DAG: #[[F:loc[0-9]*]] = loc("f":3:4)
// CHECK-DAG: #[[CALL:loc[0-9]*]] = loc(callsite(#[[A]] at #[[F]]))
// CHECK-DAG: #[[FUSED]] = loc(fused<#map>[#[[A]], #[[CALL]]])
module {
  %0 = "t.a"() ({
  ^bb0(%arg0: i32 loc("arg")):
    "t.b"() {a = affine_map<(i) -> (i + 1)>} : () -> () loc(#y)
  }) {a = distinct[7]<"x">, b = distinct[7]<"x">, c = distinct[3]<>, d = loc("f":1:2 to :4)} : () -> tuple<i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1> loc(fused<affine_map<(d0) -> (d0 + 1)>>["a", callsite("a" at "f":3:4)])
} loc("root")
#y = loc("y")
