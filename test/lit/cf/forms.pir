// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | piper-opt | FileCheck %s

func.func @forms(%c: i1, %x: i32, %y: f32) {
  cf.cond_br %c weights([3, 4]), ^bb1(%x : i32), ^bb2
^bb1(%z: i32):
  cf.switch %z : i32, [
    default: ^bb2,
    42: ^bb3(%x, %y : i32, f32),
    -7: ^bb2
  ]
^bb2:
  cf.assert %c, "a message"
  cf.br ^bb3(%x, %y : i32, f32) {note = 1}
^bb3(%q: i32, %r: f32):
  func.return
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @forms(%c: i1, %x: i32, %y: f32) {
// CHECK-NEXT:     cf.cond_br %c weights([3, 4]), ^bb1(%x : i32), ^bb2
// CHECK-NEXT:   ^bb1(%z: i32):
// CHECK-NEXT:     cf.switch %z : i32, [
// CHECK-NEXT:       default: ^bb2,
// CHECK-NEXT:       42: ^bb3(%x, %y : i32, f32),
// CHECK-NEXT:       -7: ^bb2
// CHECK-NEXT:     ]
// CHECK-NEXT:   ^bb2:
// CHECK-NEXT:     cf.assert %c, "a message"
// CHECK-NEXT:     cf.br ^bb3(%x, %y : i32, f32) {note = 1}
// CHECK-NEXT:   ^bb3(%q: i32, %r: f32):
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
