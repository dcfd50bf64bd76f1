// What the passes counted, where they stand in the pipeline or by pass.
// RUN: piper-opt %s --pass-pipeline='builtin.module(func.func(cse),cse)' --mlir-pass-statistics 2>&1 >%t.out | FileCheck %s --check-prefix=PIPELINE
// RUN: piper-opt %s --pass-pipeline='builtin.module(func.func(cse),cse)' --mlir-pass-statistics --mlir-pass-statistics-display=list 2>&1 >%t.out | FileCheck %s --check-prefix=LIST
// PIPELINE: ... Pass statistics report ...
// PIPELINE: 'func.func' Pipeline
// PIPELINE-NEXT:   cse
// PIPELINE-NEXT:     (S) 2 num-cse'd
// PIPELINE-NEXT:     (S) 0 num-dce'd
// PIPELINE-NEXT: cse
// PIPELINE-NEXT:   (S) 0 num-cse'd
// LIST: ... Pass statistics report ...
// LIST: cse
// LIST-NEXT:   (S) 2 num-cse'd
// LIST-NEXT:   (S) 0 num-dce'd
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
func.func @g(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
