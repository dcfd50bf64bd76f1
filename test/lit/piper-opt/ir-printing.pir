// IR around passes: all or some, on change or failure, one operation or the whole, on standard error or in files.
// RUN: piper-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' --mlir-print-ir-before=cse -o %t.out 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: piper-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' --mlir-print-ir-after-all -o %t.out 2>&1 | FileCheck %s --check-prefix=AFTER-ALL
// RUN: piper-opt %s --pass-pipeline='builtin.module(func.func(cse,cse))' --mlir-print-ir-after-all --mlir-print-ir-after-change -o %t.out 2>&1 | FileCheck %s --check-prefix=CHANGE
// RUN: piper-opt %s --pass-pipeline='builtin.module(func.func(cse),symbol-dce)' --mlir-print-ir-after=cse --mlir-print-ir-module-scope -o %t.out 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: piper-opt %s --pass-pipeline='builtin.module(cse)' --mlir-print-ir-after-all --print-ir-only=@g -o %t.out 2>&1 | FileCheck %s --check-prefix=ONLY
// BEFORE: // -----// IR Dump Before cse //----- //
// BEFORE-NEXT: func.func @f
// BEFORE: // -----// IR Dump Before cse //----- //
// BEFORE-NEXT: func.func @g
// BEFORE-NOT: IR Dump
// AFTER-ALL: IR Dump After cse //
// AFTER-ALL-NEXT: func.func @f
// AFTER-ALL: IR Dump After canonicalize //
// AFTER-ALL-NEXT: func.func @f
// AFTER-ALL: IR Dump After cse //
// AFTER-ALL-NEXT: func.func @g
// AFTER-ALL: IR Dump After canonicalize //
// CHANGE: IR Dump After cse //
// CHANGE-NEXT: func.func @f
// CHANGE-NOT: IR Dump
// MODULE: IR Dump After cse ('func.func' operation: @f) //
// MODULE-NEXT: module {
// MODULE: IR Dump After cse ('func.func' operation: @g) //
// MODULE-NEXT: module {
// MODULE-NOT: IR Dump
// ONLY: IR Dump After cse //
// ONLY-NEXT: func.func @g
// ONLY-NOT: @f
// RUN: piper-opt %s --pass-pipeline='builtin.module(cse,func.func(cse,canonicalize),canonicalize)' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.tree -o %t.out
// RUN: test -f %t.tree/builtin_module_no-symbol-name/0_cse.mlir
// RUN: test -f %t.tree/builtin_module_no-symbol-name/func_func_f/0_0_cse.mlir
// RUN: test -f %t.tree/builtin_module_no-symbol-name/func_func_f/0_1_canonicalize.mlir
// RUN: test -f %t.tree/builtin_module_no-symbol-name/func_func_g/0_1_canonicalize.mlir
// RUN: FileCheck %s --check-prefix=TREE --input-file=%t.tree/builtin_module_no-symbol-name/1_canonicalize.mlir
// TREE: // -----// IR Dump After canonicalize //----- //
// TREE-NEXT: module {
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
func.func @g() {
  func.return
}
