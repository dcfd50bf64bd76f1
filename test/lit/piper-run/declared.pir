// What is only declared is not run; its plan can be written.
// REQUIRES: piper-run
// RUN: not piper-run %examples/declared.pir --data %examples/declared.pir 2>&1 | FileCheck %s
// RUN: piper-run %examples/declared.pir --compile-only -o %t.pplan | FileCheck %s --check-prefix=PLAN
// RUN: not piper-run %t.pplan --data %examples/declared.pir 2>&1 | FileCheck %s --check-prefix=PLANNED

// CHECK: error: '@embed' is only declared: it can be planned, verified and simulated, not run
// CHECK-NEXT: --> {{.*}}declared.pir:32:
// CHECK: help: '--compile-only -o FILE' writes the plan, which piper-sim simulates

// PLAN: plan @train: 4 devices, batch in 8 parts
// PLAN: wrote

// PLANNED: error: '{{.*}}.pplan': the plan carries no machine code for this processor
