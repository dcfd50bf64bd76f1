// A diagnostic shows its line, its word, and the other place it speaks of.
// RUN: not piper-opt --allow-unregistered-dialect < %s 2>&1 | FileCheck %s
%first = "t.a"() : () -> i32
"t.use"(%first) : (f32) -> ()

// CHECK: error: use of '%first' expects type f32, but it has type i32
// CHECK-NEXT: --> <stdin>:4:9
// CHECK: "t.use"(%first) : (f32) -> ()
// CHECK: ^^^^^^
// CHECK: note: defined here
// CHECK-NEXT: --> <stdin>:3:1
// CHECK: %first = "t.a"() : () -> i32
