// RUN: piper-opt --dce %s | FileCheck %s

func.func @f(%x: i32, %c: i1) -> i32 {
  %0 = arith.addi %x, %x : i32
  %1 = arith.muli %0, %0 : i32
  cf.br ^head(%x, %1 : i32, i32)
^head(%v: i32, %i: i32):
  %2 = arith.addi %i, %i : i32
  cf.cond_br %c, ^head(%v, %2 : i32, i32), ^end
^lost:
  cf.br ^end
^end:
  func.return %v : i32
}

// It may not end, or may write: it stays.
func.func @calls(%x: i32, %x2: i1) -> i32 {
  %0 = func.call @f(%x, %x2) : (i32, i1) -> i32
  func.return %x : i32
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @f(%x: i32, %c: i1) -> i32 {
// CHECK-NEXT:     cf.br ^bb1(%x : i32)
// CHECK-NEXT:   ^bb1(%v: i32):
// CHECK-NEXT:     cf.cond_br %c, ^bb1(%v : i32), ^bb2
// CHECK-NEXT:   ^bb2:
// CHECK-NEXT:     func.return %v : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @calls(%x: i32, %x2: i1) -> i32 {
// CHECK-NEXT:     %0 = func.call @f(%x, %x2) : (i32, i1) -> i32
// CHECK-NEXT:     func.return %x : i32
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
