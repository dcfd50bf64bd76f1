// Options of data parallelism and of precision that make no sense, alone or together.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'reduce' makes no sense at stage 1: whole gradients are kept and reduced once}}
  strategy.zero over "dp" stage = 1 reduce = "each"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'gather' makes no sense at stage 2: every device has the whole parameters}}
  strategy.zero over "dp" stage = 2 gather = "keep"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'prefetch' makes no sense at stage 2: there is nothing to gather before the optimizer's step}}
  strategy.replicate over "dp" zero = 2 prefetch = 1
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'bucket' makes no sense at stage 0: without shards there are no buckets}}
  strategy.zero over "dp" stage = 0 bucket = "1MiB"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'group' makes no sense at stage 0: without shards there are no buckets}}
  strategy.replicate over "dp" group = "segment"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'prefetch' = 2 needs 3 buckets at a time, but 'gather' keeps 2}}
  strategy.zero over "dp" stage = 3 gather = 2 prefetch = 2
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'gather' is "microbatch", "keep" or how many buckets are kept, not "0"}}
  strategy.zero over "dp" stage = 3 gather = 0
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'gather' is "microbatch", "keep" or how many buckets are kept, not "kept"}}
  strategy.zero over "dp" stage = 3 gather = "kept"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'prefetch' is the number of uses that a gather is ahead, 0 or more, not -1}}
  strategy.zero over "dp" stage = 3 prefetch = -1
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'reduce' is "each" (microbatch) or "last", not "never"}}
  strategy.zero over "dp" stage = 2 reduce = "never"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'bucket': "0MiB" is not a size of at least one byte}}
  strategy.zero over "dp" stage = 3 bucket = "0MiB"
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{the ZeRO stage is 0, 1, 2 or 3, not -1}}
  strategy.zero over "dp" stage = -1
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'compute' is f32, f64 or bf16, not i8}}
  strategy.precision compute = i8
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{compute and master are one type, so there is nothing to be mixed}}
  strategy.precision compute = bf16 master = bf16
}

// -----

strategy.mesh @m <["dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  func.return %0 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{gradients are reduced in the master type, not in bf16}}
  strategy.precision compute = bf16 master = f32 reduce = bf16
}
