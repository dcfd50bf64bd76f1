// Every kind of location, aliases that are defined last, and locations of the text itself.
// RUN: piper-opt --allow-unregistered-dialect --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect --mlir-print-debuginfo --mlir-print-local-scope %s | piper-opt --allow-unregistered-dialect --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

"t.a"() : () -> () loc(unknown)
// CHECK: "t.a"() : () -> () loc(unknown)
"t.b"() : () -> () loc("f":3:4)
// CHECK-NEXT: "t.b"() : () -> () loc("f":3:4)
"t.c"() : () -> () loc("name"("f":1:2))
// CHECK-NEXT: "t.c"() : () -> () loc("name"("f":1:2))
"t.d"() : () -> () loc(callsite("f":1:1 at "g":2:2))
// CHECK-NEXT: "t.d"() : () -> () loc(callsite("f":1:1 at "g":2:2))
"t.e"() : () -> () loc(fused<"why">["f":1:1, unknown])
// CHECK-NEXT: "t.e"() : () -> () loc(fused<"why">["f":1:1, unknown])
"t.f"() : () -> () loc(#late)
// CHECK-NEXT: "t.f"() : () -> () loc("late":7:8)
"t.g"() : () -> ()
// CHECK-NEXT: "t.g"() : () -> () loc("{{.*}}locations.pir":17:1)
#late = loc("late":7:8)
