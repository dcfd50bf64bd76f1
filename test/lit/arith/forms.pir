// RUN: piper-opt %s | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | piper-opt | FileCheck %s

// Every form is read, and the generic form means the same.

func.func @f(%a: i32, %b: i32, %x: f32, %y: f32, %c: i1, %t: tensor<4xi32>, %ct: tensor<4xi1>, %i: index) {
  %0 = arith.addi %a, %b overflow<nsw, nuw> : i32
  %1 = arith.divsi %a, %b exact : i32
  %2 = arith.addf %x, %y fastmath<nnan,ninf> : f32
  %3 = arith.addf %x, %y fastmath<fast> : f32
  %4 = arith.cmpi slt, %a, %b : i32
  %5 = arith.cmpf olt, %x, %y fastmath<nnan> : f32
  %6 = arith.select %c, %a, %b : i32
  %7 = arith.select %ct, %t, %t : tensor<4xi1>, tensor<4xi32>
  %9 = arith.trunci %a overflow<nsw> : i32 to i8
  %10 = arith.truncf %x to_nearest_even : f32 to bf16
  %11 = arith.truncf %x fastmath<contract> : f32 to bf16
  %14, %15 = arith.mulsi_extended %a, %b : i32
  %16, %17 = arith.addui_extended %a, %b : i32, i1
  %18 = arith.negf %x fastmath<nsz> : f32
  %19 = arith.shrui %a, %b exact : i32
  %20 = arith.constant {foo = 1} 3 : i32
  %21 = arith.constant true
  %22 = arith.constant dense<1.0> : tensor<4xf32>
  %23 = arith.extf %x : f32 to f64
  %24 = arith.bitcast %x : f32 to i32
  %25 = arith.shli %a, %b overflow<nuw> : i32
  %26 = arith.select %c, %t, %t : tensor<4xi32>
  %27 = arith.maximumf %x, %y : f32
  %28 = arith.constant -1 : index
  %29 = arith.sitofp %a : i32 to f32
  return
}

// CHECK lines below are generated: cargo xtask bless
// CHECK:      module {
// CHECK-NEXT:   func.func @f(%a: i32, %b: i32, %x: f32, %y: f32, %c: i1, %t: tensor<4xi32>, %ct: tensor<4xi1>, %i: index) {
// CHECK-NEXT:     %0 = arith.addi %a, %b overflow<nsw, nuw> : i32
// CHECK-NEXT:     %1 = arith.divsi %a, %b exact : i32
// CHECK-NEXT:     %2 = arith.addf %x, %y fastmath<nnan,ninf> : f32
// CHECK-NEXT:     %3 = arith.addf %x, %y fastmath<fast> : f32
// CHECK-NEXT:     %4 = arith.cmpi slt, %a, %b : i32
// CHECK-NEXT:     %5 = arith.cmpf olt, %x, %y fastmath<nnan> : f32
// CHECK-NEXT:     %6 = arith.select %c, %a, %b : i32
// CHECK-NEXT:     %7 = arith.select %ct, %t, %t : tensor<4xi1>, tensor<4xi32>
// CHECK-NEXT:     %8 = arith.trunci %a overflow<nsw> : i32 to i8
// CHECK-NEXT:     %9 = arith.truncf %x to_nearest_even : f32 to bf16
// CHECK-NEXT:     %10 = arith.truncf %x fastmath<contract> : f32 to bf16
// CHECK-NEXT:     %11:2 = arith.mulsi_extended %a, %b : i32
// CHECK-NEXT:     %12:2 = arith.addui_extended %a, %b : i32, i1
// CHECK-NEXT:     %13 = arith.negf %x fastmath<nsz> : f32
// CHECK-NEXT:     %14 = arith.shrui %a, %b exact : i32
// CHECK-NEXT:     %15 = arith.constant {foo = 1} 3 : i32
// CHECK-NEXT:     %16 = arith.constant true
// CHECK-NEXT:     %17 = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:     %18 = arith.extf %x : f32 to f64
// CHECK-NEXT:     %19 = arith.bitcast %x : f32 to i32
// CHECK-NEXT:     %20 = arith.shli %a, %b overflow<nuw> : i32
// CHECK-NEXT:     %21 = arith.select %c, %t, %t : tensor<4xi32>
// CHECK-NEXT:     %22 = arith.maximumf %x, %y : f32
// CHECK-NEXT:     %23 = arith.constant -1 : index
// CHECK-NEXT:     %24 = arith.sitofp %a : i32 to f32
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  {{[^ ]}}
