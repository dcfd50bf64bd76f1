// A dialect that is data reads, prints and verifies as a built-in one.
// RUN: piper-opt --load-dialect %S/Inputs/cmath.pir --verify-roundtrip %s | FileCheck %s
// RUN: piper-opt --irdl-file=%S/Inputs/cmath.pir --mlir-print-op-generic %s | FileCheck %s --check-prefix=GENERIC
// RUN: piper-opt --load-dialect %S/Inputs/cmath.pir --mlir-print-op-generic %s | piper-opt --load-dialect %S/Inputs/cmath.pir | FileCheck %s

// CHECK-LABEL: func.func @f(%a: !cmath.complex<f32>, %b: !cmath.complex<f64>) -> f32
// GENERIC-LABEL: sym_name = "f"
func.func @f(%a: !cmath.complex<f32>, %b: !cmath.complex<f64>) -> f32 {
  // CHECK-NEXT: %c = cmath.mul %a, %a : !cmath.complex<f32>
  // GENERIC: "cmath.mul"(%{{.*}}, %{{.*}}) : (!cmath.complex<f32>, !cmath.complex<f32>) -> !cmath.complex<f32>
  %c = cmath.mul %a, %a : !cmath.complex<f32>
  // CHECK-NEXT: %d = cmath.mul %b, %b {note = "kept"} : !cmath.complex<f64>
  %d = cmath.mul %b, %b {note = "kept"} : !cmath.complex<f64>
  // CHECK-NEXT: %n = cmath.norm %c : !cmath.complex<f32>
  // GENERIC: "cmath.norm"(%{{.*}}) : (!cmath.complex<f32>) -> f32
  %n = cmath.norm %c : !cmath.complex<f32>
  // CHECK-NEXT: cmath.norm %d rounding #cmath.rounding<"up"> : !cmath.complex<f64>
  %m = cmath.norm %d rounding #cmath.rounding<"up"> : !cmath.complex<f64>
  // CHECK-NEXT: "cmath.sum"(%a, %a, %a) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (!cmath.complex<f32>, !cmath.complex<f32>, !cmath.complex<f32>) -> !cmath.complex<f32>
  %s = "cmath.sum"(%a, %a, %a) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (!cmath.complex<f32>, !cmath.complex<f32>, !cmath.complex<f32>) -> !cmath.complex<f32>
  // CHECK-NEXT: cmath.repeat 4 {
  cmath.repeat 4 {
  ^bb0(%i: index):
  }
  // CHECK: return %n : f32
  func.return %n : f32
}
