// How IR is written.
// RUN: piper-opt %s --allow-unregistered-dialect --mlir-print-skip-regions | FileCheck %s --check-prefix=SKIP
// SKIP: module {...}
// RUN: piper-opt %s --allow-unregistered-dialect --mlir-print-unique-ssa-ids | FileCheck %s --check-prefix=UNIQUE
// UNIQUE: %0 = "x.a"
// UNIQUE: %1 = "x.b"
// RUN: piper-opt %s --allow-unregistered-dialect --mlir-use-nameloc-as-prefix | FileCheck %s --check-prefix=NAMES
// NAMES: %first_one = "x.a"
// NAMES: %0 = "x.b"
// RUN: piper-opt %s --allow-unregistered-dialect --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDE
// ELIDE: dense_resource<__elided__> : tensor<3xi32>
// ELIDE: dense<[1, 2]> : tensor<2xi32>
// RUN: piper-opt %s --allow-unregistered-dialect --mlir-print-elementsattrs-with-hex-if-larger=2 | FileCheck %s --check-prefix=HEX
// HEX: dense<"0x010000000200000003000000"> : tensor<3xi32>
// HEX: dense<[1, 2]> : tensor<2xi32>
// RUN: piper-opt %s --allow-unregistered-dialect --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL
// LOCAL-NOT: #loc
// LOCAL: "x.a"(){{.*}} loc("first one"("f":1:2))
// RUN: piper-opt %s --allow-unregistered-dialect --verify-roundtrip -o %t.out
func.func @f() {
  %0 = "x.a"() {v = dense<[1, 2, 3]> : tensor<3xi32>} : () -> i32 loc("first one"("f":1:2))
  func.return
}
func.func @g() {
  %0 = "x.b"() {v = dense<[1, 2]> : tensor<2xi32>} : () -> i32
  func.return
}
