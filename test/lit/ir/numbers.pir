// Numbers of every type: rounded to the nearest, ties to even, written in six digits if these say it exactly.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: "t.small"() {a = 6.000000e+00 : f4E2M1FN, b = 7.500000e+00 : f6E2M3FN, c = 2.800000e+01 : f6E3M2FN, d = 0x7C : f8E5M2, e = 1.015630e-01 : f8E4M3, f = 0x7F : f8E4M3FN, g = 0x80 : f8E5M2FNUZ, h = 0.000000e+00 : f8E4M3FNUZ, i = 0x80 : f8E4M3B11FNUZ, j = 1.550000e+01 : f8E3M4, k = 4.000000e+00 : f8E8M0FNU} : () -> ()
"t.small"() {a = 100.0 : f4E2M1FN, b = 100.0 : f6E2M3FN, c = 100.0 : f6E3M2FN, d = 1.0e6 : f8E5M2, e = 0.1 : f8E4M3, f = 1.0e6 : f8E4M3FN, g = 1.0e6 : f8E5M2FNUZ, h = -0.0 : f8E4M3FNUZ, i = 1.0e6 : f8E4M3B11FNUZ, j = 15.4 : f8E3M4, k = 3.0 : f8E8M0FNU} : () -> ()
// CHECK: "t.large"() {a = 1.000980e+00 : f16, b = 3.007810e-01 : bf16, c = 9.99999974E-6 : f32, d = 9.9999999999999991E+22, e = -1.000000e+00 : f80, f = 0.100000000000000005551115123125782702 : f128, g = 9.997550e-02 : tf32} : () -> ()
"t.large"() {a = 1.001 : f16, b = 0.3 : bf16, c = 1.0e-5 : f32, d = 1.0e23, e = -1.0 : f80, f = 0.1 : f128, g = 0.1 : tf32} : () -> ()
// CHECK: "t.patterns"() {a = 0x7FC00001 : f32, b = 0x7FA00001 : f32, c = 0x7FF8000000000001 : f64, d = 0xFFFF : bf16, e = 0x7FF0000000000000 : f64} : () -> ()
"t.patterns"() {a = 0x7FC00001 : f32, b = 0x7FA00001 : f32, c = 0x7FF8000000000001 : f64, d = 0xFFFF : bf16, e = 1.0e400} : () -> ()
// CHECK: "t.wide"() {a = 340282366920938463463374607431768211455 : ui128, b = -170141183460469231731687303715884105728 : i128, c = 1361129467683753853853498429727072845823 : i140, d = -1 : i200, e = 5 : ui200, f = -1 : i128} : () -> ()
"t.wide"() {a = 340282366920938463463374607431768211455 : ui128, b = -170141183460469231731687303715884105728 : i128, c = 1361129467683753853853498429727072845823 : i140, d = -1 : i200, e = 5 : ui200, f = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF : i128} : () -> ()
// CHECK: "t.arrays"() {a = array<i128: -1, 170141183460469231731687303715884105727>, b = array<f16: 1.000000e+00>, c = array<i24: -1>, d = array<ui8: 255>, e = array<f80: 1.000000e+00>, f = array<f32: 0x7FC00000>} : () -> ()
"t.arrays"() {a = array<i128: -1, 170141183460469231731687303715884105727>, b = array<f16: 1.0>, c = array<i24: 0xFFFFFF>, d = array<ui8: 255>, e = array<f80: 1.0>, f = array<f32: 0x7FC00000>} : () -> ()
