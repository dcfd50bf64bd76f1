// RUN: piper-opt --canonicalize %s | FileCheck %s
// The output is compared with mlir-opt.

// IEEE 754: -0 is the neutral element of addition, 0 that of subtraction; 0 x is 0 only where flags say so.

func.func @identities(%x: f32) -> (f32, f32, f32, f32, f32, f32, f32) {
  %p0 = arith.constant 0.0 : f32
  %m0 = arith.constant -0.0 : f32
  %c1 = arith.constant 1.0 : f32
  %0 = arith.addf %x, %m0 : f32
  %1 = arith.addf %x, %p0 : f32
  %2 = arith.subf %x, %p0 : f32
  %3 = arith.mulf %x, %c1 : f32
  %4 = arith.mulf %x, %p0 : f32
  %5 = arith.mulf %x, %p0 fastmath<nnan,nsz> : f32
  %n = arith.negf %x : f32
  %6 = arith.negf %n : f32
  func.return %0, %1, %2, %3, %4, %5, %6 : f32, f32, f32, f32, f32, f32, f32
}

func.func @constants() -> (f32, f16, f64, f32, f32, f32) {
  %third = arith.constant 0.333333343 : f32
  %three = arith.constant 3.0 : f32
  %big = arith.constant 60000.0 : f16
  %a = arith.constant 5.5 : f64
  %b = arith.constant -2.0 : f64
  %nan = arith.constant 0x7FC00000 : f32
  %0 = arith.mulf %third, %three : f32
  %1 = arith.addf %big, %big : f16
  %2 = arith.remf %a, %b : f64
  %3 = arith.maximumf %three, %nan : f32
  %4 = arith.maxnumf %three, %nan : f32
  %5 = arith.divf %three, %third : f32
  func.return %0, %1, %2, %3, %4, %5 : f32, f16, f64, f32, f32, f32
}

func.func @signs(%x: f32, %y: f32) -> f32 {
  %a = arith.negf %x : f32
  %b = arith.negf %y : f32
  %0 = arith.mulf %a, %b : f32
  func.return %0 : f32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @identities(%x: f32) -> (f32, f32, f32, f32, f32, f32, f32) {
// CHECK-NEXT:     %p0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %0 = arith.addf %x, %p0 : f32
// CHECK-NEXT:     %1 = arith.mulf %x, %p0 : f32
// CHECK-NEXT:     func.return %x, %0, %x, %x, %1, %p0, %x : f32, f32, f32, f32, f32, f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @constants() -> (f32, f16, f64, f32, f32, f32) {
// CHECK-NEXT:     %three = arith.constant 3.000000e+00 : f32
// CHECK-NEXT:     %0 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     %1 = arith.constant 0x7C00 : f16
// CHECK-NEXT:     %2 = arith.constant 1.500000e+00
// CHECK-NEXT:     %3 = arith.constant 0x7FC00000 : f32
// CHECK-NEXT:     %4 = arith.constant 9.000000e+00 : f32
// CHECK-NEXT:     func.return %0, %1, %2, %3, %three, %4 : f32, f16, f64, f32, f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @signs(%x: f32, %y: f32) -> f32 {
// CHECK-NEXT:     %0 = arith.mulf %x, %y : f32
// CHECK-NEXT:     func.return %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
