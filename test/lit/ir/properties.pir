// Properties of operations that nobody registered: any attribute, kept apart from the others.
// RUN: piper-opt --allow-unregistered-dialect %s | FileCheck %s
// RUN: piper-opt --allow-unregistered-dialect %s | piper-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: "t.a"() <"p"> {x} : () -> ()
"t.a"() <"p"> {x} : () -> ()
// CHECK-NEXT: "t.b"() <{a = 1}> ({
// CHECK-NEXT: }) {a = 2} : () -> ()
"t.b"() <{a = 1}> ({}) {a = 2} : () -> ()
// CHECK-NEXT: "t.c"() <{}> : () -> ()
"t.c"() <{}> : () -> ()
// CHECK-NEXT: "t.d"() <"same"> {a = "same"} : () -> ()
"t.d"() <"same"> {a = "same"} : () -> ()
