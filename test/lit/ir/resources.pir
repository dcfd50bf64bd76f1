// Resources stand at the end of a file; blobs that nothing refers to are dropped.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: "t.res"() {a = dense_resource<b2> : tensor<1xf32>, b = dense_resource<"x y"> : tensor<0xf32>, c = dense_resource<__elided__> : tensor<8xf32>} : () -> ()
"t.res"() {a = dense_resource<b2> : tensor<1xf32>, b = dense_resource<"x y"> : tensor<0xf32>, c = dense_resource<__elided__> : tensor<8xf32>} : () -> ()

// CHECK:      {-#
// CHECK-NEXT:   dialect_resources: {
// CHECK-NEXT:     builtin: {
// CHECK-NEXT:       b2: "0x0400000000008040",
// CHECK-NEXT:       "x y": "0x04000000"
// CHECK-NEXT:     }
// CHECK-NEXT:   },
// CHECK-NEXT:   external_resources: {
// CHECK-NEXT:     tool: {
// CHECK-NEXT:       a: true,
// CHECK-NEXT:       b: "str",
// CHECK-NEXT:       c: "0x0400000001"
// CHECK-NEXT:     },
// CHECK-NEXT:     other: {
// CHECK-NEXT:       d: false
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: #-}
{-#
  dialect_resources: { builtin: { unused: "0x040000000000803F", b2: "0x0400000000008040", "x y": "0x04000000" } },
  external_resources: { tool: { a: true, b: "str", c: "0x0400000001" }, empty: {}, other: { d: false } }
#-}
