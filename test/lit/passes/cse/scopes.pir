// RUN: piper-opt --cse --allow-unregistered-dialect %s | FileCheck %s
// The output is compared with mlir-opt.

// Equal operations; the order of the operands of a commutative one does not matter; attributes and types do.

func.func @equal(%x: i32, %y: i32) -> (i32, i32, i32, i32, i32, i1, i1) {
  %0 = arith.addi %x, %y : i32
  %1 = arith.addi %y, %x : i32
  %2 = arith.subi %x, %y : i32
  %3 = arith.subi %y, %x : i32
  %4 = arith.addi %x, %y overflow<nsw> : i32
  %5 = arith.cmpi slt, %x, %y : i32
  %6 = arith.cmpi sle, %x, %y : i32
  %unused = arith.muli %x, %y : i32
  func.return %0, %1, %2, %3, %4, %5, %6 : i32, i32, i32, i32, i32, i1, i1
}

// What is computed before a branch is known after it; what is computed on one way is not known on the other.
func.func @dominance(%c: i1, %x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  cf.cond_br %c, ^a, ^b
^a:
  %1 = arith.addi %x, %x : i32
  %2 = arith.muli %x, %x : i32
  %3 = arith.subi %1, %2 : i32
  cf.br ^c(%3 : i32)
^b:
  %4 = arith.muli %x, %x : i32
  cf.br ^c(%4 : i32)
^c(%z: i32):
  %5 = arith.addi %x, %x : i32
  %6 = arith.muli %x, %x : i32
  %7 = arith.addi %z, %5 : i32
  %8 = arith.addi %7, %6 : i32
  func.return %8 : i32
}

// An operation that nothing is known of may do anything: both stay, and what it is given is still merged.
func.func @unknown(%x: i32) {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  %a = "test.any"(%0) : (i32) -> i32
  %b = "test.any"(%1) : (i32) -> i32
  func.return
}

// Nothing is shared across a function.
func.func @other(%x: i32) -> i32 {
  %0 = arith.constant 1 : i32
  func.return %0 : i32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @equal(%x: i32, %y: i32) -> (i32, i32, i32, i32, i32, i1, i1) {
// CHECK-NEXT:     %0 = arith.addi %x, %y : i32
// CHECK-NEXT:     %1 = arith.subi %x, %y : i32
// CHECK-NEXT:     %2 = arith.subi %y, %x : i32
// CHECK-NEXT:     %3 = arith.addi %x, %y overflow<nsw> : i32
// CHECK-NEXT:     %4 = arith.cmpi slt, %x, %y : i32
// CHECK-NEXT:     %5 = arith.cmpi sle, %x, %y : i32
// CHECK-NEXT:     func.return %0, %0, %1, %2, %3, %4, %5 : i32, i32, i32, i32, i32, i1, i1
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @dominance(%c: i1, %x: i32) -> i32 {
// CHECK-NEXT:     cf.cond_br %c, ^bb1, ^bb2
// CHECK-NEXT:   ^bb1:
// CHECK-NEXT:     %0 = arith.addi %x, %x : i32
// CHECK-NEXT:     %1 = arith.muli %x, %x : i32
// CHECK-NEXT:     %2 = arith.subi %0, %1 : i32
// CHECK-NEXT:     cf.br ^bb3(%2 : i32)
// CHECK-NEXT:   ^bb2:
// CHECK-NEXT:     %3 = arith.muli %x, %x : i32
// CHECK-NEXT:     cf.br ^bb3(%3 : i32)
// CHECK-NEXT:   ^bb3(%z: i32):
// CHECK-NEXT:     %4 = arith.addi %x, %x : i32
// CHECK-NEXT:     %5 = arith.muli %x, %x : i32
// CHECK-NEXT:     %6 = arith.addi %z, %4 : i32
// CHECK-NEXT:     %7 = arith.addi %6, %5 : i32
// CHECK-NEXT:     func.return %7 : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @unknown(%x: i32) {
// CHECK-NEXT:     %0 = arith.addi %x, %x : i32
// CHECK-NEXT:     %a = "test.any"(%0) : (i32) -> i32
// CHECK-NEXT:     %b = "test.any"(%0) : (i32) -> i32
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @other(%x: i32) -> i32 {
// CHECK-NEXT:     %0 = arith.constant 1 : i32
// CHECK-NEXT:     func.return %0 : i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
