// The operations of the dialect themselves, and the listing of what a file defines.
// RUN: piper-opt --verify-roundtrip %S/Inputs/cmath.pir | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %S/Inputs/cmath.pir | piper-opt | FileCheck %s
// RUN: piper-opt --load-dialect %S/Inputs/cmath.pir --show-dialects | FileCheck %s --check-prefix=LIST

// CHECK: irdl.dialect @cmath attributes {piper.summary = "Complex numbers."} {
// CHECK: irdl.type @complex attributes
// CHECK: irdl.any_of(%{{.*}}, %{{.*}})
// CHECK-NEXT: irdl.parameters(elem: %{{.*}})
// CHECK: irdl.attribute @rounding {
// CHECK-NEXT: irdl.base "#builtin.string"
// CHECK: irdl.parametric @cmath::@complex<%{{.*}}>
// CHECK-NEXT: irdl.operands(lhs: %{{.*}}, rhs: %{{.*}})
// CHECK: irdl.attributes {"rounding" = %{{.*}}}
// CHECK: irdl.operands(first: %{{.*}}, rest: variadic %{{.*}}, start: optional %{{.*}})
// CHECK: irdl.region(%{{.*}}) with size 1

// LIST: cmath: Complex numbers.
// LIST-NEXT: cmath.mul
// LIST-SAME: The product of two complex numbers.
// LIST: !cmath.complex
// LIST: #cmath.rounding
