// RUN: piper-opt --canonicalize %s | FileCheck %s
// The output is compared with mlir-opt.

func.func @compare(%x: i32, %a: i8, %b: i8, %f: f32) -> (i1, i1, i1, i1, i1, i1) {
  %c5 = arith.constant 5 : i32
  %nan = arith.constant 0x7FC00000 : f32
  %true = arith.constant true
  %0 = arith.cmpi slt, %c5, %x : i32
  %1 = arith.cmpi uge, %x, %x : i32
  %2 = arith.xori %0, %true : i1
  %ea = arith.extsi %a : i8 to i32
  %eb = arith.extsi %b : i8 to i32
  %3 = arith.cmpi eq, %ea, %eb : i32
  %4 = arith.cmpf olt, %f, %nan : f32
  %5 = arith.cmpf une, %f, %nan : f32
  func.return %0, %1, %2, %3, %4, %5 : i1, i1, i1, i1, i1, i1
}

func.func @select(%c: i1, %d: i1, %x: i32, %y: i32) -> (i32, i32, i32, i1, i32, i32, i32, i32) {
  %true = arith.constant true
  %false = arith.constant false
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %0 = arith.select %true, %x, %y : i32
  %1 = arith.select %c, %x, %x : i32
  %n = arith.xori %c, %true : i1
  %2 = arith.select %n, %x, %y : i32
  %3 = arith.select %c, %false, %true : i1
  %4 = arith.select %c, %c1, %c0 : i32
  %eq = arith.cmpi eq, %x, %y : i32
  %5 = arith.select %eq, %x, %y : i32
  %s = arith.select %d, %x, %y : i32
  %6 = arith.addi %s, %s : i32
  %t = arith.select %c, %x, %y : i32
  %7 = arith.select %c, %t, %c0 : i32
  func.return %0, %1, %2, %3, %4, %5, %6, %7 : i32, i32, i32, i1, i32, i32, i32, i32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @compare(%x: i32, %a: i8, %b: i8, %f: f32) -> (i1, i1, i1, i1, i1, i1) {
// CHECK-NEXT:     %0 = arith.constant false
// CHECK-NEXT:     %1 = arith.constant true
// CHECK-NEXT:     %c5 = arith.constant 5 : i32
// CHECK-NEXT:     %2 = arith.cmpi sgt, %x, %c5 : i32
// CHECK-NEXT:     %3 = arith.cmpi sle, %x, %c5 : i32
// CHECK-NEXT:     %4 = arith.cmpi eq, %a, %b : i8
// CHECK-NEXT:     func.return %2, %1, %3, %4, %0, %1 : i1, i1, i1, i1, i1, i1
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @select(%c: i1, %d: i1, %x: i32, %y: i32) -> (i32, i32, i32, i1, i32, i32, i32, i32) {
// CHECK-NEXT:     %0 = arith.constant true
// CHECK-NEXT:     %c0 = arith.constant 0 : i32
// CHECK-NEXT:     %1 = arith.select %c, %y, %x : i32
// CHECK-NEXT:     %2 = arith.xori %c, %0 : i1
// CHECK-NEXT:     %3 = arith.extui %c : i1 to i32
// CHECK-NEXT:     %s = arith.select %d, %x, %y : i32
// CHECK-NEXT:     %4 = arith.addi %s, %s : i32
// CHECK-NEXT:     %5 = arith.select %c, %x, %c0 : i32
// CHECK-NEXT:     func.return %x, %x, %1, %2, %3, %y, %4, %5 : i32, i32, i32, i1, i32, i32, i32, i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
