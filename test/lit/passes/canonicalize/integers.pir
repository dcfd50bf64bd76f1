// RUN: piper-opt --canonicalize %s | FileCheck %s
// The output is compared with mlir-opt.

// Identities, constants of two operations in one, and folding in the width of the type.

func.func @identities(%x: i32, %y: i32) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m1 = arith.constant -1 : i32
  %0 = arith.addi %c0, %x : i32
  %1 = arith.muli %x, %c1 : i32
  %2 = arith.muli %x, %c0 : i32
  %3 = arith.subi %x, %x : i32
  %4 = arith.andi %x, %x : i32
  %not = arith.xori %x, %m1 : i32
  %5 = arith.andi %x, %not : i32
  %6 = arith.ori %not, %x : i32
  %t = arith.addi %x, %y : i32
  %7 = arith.subi %t, %y : i32
  %u = arith.xori %x, %y : i32
  %8 = arith.xori %u, %x : i32
  %9 = arith.remsi %x, %c1 : i32
  func.return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
}

func.func @wraps() -> (i8, i8, i8, i1, i8, i8) {
  %c100 = arith.constant 100 : i8
  %cm128 = arith.constant -128 : i8
  %cm1 = arith.constant -1 : i8
  %true = arith.constant true
  %0 = arith.addi %c100, %c100 : i8
  %1 = arith.muli %c100, %c100 : i8
  %2 = arith.divui %cm1, %c100 : i8
  %3 = arith.addi %true, %true : i1
  // Undefined, so not folded.
  %4 = arith.divsi %cm128, %cm1 : i8
  %5 = arith.shrsi %cm128, %c100 : i8
  func.return %0, %1, %2, %3, %4, %5 : i8, i8, i8, i1, i8, i8
}

// A flag is dropped where the new constant wraps: x = -100, and x = 50, show why.
func.func @flags(%x: i8) -> (i8, i8, i8) {
  %c100 = arith.constant 100 : i8
  %c200 = arith.constant -56 : i8
  %c20 = arith.constant 20 : i8
  %a = arith.addi %x, %c20 overflow<nsw, nuw> : i8
  %b = arith.addi %a, %c20 overflow<nsw> : i8
  %c = arith.addi %x, %c100 overflow<nsw> : i8
  %d = arith.addi %c, %c100 overflow<nsw> : i8
  %e = arith.subi %c200, %x overflow<nuw> : i8
  %f = arith.addi %e, %c100 overflow<nuw> : i8
  func.return %b, %d, %f : i8, i8, i8
}

func.func @splats(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<2xi32>) {
  %c0 = arith.constant dense<0> : tensor<4xi32>
  %c3 = arith.constant dense<3> : tensor<2xi32>
  %ab = arith.constant dense<[1, -2]> : tensor<2xi32>
  %0 = arith.addi %x, %c0 : tensor<4xi32>
  %1 = arith.muli %ab, %c3 : tensor<2xi32>
  func.return %0, %1 : tensor<4xi32>, tensor<2xi32>
}

func.func @extended(%x: i32) -> (i32, i1, i32, i32, i32) {
  %cm1 = arith.constant -1 : i32
  %c1 = arith.constant 1 : i32
  %sum, %overflow = arith.addui_extended %cm1, %cm1 : i32, i1
  %low, %high = arith.mulsi_extended %x, %c1 : i32
  %only, %unused = arith.mului_extended %x, %x : i32
  func.return %sum, %overflow, %low, %high, %only : i32, i1, i32, i32, i32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @identities(%x: i32, %y: i32) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
// CHECK-NEXT:     %c0 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = arith.constant -1 : i32
// CHECK-NEXT:     func.return %x, %x, %c0, %c0, %x, %c0, %0, %x, %y, %c0 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @wraps() -> (i8, i8, i8, i1, i8, i8) {
// CHECK-NEXT:     %c100 = arith.constant 100 : i8
// CHECK-NEXT:     %cm128 = arith.constant -128 : i8
// CHECK-NEXT:     %cm1 = arith.constant -1 : i8
// CHECK-NEXT:     %0 = arith.constant -56 : i8
// CHECK-NEXT:     %1 = arith.constant 16 : i8
// CHECK-NEXT:     %2 = arith.constant 2 : i8
// CHECK-NEXT:     %3 = arith.constant false
// CHECK-NEXT:     %4 = arith.divsi %cm128, %cm1 : i8
// CHECK-NEXT:     %5 = arith.shrsi %cm128, %c100 : i8
// CHECK-NEXT:     func.return %0, %1, %2, %3, %4, %5 : i8, i8, i8, i1, i8, i8
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @flags(%x: i8) -> (i8, i8, i8) {
// CHECK-NEXT:     %0 = arith.constant 44 : i8
// CHECK-NEXT:     %1 = arith.constant -56 : i8
// CHECK-NEXT:     %2 = arith.constant 40 : i8
// CHECK-NEXT:     %b = arith.addi %x, %2 overflow<nsw> : i8
// CHECK-NEXT:     %d = arith.addi %x, %1 : i8
// CHECK-NEXT:     %f = arith.subi %0, %x : i8
// CHECK-NEXT:     func.return %b, %d, %f : i8, i8, i8
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @splats(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<2xi32>) {
// CHECK-NEXT:     %0 = arith.constant dense<[3, -6]> : tensor<2xi32>
// CHECK-NEXT:     func.return %x, %0 : tensor<4xi32>, tensor<2xi32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @extended(%x: i32) -> (i32, i1, i32, i32, i32) {
// CHECK-NEXT:     %sum = arith.constant -2 : i32
// CHECK-NEXT:     %overflow = arith.constant true
// CHECK-NEXT:     %0 = arith.constant 0 : i32
// CHECK-NEXT:     %1 = arith.cmpi slt, %x, %0 : i32
// CHECK-NEXT:     %high = arith.extsi %1 : i1 to i32
// CHECK-NEXT:     %2 = arith.muli %x, %x : i32
// CHECK-NEXT:     func.return %sum, %overflow, %x, %high, %2 : i32, i1, i32, i32, i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
