// RUN: piper-opt --pass-pipeline='builtin.module(expand-directives)' --split-input-file --verify-diagnostics %s

// A tag that nothing has.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{no operation is tagged "PPP"}}
  strategy.pipeline over "pp" stages = "PPP" schedule = "1f1b" microbatches = 4
}

// -----

// Too few microbatches for the schedule.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{dualpipe needs an even number of microbatches, at least 2*P = 4; got 2}}
  strategy.dualpipe over "pp" stages = "PP" microbatches = 2
}

// -----

// Microbatches that do not divide the batch.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
// expected-note@+1 {{the batch dimension is declared here}}
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{5 microbatches do not divide the batch of 16 (dimension 0 of '%x')}}
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 5
}

// -----

// Stages that leave an operation without a place.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  // expected-error@+1 {{'nn.gelu' has no place: it has no tags}}
  %2 = nn.gelu %1 : tensor<16x4xf32>
  func.return %2 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-note@+1 {{operations are placed from here on}}
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// -----

// Stages with a gap.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  // expected-note@+1 {{but this one has PP = 2}}
  %1 = nn.gelu %0 {tags = {PP = 2}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{the stages are not numbered 0 to 1: no operation has PP = 1}}
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// -----

// One axis for two purposes.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-note@+1 {{'strategy.pipeline' stands here}}
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4
  // expected-error@+1 {{'strategy.zero' takes axis "pp", which 'strategy.pipeline' already uses}}
  strategy.zero over "pp" stage = 1
}

// -----

// An order that misses an action.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  // expected-error@+1 {{0B1 is missing in the order of {pp = 0}}}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// -----

// An order that repeats one.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  // expected-error@+2 {{slot 4 of {pp = 0}: 0F1 runs a second time}}
  // expected-note@+1 {{already run in slot 1 of {pp = 0}}}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0B1 0F1"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1"
}

// -----

// Orders that wait for each other.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.split "MB" into 2
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  // expected-error@+1 {{the orders deadlock: {pp = 0} waits in slot 1: 0B0 needs 1B0, which is slot 3 of {pp = 1}}}
  strategy.order stages = "PP" on {pp = 0} "0F0 0B0 0F1 0B1"
  // expected-note@+1 {{{pp = 1} waits in slot 0: 1F1 needs 0F1, which is slot 2 of {pp = 0}}}
  strategy.order stages = "PP" on {pp = 1} "1F1 1B1 1F0 1B0"
}
