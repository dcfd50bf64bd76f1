// One axis, one purpose; one plan, one optimizer.
// RUN: not piper-opt --split-input-file --pass-pipeline='builtin.module(expand-directives)' %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// An axis used twice.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.zero over "pp" stage = 1
}

// CHECK: error: 'strategy.zero' takes axis "pp", which 'strategy.pipeline' already uses
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3
// CHECK: note: 'strategy.pipeline' stands here
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-7]]:3
// CHECK: help: not used yet: "dp"

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  strategy.dualpipe over "pp" stages = "PP" microbatches = 4
}

// CHECK: error: 'strategy.dualpipe' takes axis "pp", which 'strategy.pipeline' already uses
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3
// CHECK: note: 'strategy.pipeline' stands here
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-7]]:3
// CHECK: help: not used yet: "dp"

// -----

// An axis of that name already.
strategy.mesh @m <["pp" = 2, "pp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: the mesh has two axes "pp"
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-10]]:1
// CHECK: help: each axis has a name of its own

// -----

// Sizes.
strategy.mesh @m <["pp" = 2, "dp" = 0]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: axis "dp" must have a size of at least 1, but has 0
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-10]]:1

// -----

strategy.mesh @m <["pp" = 99999999, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: the mesh has more than 16777216 devices
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-10]]:1

// -----

strategy.mesh @m <[]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
}

// CHECK: error: a mesh has at least one axis
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-10]]:1
// CHECK: help: for one device: <["dp" = 1]>

// -----

// A slice outside the mesh.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.place {PP = 0} on {pp = 2}
}

// CHECK: error: {pp = 2} is outside the mesh: axis "pp" has coordinates 0 to 1, not 2
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3

// -----

// Two optimizers.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer sgd <lr = 0.1>
  strategy.optimizer sgd <lr = 0.2>
}

// CHECK: error: a plan updates the parameters once
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3
// CHECK: note: already done here
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-7]]:3

// -----

// Options that no optimizer can take.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer adamw <lr = 0.1, betas = [0.9]>
}

// CHECK: error: 'betas' must be two numbers, as in [0.9, 0.95]
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer adamw <lr = 0.1, betas = [0.9, 1.5]>
}

// CHECK: error: 'betas' must be from 0 to below 1, but is 1.5
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer sgd <lr = -0.1>
}

// CHECK: error: a learning rate must be at least 0, but is -0.1
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer sgd <>
}

// CHECK: error: 'strategy.optimizer' requires attribute 'lr'
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.optimizer sgd <lr = 0.1, lr = 0.2>
}

// CHECK: error: option 'lr' is given twice
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:37

// -----

// ZeRO: stages and buckets.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.zero over "dp" stage = 4
}

// CHECK: error: the ZeRO stage is 0, 1, 2 or 3, not 4
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3
// CHECK: help: 1 shards the optimizer state, 2 gradients too, 3 parameters too; 0 shards nothing

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.zero over "dp" stage = 1 bucket = "25 elephants"
}

// CHECK: error: 'bucket': "25 elephants" is not a size: write a number and B, KiB, MiB or GiB
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:3

// -----

// A directive outside of a plan, and what is none inside.
strategy.zero over "dp" stage = 1

// CHECK: error: 'strategy.zero' is a directive and stands in a strategy.plan
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-3]]:1
// CHECK: help: move it into the braces of the plan

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  %c = nn.constant {value = 1.0} : tensor<4xf32>
}

// CHECK: error: 'nn.constant' is not a directive
// CHECK-NEXT: --> {{.*}}axes.pir:[[#@LINE-4]]:8
// CHECK: help: a plan holds directives only; what the model computes stands in its function
