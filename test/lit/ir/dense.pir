// Constant tensors: written element by element, as one element if all are the same, as bytes beyond a hundred.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: "t.splat"() {a = dense<1> : tensor<2x2xi32>, b = dense<true> : tensor<9xi1>, c = dense<-1.500000e+00> : vector<4xf16>, d = dense<7> : tensor<index>} : () -> ()
"t.splat"() {a = dense<[[1, 1], [1, 1]]> : tensor<2x2xi32>, b = dense<true> : tensor<9xi1>, c = dense<-1.5> : vector<4xf16>, d = dense<7> : tensor<index>} : () -> ()
// CHECK: "t.lists"() {a = dense<{{\[\[}}1, 2, 3], [4, 5, -6]]> : tensor<2x3xi8>, b = dense<[true, false]> : tensor<2xi1>, c = dense<> : tensor<2x0xi32>, d = dense<> : tensor<0xf32>} : () -> ()
"t.lists"() {a = dense<[[1, 2, 3], [4, 5, 250]]> : tensor<2x3xi8>, b = dense<[true, 0]> : tensor<2xi1>, c = dense<[[], []]> : tensor<2x0xi32>, d = dense<> : tensor<0xf32>} : () -> ()
// CHECK: "t.complex"() {a = dense<(1.000000e+00,-2.000000e+00)> : tensor<2xcomplex<f32>>, b = dense<[(1,2), (3,4)]> : tensor<2xcomplex<i8>>} : () -> ()
"t.complex"() {a = dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>, b = dense<[(1, 2), (3, 4)]> : tensor<2xcomplex<i8>>} : () -> ()
// CHECK: "t.strings"() {a = dense<"abc"> : tensor<2x!d.str>, b = dense<["a", "b"]> : tensor<2x!d.str>} : () -> ()
"t.strings"() {a = dense<["abc", "abc"]> : tensor<2x!d.str>, b = dense<["a", "b"]> : tensor<2x!d.str>} : () -> ()
// CHECK: "t.bytes"() {a = dense<true> : tensor<2xi1>, b = dense<[true, true, false, false, false, false, false, false]> : tensor<8xi1>, c = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, d = dense<[1, 2]> : tensor<2xi8>} : () -> ()
"t.bytes"() {a = dense<"0x03"> : tensor<2xi1>, b = dense<"0x03"> : tensor<8xi1>, c = dense<"0x0000803F00000040"> : tensor<2xf32>, d = dense<"0x0102"> : tensor<2xi8>} : () -> ()
// CHECK: "t.patterns"() {a = dense<[0x7F800000, 0x7FC00001]> : tensor<2xf32>, b = dense<[1.000000e+00, 0x7C]> : tensor<2xf8E5M2>} : () -> ()
"t.patterns"() {a = dense<[0x7F800000, 0x7FC00001]> : tensor<2xf32>, b = dense<[1.0, 1.0e9]> : tensor<2xf8E5M2>} : () -> ()
// CHECK: "t.wide"() {a = dense<[-1, 1361129467683753853853498429727072845823]> : tensor<2xi140>, b = dense<340282366920938463463374607431768211455> : tensor<1xui128>} : () -> ()
"t.wide"() {a = dense<[-1, 1361129467683753853853498429727072845823]> : tensor<2xi140>, b = dense<340282366920938463463374607431768211455> : tensor<1xui128>} : () -> ()
// CHECK: "t.many"() {a = dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F6061626364"> : tensor<101xi8>} : () -> ()
"t.many"() {a = dense<"0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f6061626364"> : tensor<101xi8>} : () -> ()
// CHECK: "t.bits"() {a = dense<"0x010000000000000000000000000000000000000001"> : tensor<161xi1>} : () -> ()
"t.bits"() {a = dense<"0x010000000000000000000000000000000000000001"> : tensor<161xi1>} : () -> ()
// CHECK: "t.sparse"() {a = sparse<{{\[\[}}0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, b = sparse<0, 1> : tensor<1xi32>, c = sparse<> : tensor<2xi32>} : () -> ()
"t.sparse"() {a = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, b = sparse<0, 1> : tensor<1xi32>, c = sparse<> : tensor<2xi32>} : () -> ()
