// Stages, schedules written out, and recomputation that make no sense.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(expand-directives)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// A gap that nobody meant.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {PP = 3}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "interleaved1f1b" microbatches = 4
}

// CHECK: error: the stages are not numbered 0 to 2: no operation has PP = 2
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: note: but this one has PP = 3

// -----

// More stages than there are.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {PP = 5}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" count = 4 schedule = "interleaved1f1b" microbatches = 4
}

// CHECK: error: there are 4 stages, so PP = 5 is none of them
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: note: but this one has PP = 5
// CHECK: help: count = 6 has room for it

// -----

// A number of stages that the schedule cannot have, empty ones included.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" count = 3 schedule = "1f1b" microbatches = 4
}

// CHECK: error: 1f1b needs a number of stages that is a multiple of its 2 ranks; got 3
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// No stage at all.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" count = 0 schedule = "1f1b" microbatches = 4
}

// CHECK: error: 'count' must be a number from 1 to 10000, but is 0
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// An action of a stage that is empty.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {PP = 3}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 1
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1|3} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 2F0 0B0"
  strategy.order stages = "PP" on {pp = 1} "1F0 3F0 3B0 1B0"
}

// CHECK: error: slot 1 of {pp = 0}: 2F0 does not exist: there are the stages 0, 1, 3 and 1 microbatches, counted from 0
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-5]]:3

// -----

// Deadlocked beyond a gap.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {PP = 3}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 1
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1|3} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0B0"
  strategy.order stages = "PP" on {pp = 1} "3F0 1F0 3B0 1B0"
}

// CHECK: error: the orders deadlock: {pp = 1} waits in slot 0: 3F0 needs 1F0, which comes only later, in slot 1
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: in the order of {pp = 1}, put 1F0 before 3F0

// -----

// A table with a row too many.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 0B0", "1F0 1B0", ""]
}

// CHECK: error: axis "pp" has 2 ranks, but there are 3 rows
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: a rank that runs nothing is an empty row: ""

// -----

// A table of nothing.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["", ""]
}

// CHECK: error: the rows have no action
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// A table that misses an action.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 0F1 0B0 0B1", "1F0 1B0 1B1"]
}

// CHECK: error: 1F1 is missing in the order of {pp = 1}
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: every stage runs F and B (or I and W) once for every microbatch

// -----

// One that repeats it.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0,0F1,0B0,0B1", "1F0,1F1,1B0,1F1,1B1"]
}

// CHECK: error: slot 3 of {pp = 1}: 1F1 runs a second time
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// One that waits for itself.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 0B0 0F1 0B1", "1F1 1B1 1F0 1B0"]
}

// CHECK: error: the orders deadlock: {pp = 0} waits in slot 1: 0B0 needs 1B0, which is slot 3 of {pp = 1}
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// One without a stage of the model.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {PP = 2}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 0B0", "1F0 1B0"]
}

// CHECK: error: no row runs stage 2, which the model has
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: add 2F0, 2B0 and so on to the row of a rank

// -----

// One with a stage that the model has not.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 2F0 2B0 0B0", "1F0 1B0"]
}

// CHECK: error: row 0: 2F0 does not exist: no operation has PP = 2
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: the stages are 0 to 1

// -----

// One whose microbatches change sides too often.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 1F1 1B1 0F2 0B0 1F3 1B3 0B2", "1F0 1B0 0F1 1F2 1B2 0B1 0F3 0B3"]
}

// CHECK: error: stages change their ranks from microbatch to microbatch more often than there are ways through the ranks
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// One that names a microbatch beyond the batch.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 0F2 0F1 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2"]
}

// CHECK: error: 3 microbatches do not divide the batch of 16
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// Slips in rows, each at its place.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.table over "pp" stages = "PP" rows = ["0F0 0X0", "1F0,SEND,1B0"]
}

// CHECK: error: {{.*}}0X0
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:55
// CHECK: error: {{.*}}SEND
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-6]]:66

// -----

// Nothing to recompute.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {PP = 7}
}

// CHECK: error: {PP = 7} matches no operation
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: PP has the values 0, 1

// -----

// None of it, and some.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {PP = 0} none weights = "again"
}

// CHECK: error: 'none' recomputes nothing, so it goes with no other option
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// An operation that is none.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {PP = 0} only = ["nn.gelo"]
}

// CHECK: error: there is no operation 'nn.gelo'
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean 'nn.gelu'?

// -----

// No operations.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {PP = 0} only = []
}

// CHECK: error: 'only' names no operation
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: leave it out to recompute everything, or write none

// -----

// An operation that does more than compute.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {PP = 0} only = ["dag.parameter"]
}

// CHECK: error: 'dag.parameter' cannot be recomputed: it does more than give its results
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// A range without a member.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {MB = 4:4}
}

// CHECK: error: the range 4:4 is empty
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:28
// CHECK: help: the end is excluded: 0:4 is 0, 1, 2 and 3

// -----

// Another word for what weights do.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.recompute {PP = 0} weights = "twice"
}

// CHECK: error: {{.*}}"keep" or "again"
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// A layout with more parts than the model.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {E = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {t = 0}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {L = 0}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.layout stages = "PP" "Et|tL"
}

// CHECK: error: the layout has 2 t, but no operation is tagged t = 1
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: help: strategy.annotate {t = 1} tags the part

// -----

// And one with fewer.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {E = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {t = 0}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {t = 1}} : tensor<16x4xf32>
  %3 = nn.gelu %2 {tags = {L = 0}} : tensor<16x4xf32>
  func.return %3 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.layout stages = "PP" "Et|L"
}

// CHECK: error: no stage of the layout has the part t = 1
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
// CHECK: note: which stands here

// -----

// A layout that is none.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {E = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {t = 0}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {L = 0}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.layout stages = "PP" "Et|(t"
}

// CHECK: error: in the layout, column 4: this '(' is not closed
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// A pipeline along parts in the wrong order.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {E = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {t = 0}} : tensor<16x4xf32>
  %2 = nn.gelu %1 {tags = {L = 0}} : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.layout stages = "PP" "L|tE"
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 2
}

// CHECK: error: PP = 0 uses what PP = 1 makes, so neither can run first

// -----

// A tag that is not given but asked for.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {E = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.tag {E = 0} as {PP = *}
}

// CHECK: error: PP has no value: a tag is an integer or a string
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3

// -----

// A tag that the compiler gives.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {E = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.tag {E = 0} as {MB = 1}
}

// CHECK: error: the compiler gives the tag MB, so a plan may not
// CHECK-NEXT: --> {{.*}}stages.pir:[[#@LINE-4]]:3
