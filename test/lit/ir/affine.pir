// Affine maps and sets are simplified as they are read, and written once, before the module.
// RUN: piper-opt --allow-unregistered-dialect --split-input-file %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect --split-input-file %s | piper-opt --allow-unregistered-dialect --split-input-file | FileCheck %s

// CHECK: #map = affine_map<(d0)[s0] -> (d0 * s0, d0 * (s0 * 2), d0 + 3)>
// CHECK-NEXT: #map1 = affine_map<() -> ()>
// CHECK-NEXT: #map2 = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-NEXT: #map3 = affine_map<(d0) -> (d0 mod 4, d0 * 2, d0 ceildiv 3, -d0 + 7, d0 - 1)>
// CHECK-NEXT: #set = affine_set<()[s0] : (s0 >= 0)>
// CHECK-NEXT: #set1 = affine_set<(d0) : (-d0 + 4 >= 0, d0 - 2 == 0)>
// CHECK-NEXT: #set2 = affine_set<() : (0 == 0)>
// CHECK-NEXT: module {
// CHECK-NEXT: "t.maps"() {a = #map, b = #map1, c = #map2, d = #map3} : () -> ()
// CHECK-NEXT: "t.sets"() {a = #set, b = #set1, c = #set2, d = [#map2]} : () -> memref<2x3xf32, #map2, "hbm">
"t.maps"() {a = affine_map<(d0)[s0] -> (d0 * s0, s0 * 2 * d0, 1 + 2 + d0)>, b = affine_map<() -> ()>, c = affine_map<(i, j) -> (j, i)>, d = affine_map<(i) -> (i - (i floordiv 4) * 4, i + i, i ceildiv 3, 7 - i, i + -1)>} : () -> ()
%m = "t.sets"() {a = affine_set<()[s] : (s >= 0)>, b = affine_set<(d0) : (d0 <= 4, d0 + 1 == 3)>, c = affine_set<() : ()>, d = [affine_map<(a, b) -> (b, a)>]} : () -> memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>, "hbm">
