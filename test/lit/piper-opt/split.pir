// Parts are files of their own; their results are joined by the same line.
// RUN: piper-opt --allow-unregistered-dialect --split-input-file %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect --split-input-file %s | piper-opt --allow-unregistered-dialect --split-input-file | FileCheck %s
%a = "t.a"() : () -> i32
// -----
%a = "t.b"() : () -> i32
// CHECK: "t.a"
// CHECK: // -----
// CHECK: "t.b"
