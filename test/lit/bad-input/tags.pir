// Tags that select nothing, and operations that no tag reaches.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(expand-directives)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// The tag of the stages.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PQ" schedule = "1f1b" microbatches = 4
}

// CHECK: error: no operation is tagged "PQ"
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean "PP"?

// -----

// A filter: an unknown tag, a value that nothing has.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.place {Pp = 0} on {pp = 0}
}

// CHECK: error: no operation is tagged "Pp"
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean "PP"?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.place {PP = 7} on {pp = 0}
}

// CHECK: error: {PP = 7} matches no operation
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: PP has the values 0, 1

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split_backward {kind = block}
}

// CHECK: error: no operation is tagged "kind"
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: the tags of the function are PP

// -----

// No tags at all.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x  : tensor<16x4xf32>
  %1 = nn.gelu %0  : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: no operation is tagged "PP"
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: put the operations into strategy.annotate {PP = 0} and so on

// -----

// An operation without a place.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  %2 = nn.gelu %1 : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: 'nn.gelu' has no place: it has no tags
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-8]]:8
// CHECK: note: operations are placed from here on
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-6]]:3
// CHECK: help: put it into the strategy.annotate of a stage, or place its tags

// -----

// Stages with a gap.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 2}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: the stages are not numbered 0 to 1: no operation has PP = 1
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: note: but this one has PP = 2
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-10]]:8

// -----

// A stage that is no number.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = -1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: PP = -1 is no stage: stages are numbered from 0
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-8]]:8
// CHECK: note: the tag "PP" names the stages here
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-6]]:3

// -----

// Stages numbered against the data.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 1}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: PP = 0 uses what PP = 1 makes, so neither can run first
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-8]]:8
// CHECK: note: made here, by PP = 1
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-11]]:8
// CHECK: note: the tag "PP" numbers the stages of a pipeline here
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-8]]:3
// CHECK: help: number the stages in the order in which data flows through them

// -----

// Too few stages for the ranks, too many, and the wrong number.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: 1f1b needs a number of stages that is a multiple of its 2 ranks; got 1
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: divide the model into 2 stages, or run it on a number of ranks that divides 1

// -----

strategy.mesh @m <["pp" = 1]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: 1f1b needs exactly 1 stage per rank; got 2
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: with several stages per rank use interleaved1f1b

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "zbv" microbatches = 4
}

// CHECK: error: zbv needs exactly 2 stages per rank; got 1
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-4]]:3
// CHECK: help: divide the model into 4 stages

// -----

// Two places.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = *} on {pp = 1}
}

// CHECK: error: this operation is placed twice, on different devices
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-10]]:8
// CHECK: note: once here
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-7]]:3
// CHECK: note: and again here
// CHECK-NEXT: --> {{.*}}tags.pir:[[#@LINE-8]]:3
