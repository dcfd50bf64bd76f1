// What Piper prints in the generic form, LLVM's own tool reads and gives back.
// REQUIRES: mlir-opt-22
// RUN: piper-opt --allow-unregistered-dialect %S/operations.pir > %t.ours
// RUN: piper-opt --allow-unregistered-dialect --mlir-print-op-generic %S/operations.pir | mlir-opt-22 --allow-unregistered-dialect --mlir-print-op-generic | FileCheck %s

// CHECK: "builtin.module"() ({
// CHECK: "t.none"() : () -> ()
// CHECK: %[[N:.*]]:2 = "t.pack"() : () -> (i32, f32)
// CHECK: "t.names"(%[[N]]#1, %[[N]]#0) : (f32, i32) -> (i32, i64)
// CHECK: "t.attrs"() {a, "two words" = "x", z = 1 : i64} : () -> ()
