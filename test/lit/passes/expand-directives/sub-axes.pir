// Parts of an axis become axes, wherever its coordinates are named.
// RUN: piper-opt %s --pass expand-directives --split-input-file --verify-diagnostics | FileCheck %s

strategy.mesh @cluster <["pp" = 4, "dp" = 12]>
strategy.group @ends on @cluster [{pp = 0, dp = 5}, {pp = 3}]
func.func @loss(%x: tensor<12x4xf32> {role = "data", batch_dim = 0}) -> tensor<12x4xf32> {
  %y = strategy.annotate {PP = 0} {
    %w = nn.parameter "w" init = ones : tensor<4x4xf32>
    %z = nn.linear %x, %w : (tensor<12x4xf32>, tensor<4x4xf32>) -> tensor<12x4xf32>
    strategy.yield %z : tensor<12x4xf32>
  } : tensor<12x4xf32>
  func.return %y : tensor<12x4xf32>
}
strategy.plan @train for @loss on @cluster {
  strategy.replicate over "dp:(2)3"
  strategy.zero over "dp:(1)2" stage = 1
  strategy.place {PP = 0} on {pp = 1}
}
// CHECK: strategy.mesh @cluster <["pp" = 4, "dp.0" = 2, "dp.1" = 3, "dp.2" = 2]>
// CHECK: strategy.group @ends on @cluster [{dp.0 = 0, dp.1 = 2, dp.2 = 1, pp = 0}, {pp = 3}]
// CHECK: strategy.replicate over "dp.1"
// CHECK: strategy.replicate over "dp.0" zero = 1
// CHECK: strategy.place {PP = 0} on {pp = 1}

// -----

strategy.mesh @cluster <["dp" = 12]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-note@+1 {{'strategy.replicate' stands here}}
  strategy.replicate over "dp:(2)3"
  // expected-error@+1 {{'strategy.zero' takes axis "dp:(1)4", which 'strategy.replicate' already uses}}
  strategy.zero over "dp:(1)4" stage = 1
}

// -----

strategy.mesh @cluster <["dp" = 12]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-note@+1 {{'strategy.replicate' stands here}}
  strategy.replicate over "dp"
  // expected-error@+1 {{'strategy.zero' takes axis "dp:(1)4", which 'strategy.replicate' already uses}}
  strategy.zero over "dp:(1)4" stage = 1
}

// -----

strategy.mesh @cluster <["dp" = 12]>
func.func private @loss()
strategy.plan @train for @loss on @cluster {
  // expected-error@+1 {{axis "dp" of size 12 has no part "dp:(1)5"}}
  strategy.replicate over "dp:(1)5"
  // expected-error@+1 {{the mesh has no axis "ep:(1)2"}}
  strategy.zero over "ep:(1)2" stage = 1
}
