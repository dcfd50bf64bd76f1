// RUN: piper-opt --split-input-file --verify-diagnostics %s

// Unknown axis.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{the mesh has no axis "ppp"}}
  strategy.pipeline over "ppp" stages = "PP" schedule = "1f1b" microbatches = 4
}

// -----

// Unknown directive.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{dialect 'strategy' has no operation 'strategy.pipelin'}}
  strategy.pipelin over "pp"
}

// -----

// Unknown schedule.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{unknown schedule '1f1bb'}}
  strategy.pipeline over "pp" stages = "PP" schedule = "1f1bb" microbatches = 4
}

// -----

// A slice outside the mesh.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{{pp = 2} is outside the mesh: axis "pp" has coordinates 0 to 1, not 2}}
  strategy.place {PP = 0} on {pp = 2}
}

// -----

// An action that is none.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{'0f1' is not an action}}
  strategy.order stages = "PP" on {pp = 0} "0F0 0f1"
}

// -----

// An option of another optimizer.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func @loss(%x: tensor<16x4xf32> {role = "data", batch_dim = 0}) -> tensor<16x4xf32> {
  %0 = nn.gelu %x {tags = {PP = 0}} : tensor<16x4xf32>
  %1 = nn.gelu %0 {tags = {PP = 1}} : tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{expected an option of adamw, found 'momentum'}}
  strategy.optimizer adamw <lr = 0.1, momentum = 0.9>
}

// -----

// expected-error@+1 {{the mesh has two axes "pp"}}
strategy.mesh @m <["pp" = 2, "pp" = 2]>

// -----

strategy.mesh @m <["pp" = 2]>
// expected-error@+1 {{there is no function @loss to be trained}}
strategy.plan @train for @loss on @m {
}
