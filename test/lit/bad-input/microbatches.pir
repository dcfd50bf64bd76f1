// Microbatches that the batch or the schedule does not allow.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(expand-directives)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// They divide the batch, with the replicas.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 5
}

// CHECK: error: 5 microbatches do not divide the batch of 16 (dimension 0 of '%x')
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: note: the batch dimension is declared here
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-12]]:1
// CHECK: help: use 4 microbatches, or a batch that is a multiple of 5

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 16
  strategy.zero over "dp" stage = 1
}

// CHECK: error: 16 microbatches on 2 replicas do not divide the batch of 16 (dimension 0 of '%x')
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-5]]:3
// CHECK: note: the batch dimension is declared here
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-13]]:1
// CHECK: help: use 8 microbatches, or a batch that is a multiple of 32

// -----

strategy.mesh @m <["dp" = 3]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.replicate over "dp"
}

// CHECK: error: 1 microbatches on 3 replicas do not divide the batch of 16 (dimension 0 of '%x')
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: note: the batch dimension is declared here
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-12]]:1
// CHECK: help: use a batch that is a multiple of 3

// -----

// DualPipe: even, and at least 2P.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.dualpipe over "pp" stages = "PP" microbatches = 2
}

// CHECK: error: dualpipe needs an even number of microbatches, at least 2*P = 4; got 2
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: help: use 4 microbatches

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<20x4xf32> {role = "data", batch_dim = 0}) -> tensor<20x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<20x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<20x4xf32>
  func.return %1 : tensor<20x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.dualpipe over "pp" stages = "PP" microbatches = 5
}

// CHECK: error: dualpipe needs an even number of microbatches, at least 2*P = 4; got 5
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: help: use 6 microbatches

// -----

// DualPipeV needs two stages a rank.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.dualpipe over "pp" stages = "PP" microbatches = 4 variant = "v"
}

// CHECK: error: dualpipev needs exactly 2 stages per rank; got 1
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: help: divide the model into 4 stages

// -----

// Numbers that are none.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 0
}

// CHECK: error: 'microbatches' must be a number from 1 to 10000, but is 0
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = -4
}

// CHECK: error: 'microbatches' must be a number from 1 to 10000, but is -4
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 1000000
}

// CHECK: error: 'microbatches' must be a number from 1 to 10000, but is 1000000
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 99999999999999999999
}

// CHECK: error: integer constant out of range for attribute
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:78
// CHECK: help: the form is: strategy.pipeline over "<axis>" stages = "<stages>" [count = <count>] schedule = "<schedule>" microbatches = <microbatches> [group = <group>] [overlap]

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = "4"
}

// CHECK: error: attribute 'microbatches' of 'strategy.pipeline' must be an integer, but is "4"
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3

// -----

// No input has a batch.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data"}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: there is no batch to divide: no input has a batch dimension
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: note: the inputs are declared here
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-12]]:1
// CHECK: help: say which dimension it is, as in {role = "data", batch_dim = 0}

// -----

// A batch dimension that is not there.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 2}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: batch_dim of '%x' must be a dimension of tensor<16x4xf32>, but is 2
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-10]]:1
// CHECK: help: dimensions are counted from 0 to 1

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = -1}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// CHECK: error: batch_dim of '%x' must be a dimension of tensor<16x4xf32>, but is -1
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-10]]:1
// CHECK: help: dimensions are counted from 0 to 1

// -----

// Split twice.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.split "MB" into 4
}

// CHECK: error: a plan splits the batch once
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
// CHECK: note: already done here
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-7]]:3

// -----

// A range of microbatches without a home.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.place {PP = 0} on [{pp = 0}, {pp = 1}] microbatches = [0:1, 2:4]
}

// CHECK: error: no home runs microbatch 1
// CHECK-NEXT: --> {{.*}}microbatches.pir:[[#@LINE-4]]:3
