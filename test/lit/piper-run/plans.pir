// Plans that are none, not whole, of a later format, or edited into a deadlock.
// REQUIRES: piper-run
// RUN: echo "not a plan" > %t.foreign.pplan
// RUN: not piper-run %t.foreign.pplan --data %s --steps 1 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: piper-run %examples/gpt.pir --compile-only --level kernel -o %t.pplan 2>&1 | FileCheck %s --check-prefix=WROTE
// RUN: head -c 1000 %t.pplan > %t.cut.pplan
// RUN: not piper-run %t.cut.pplan --data %s --steps 1 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: edit-plan newer %t.pplan %t.newer.pplan
// RUN: not piper-run %t.newer.pplan --data %s --steps 1 2>&1 | FileCheck %s --check-prefix=NEWER
// RUN: piper-run %S/numbers.pir --compile-only --level kernel -o %t.small.pplan
// RUN: edit-plan deadlock %t.small.pplan %t.stuck.pplan
// RUN: not piper-run %t.stuck.pplan --data %s --steps 1 2>&1 | FileCheck %s --check-prefix=STUCK
// RUN: not piper-run %examples/gpt.pir --compile-only --level kernel -o %t.none/a.pplan 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not ls %t.none

// FOREIGN: error: '{{.*}}.foreign.pplan': not a plan: the file does not begin with the .pplan signature
// FOREIGN: help: plans are written by piper-run --compile-only -o FILE.pplan; text files end in .pir

// WROTE: wrote {{.*}}.pplan

// CUT: error: '{{.*}}.cut.pplan': truncated plan: 1000 bytes, {{[0-9]+}} needed; the file was cut off, perhaps while being copied
// CUT: help: copy the file again, or compile the .pir again

// FOLDER: error: cannot write plan '{{.*}}.none/a.pplan': the folder does not exist

// NEWER: error: '{{.*}}.newer.pplan': plan of format version {{[0-9]+}}; this build reads version {{[0-9]+}}
// NEWER: help: compile the .pir again with this build, or run it with the build that wrote it

// STUCK: error: '{{.*}}.stuck.pplan'{{.*}}not safe to run
// STUCK: deadlock
// STUCK: numbers.pir:
