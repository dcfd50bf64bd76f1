// RUN: piper-opt --canonicalize --allow-unregistered-dialect %s | FileCheck %s
// The output is compared with mlir-opt.

// A known condition, a block that only goes on, two ways to one block.

func.func @known(%x: i32) -> i32 {
  %true = arith.constant true
  cf.cond_br %true, ^a(%x : i32), ^b
^a(%y: i32):
  %0 = arith.addi %y, %y : i32
  cf.br ^c(%0 : i32)
^b:
  %c1 = arith.constant 1 : i32
  cf.br ^c(%c1 : i32)
^c(%z: i32):
  func.return %z : i32
}

func.func @through(%c: i1, %x: i32, %y: i32) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^c(%x : i32)
^b:
  cf.br ^c(%y : i32)
^c(%z: i32):
  func.return %z : i32
}

func.func @switch(%x: i32) -> i32 {
  %c2 = arith.constant 2 : i32
  %c7 = arith.constant 7 : i32
  cf.switch %c2 : i32, [
    default: ^a(%x : i32),
    1: ^a(%c7 : i32),
    2: ^a(%c2 : i32)
  ]
^a(%z: i32):
  func.return %z : i32
}

func.func @condition_is_known_where_it_led(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  "test.use"(%c) : (i1) -> ()
  cf.cond_br %c, ^b, ^a2
^a2:
  "test.never"() : () -> ()
  func.return
^b:
  "test.use"(%c) : (i1) -> ()
  func.return
}

// The counter is computed for nobody; the loop itself stays.
func.func @loop(%x: i32, %c: i1) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%x, %c0 : i32, i32)
^head(%v: i32, %i: i32):
  %n = arith.addi %i, %c1 : i32
  %w = arith.muli %v, %v : i32
  cf.cond_br %c, ^head(%w, %n : i32, i32), ^end
^end:
  func.return %v : i32
}

func.func @holds() {
  %true = arith.constant true
  %false = arith.constant false
  cf.assert %true, "holds"
  cf.assert %false, "does not"
  func.return
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @known(%x: i32) -> i32 {
// CHECK-NEXT:     %0 = arith.addi %x, %x : i32
// CHECK-NEXT:     func.return %0 : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @through(%c: i1, %x: i32, %y: i32) -> i32 {
// CHECK-NEXT:     %0 = arith.select %c, %x, %y : i32
// CHECK-NEXT:     func.return %0 : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @switch(%x: i32) -> i32 {
// CHECK-NEXT:     %c2 = arith.constant 2 : i32
// CHECK-NEXT:     func.return %c2 : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @condition_is_known_where_it_led(%c: i1) {
// CHECK-NEXT:     %0 = arith.constant true
// CHECK-NEXT:     cf.cond_br %c, ^bb1, ^bb2
// CHECK-NEXT:   ^bb1:
// CHECK-NEXT:     "test.use"(%0) : (i1) -> ()
// CHECK-NEXT:     cf.br ^bb2
// CHECK-NEXT:   ^bb2:
// CHECK-NEXT:     "test.use"(%c) : (i1) -> ()
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @loop(%x: i32, %c: i1) -> i32 {
// CHECK-NEXT:     cf.br ^bb1(%x : i32)
// CHECK-NEXT:   ^bb1(%v: i32):
// CHECK-NEXT:     %w = arith.muli %v, %v : i32
// CHECK-NEXT:     cf.cond_br %c, ^bb1(%w : i32), ^bb2
// CHECK-NEXT:   ^bb2:
// CHECK-NEXT:     func.return %v : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @holds() {
// CHECK-NEXT:     %false = arith.constant false
// CHECK-NEXT:     cf.assert %false, "does not"
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
