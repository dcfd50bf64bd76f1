// RUN: piper-opt --canonicalize %s | FileCheck %s
// The output is compared with mlir-opt.

func.func @integers(%x: i8, %y: i64) -> (i64, i64, i8, i32, i32, index, i16) {
  %a = arith.extui %x : i8 to i32
  %0 = arith.extui %a : i32 to i64
  %1 = arith.extsi %a : i32 to i64
  %2 = arith.trunci %0 : i64 to i8
  %b = arith.extsi %x : i8 to i64
  %3 = arith.trunci %b : i64 to i32
  %c32 = arith.constant 32 : i64
  %s = arith.shrsi %y, %c32 : i64
  %4 = arith.trunci %s : i64 to i32
  %5 = arith.index_cast %b : i64 to index
  %c300 = arith.constant 300 : i32
  %t = arith.trunci %c300 : i32 to i8
  %6 = arith.extsi %t : i8 to i16
  func.return %0, %1, %2, %3, %4, %5, %6 : i64, i64, i8, i32, i32, index, i16
}

// 16777217 is not a float; the conversion rounds to even. 0.1 does not fit bf16, so it is left to run time.
func.func @floats(%x: f32) -> (f32, i8, i8, f64, bf16, bf16, f32, i32) {
  %big = arith.constant 16777217 : i32
  %a = arith.constant -3.75 : f32
  %b = arith.constant 300.0 : f32
  %tenth = arith.constant 0.1 : f32
  %half = arith.constant 0.5 : f32
  %0 = arith.sitofp %big : i32 to f32
  %1 = arith.fptosi %a : f32 to i8
  %2 = arith.fptosi %b : f32 to i8
  %3 = arith.extf %tenth : f32 to f64
  %4 = arith.truncf %tenth : f32 to bf16
  %5 = arith.truncf %half : f32 to bf16
  %w = arith.extf %x : f32 to f64
  %6 = arith.truncf %w : f64 to f32
  %7 = arith.bitcast %half : f32 to i32
  func.return %0, %1, %2, %3, %4, %5, %6, %7 : f32, i8, i8, f64, bf16, bf16, f32, i32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @integers(%x: i8, %y: i64) -> (i64, i64, i8, i32, i32, index, i16) {
// CHECK-NEXT:     %0 = arith.constant 44 : i16
// CHECK-NEXT:     %c32 = arith.constant 32
// CHECK-NEXT:     %1 = arith.extui %x : i8 to i64
// CHECK-NEXT:     %2 = arith.extui %x : i8 to i64
// CHECK-NEXT:     %3 = arith.extsi %x : i8 to i32
// CHECK-NEXT:     %4 = arith.shrui %y, %c32 : i64
// CHECK-NEXT:     %5 = arith.trunci %4 : i64 to i32
// CHECK-NEXT:     %6 = arith.index_cast %x : i8 to index
// CHECK-NEXT:     func.return %1, %2, %x, %3, %5, %6, %0 : i64, i64, i8, i32, i32, index, i16
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @floats(%x: f32) -> (f32, i8, i8, f64, bf16, bf16, f32, i32) {
// CHECK-NEXT:     %0 = arith.constant 1056964608 : i32
// CHECK-NEXT:     %1 = arith.constant 5.000000e-01 : bf16
// CHECK-NEXT:     %2 = arith.constant 0.10000000149011612
// CHECK-NEXT:     %b = arith.constant 3.000000e+02 : f32
// CHECK-NEXT:     %tenth = arith.constant 1.000000e-01 : f32
// CHECK-NEXT:     %3 = arith.constant 0x4B800000 : f32
// CHECK-NEXT:     %4 = arith.constant -3 : i8
// CHECK-NEXT:     %5 = arith.fptosi %b : f32 to i8
// CHECK-NEXT:     %6 = arith.truncf %tenth : f32 to bf16
// CHECK-NEXT:     func.return %3, %4, %5, %2, %6, %1, %x, %0 : f32, i8, i8, f64, bf16, bf16, f32, i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
