// Regions, blocks, arguments, branches, uses before definitions.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: module {
// CHECK-NEXT: "t.empty"() ({
// CHECK-NEXT: }, {
// CHECK-NEXT: }) : () -> ()
"t.empty"() ({}, {}) : () -> ()

// CHECK-NEXT: "t.loop"() ({
// CHECK-NEXT:   %a = "t.start"() : () -> i32
// CHECK-NEXT:   "t.jump"(%a)[^bb1] : (i32) -> ()
// CHECK-NEXT: ^bb1:
// CHECK-NEXT:   "t.choose"(%a)[^bb1, ^bb2] : (i32) -> ()
// CHECK-NEXT: ^bb2:
// CHECK-NEXT:   "t.end"() : () -> ()
// CHECK-NEXT: }) : () -> ()
"t.loop"() ({
  %a = "t.start"() : () -> i32
  "t.jump"(%a)[^again] : (i32) -> ()
^again:
  "t.choose"(%a)[^again, ^done] : (i32) -> ()
^done:
  "t.end"() : () -> ()
}) : () -> ()

// CHECK-NEXT: "t.args"() ({
// CHECK-NEXT: ^bb0(%x: i32, %arg1: tensor<4xf32>):
// CHECK-NEXT:   "t.use"(%arg1, %x) : (tensor<4xf32>, i32) -> ()
// CHECK-NEXT: }) : () -> ()
"t.args"() ({
^entry(%x: i32, %1: tensor<4xf32> loc("arg")):
  "t.use"(%1, %x) : (tensor<4xf32>, i32) -> ()
}) : () -> ()

// A region with one block is a graph: a value may be used before its line.
// CHECK-NEXT: "t.graph"() ({
// CHECK-NEXT:   %p = "t.f"(%q) : (i32) -> i32
// CHECK-NEXT:   %q = "t.f"(%p) : (i32) -> i32
// CHECK-NEXT: }) : () -> ()
"t.graph"() ({
  %p = "t.f"(%q) : (i32) -> i32
  %q = "t.f"(%p) : (i32) -> i32
}) : () -> ()
