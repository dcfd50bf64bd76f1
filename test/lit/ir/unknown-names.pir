// Names that are close to a known one come with it.
// RUN: not piper-opt < %s 2>&1 | FileCheck %s

// CHECK:error: unknown dialect 'biultin' of operation 'biultin.module'
// CHECK-NEXT: --> <stdin>:18:1
// CHECK:help: did you mean 'builtin.module'?
// CHECK:error: dialect 'builtin' has no operation 'builtin.modul'
// CHECK-NEXT: --> <stdin>:19:1
// CHECK:help: did you mean 'builtin.module'?
// CHECK:error: unknown dialect 'zzz' of operation 'zzz.op'
// CHECK-NEXT: --> <stdin>:20:1
// CHECK:help: pass --allow-unregistered-dialect to accept operations of unknown dialects
// CHECK:error: expected an operation, found 'x'
// CHECK-NEXT: --> <stdin>:21:1
// CHECK:error: use of undeclared SSA value name '%vaule'
// CHECK:help: did you mean '%value'?

"biultin.module"() ({}) : () -> ()
builtin.modul {}
"zzz.op"() : () -> ()
x
module {
  %value = builtin.unrealized_conversion_cast to i32
  %w = builtin.unrealized_conversion_cast %vaule : i32 to f32
}
