// RUN: piper-opt --symbol-dce %s | FileCheck %s
// The output is compared with mlir-opt.

func.func private @unused() {
  func.return
}
func.func private @used_by_unused() {
  func.return
}
func.func private @unused_too() {
  func.call @used_by_unused() : () -> ()
  func.call @unused_too() : () -> ()
  func.return
}
func.func private @used() {
  func.call @used_deeper() : () -> ()
  func.return
}
func.func private @used_deeper()
func.func @public() attributes {names = [{key = @in_attribute}]} {
  func.call @used() : () -> ()
  func.return
}
func.func private @in_attribute()
module @inner {
  func.func private @unused_inside()
  func.func nested @nested() {
    func.return
  }
  func.func @main() {
    func.return
  }
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func private @used() {
// CHECK-NEXT:     func.call @used_deeper() : () -> ()
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @used_deeper()
// CHECK-NEXT:   func.func @public() attributes {names = [{key = @in_attribute}]} {
// CHECK-NEXT:     func.call @used() : () -> ()
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @in_attribute()
// CHECK-NEXT:   module @inner {
// CHECK-NEXT:     func.func @main() {
// CHECK-NEXT:       func.return
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
