// RUN: piper-opt --inline %s | FileCheck %s
// The output is compared with mlir-opt.

// One block, several blocks, calls in what is called, recursion.

func.func private @twice(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  func.return %0 : i32
}
func.func private @four_times(%x: i32) -> i32 {
  %0 = func.call @twice(%x) : (i32) -> i32
  %1 = func.call @twice(%0) : (i32) -> i32
  func.return %1 : i32
}
func.func private @magnitude(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %negative = arith.cmpi slt, %x, %c0 : i32
  cf.cond_br %negative, ^flip, ^keep
^flip:
  %0 = arith.subi %c0, %x : i32
  func.return %0 : i32
^keep:
  func.return %x : i32
}
func.func private @even(%x: i32) -> i32 {
  %0 = func.call @odd(%x) : (i32) -> i32
  func.return %0 : i32
}
func.func private @odd(%x: i32) -> i32 {
  %0 = func.call @even(%x) : (i32) -> i32
  func.return %0 : i32
}
func.func private @declared(i32) -> i32
func.func @main(%x: i32) -> (i32, i32, i32) {
  %0 = func.call @four_times(%x) : (i32) -> i32
  %1 = func.call @magnitude(%0) : (i32) -> i32
  %2 = arith.muli %1, %1 : i32
  %3 = func.call @even(%2) : (i32) -> i32
  %4 = func.call @declared(%3) : (i32) -> i32
  func.return %2, %3, %4 : i32, i32, i32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func private @even(%x: i32) -> i32 {
// CHECK-NEXT:     %0 = func.call @odd(%x) : (i32) -> i32
// CHECK-NEXT:     func.return %0 : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @odd(%x: i32) -> i32 {
// CHECK-NEXT:     %0 = func.call @even(%x) : (i32) -> i32
// CHECK-NEXT:     func.return %0 : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @declared(i32) -> i32
// CHECK-NEXT:   func.func @main(%x: i32) -> (i32, i32, i32) {
// CHECK-NEXT:     %c0 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = arith.addi %x, %x : i32
// CHECK-NEXT:     %1 = arith.addi %0, %0 : i32
// CHECK-NEXT:     %negative = arith.cmpi slt, %1, %c0 : i32
// CHECK-NEXT:     cf.cond_br %negative, ^bb1, ^bb2(%1 : i32)
// CHECK-NEXT:   ^bb1:
// CHECK-NEXT:     %2 = arith.subi %c0, %1 : i32
// CHECK-NEXT:     cf.br ^bb2(%2 : i32)
// CHECK-NEXT:   ^bb2(%arg0: i32):
// CHECK-NEXT:     %3 = arith.muli %arg0, %arg0 : i32
// CHECK-NEXT:     %4 = func.call @even(%3) : (i32) -> i32
// CHECK-NEXT:     %5 = func.call @declared(%4) : (i32) -> i32
// CHECK-NEXT:     func.return %3, %4, %5 : i32, i32, i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
