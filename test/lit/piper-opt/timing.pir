// Where the time went: in the shape of the pipeline, or as a list; as a table or as JSON.
// RUN: piper-opt %s --mlir-disable-threading --pass-pipeline='builtin.module(func.func(cse,canonicalize),cse)' --mlir-timing 2>&1 >%t.out | FileCheck %s --check-prefix=TREE
// RUN: piper-opt %s --mlir-disable-threading --pass-pipeline='builtin.module(func.func(cse,canonicalize),cse)' --mlir-timing --mlir-timing-display=list 2>&1 >%t.out | FileCheck %s --check-prefix=LIST
// RUN: piper-opt %s --mlir-disable-threading --pass-pipeline='builtin.module(func.func(cse,canonicalize),cse)' --mlir-timing --mlir-output-format=json 2>&1 >%t.out | FileCheck %s --check-prefix=JSON
// TREE: ... Execution time report ...
// TREE: Total Execution Time: {{[0-9.]+}} seconds
// TREE: ----Wall Time----  ----Name----
// TREE-NEXT: {{%\)}}  Parser
// TREE-NEXT: {{%\)}}  Verifier
// TREE-NEXT: {{%\)}}  'func.func' Pipeline
// TREE-NEXT: {{%\)}}    cse
// TREE-NEXT: {{%\)}}    (V) Verifier
// TREE-NEXT: {{%\)}}    canonicalize
// TREE-NEXT: {{%\)}}    (V) Verifier
// TREE-NEXT: {{%\)}}  cse
// TREE-NEXT: {{%\)}}  (V) Verifier
// TREE-NEXT: {{%\)}}  Output
// TREE-NEXT: {{%\)}}  Rest
// TREE-NEXT: (100.0%)  Total
// LIST-NOT: Pipeline
// LIST-DAG: {{%\)}}  cse
// LIST-DAG: {{%\)}}  canonicalize
// LIST-DAG: {{%\)}}  (V) Verifier
// LIST: {{%\)}}  Rest
// LIST-NEXT: {{%\)}}  Total
// JSON-NOT: report
// JSON: [
// JSON: "name":"Parser"
// JSON: "name":"'func.func' Pipeline"
// JSON: "name":"Total"
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
func.func @g() {
  func.return
}
