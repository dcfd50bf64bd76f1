// Names that do not exist: where they stand, and the one that was meant.
// RUN: not piper-opt --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// An axis, in each directive that takes one.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "ppp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.zero over "pd" stage = 1
}

// CHECK: error: the mesh has no axis "ppp"
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-5]]:3
// CHECK: help: did you mean "pp"?
// CHECK: error: the mesh has no axis "pd"
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-7]]:3
// CHECK: help: did you mean "dp"?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.place {PP = 0} on {qp = 0}
}

// CHECK: error: the mesh has no axis "qp"
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean "dp"?

// -----

// A directive.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipelin over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: dialect 'strategy' has no operation 'strategy.pipelin'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean 'strategy.pipeline'?

// -----

// A dialect.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  stratgy.zero over "dp" stage = 1
}

// CHECK: error: unknown dialect 'stratgy' of operation 'stratgy.zero'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean 'strategy.zero'?

// -----

// A directive without its dialect.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  zero over "dp" stage = 1
}

// CHECK: error: expected an operation, found 'zero'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:3
// CHECK: help: operations are written dialect.op

// -----

// A schedule.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1" microbatches = 4
}

// CHECK: error: unknown schedule '1f1'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:3
// CHECK: help: did you mean '1f1b'?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "chimera" microbatches = 4
}

// CHECK: error: unknown schedule 'chimera'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:3
// CHECK: help: known schedules: gpipe, 1f1b, interleaved1f1b, looped_bfs, zb_h1, zb_h2, interleaved_zb, zbv, dualpipe, dualpipev, zb_auto, zbv_auto, v_half, v_min

// -----

// An optimizer, an option, a schedule of the learning rate.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer adam <lr = 0.1>
}

// CHECK: error: expected an optimizer, found 'adam'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:22
// CHECK: help: did you mean 'adamw'?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer sgd <lr = 0.1, momentm = 0.9>
}

// CHECK: error: expected an option of sgd, found 'momentm'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:37
// CHECK: help: did you mean 'momentum'?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer sgd <lr = warmup_cosin<peak = 0.1>>
}

// CHECK: error: expected a learning-rate schedule, found 'warmup_cosin'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:32
// CHECK: help: did you mean 'warmup_cosine'?

// -----

// A function, a mesh.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @los on @m {
}

// CHECK: error: there is no function @los to be trained
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:1
// CHECK: help: did you mean @loss?

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @mesh {
}

// CHECK: error: @mesh is not a strategy.mesh
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:1
// CHECK: help: the file has @m

// -----

// A keyword, and one too many: the form is shown.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatch = 4
}

// CHECK: error: expected 'microbatches', found 'microbatch'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:63
// CHECK: help: the form is: strategy.pipeline over "<axis>" stages = "<stages>" [count = <count>] schedule = "<schedule>" microbatches = <microbatches> [group = <group>] [overlap]

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4 foo = 3
}

// CHECK: error: expected an operation, found 'foo'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:80
// CHECK: help: the operation before it on this line takes nothing more

// -----

// A string without its quotes.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over pp stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: expected an attribute, found 'pp'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-4]]:26
// CHECK: help: a string is written in quotes: "pp"

// -----

// An operation of the model.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gleu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: dialect 'nn' has no operation 'nn.gleu'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-7]]:8
// CHECK: help: did you mean 'nn.gelu'?

// -----

// A required attribute, misspelt.
func.func @f(%x: tensor<8x10xf32>, %t: tensor<8xi32>) -> tensor<f32> {
  %l = nn.cross_entropy %x, %t {denomintor = 8} : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK: error: 'nn.cross_entropy' requires attribute 'denominator': a positive integer
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-5]]:8
// CHECK: help: 'denomintor' is given; write 'denominator'

// -----

// A role.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "dat", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: role of '%x' must be one of data, tokens, targets, labels, but is "dat"
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-9]]:1
// CHECK: help: did you mean "data"?

// -----

// A distribution.
func.func @f() {
  %w = nn.parameter "w" init = norml<0.0, 0.1> : tensor<4xf32>
  func.return
}

// CHECK: error: unknown distribution 'norml'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-5]]:32
// CHECK: help: did you mean 'normal'?

// -----

// A function that is called.
func.func @block() {
  func.return
}
func.func @f() {
  func.call @blok() : () -> ()
  func.return
}

// CHECK: error: there is no function '@blok'
// CHECK-NEXT: --> {{.*}}names.pir:[[#@LINE-5]]:3
// CHECK: help: did you mean '@block'?
