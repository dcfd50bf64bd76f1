// The MLP's parameters are divided by columns and rows over "tp": one sum leaves it forwards, one backwards. The bias of the
// second product and the norm stay whole; the segments around it do the same on both ranks.
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag,shard)' | FileCheck %s

strategy.mesh @cluster <["tp" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PART = "in"} {
    %w = nn.parameter "in" init = normal<0.0, 0.1> : tensor<4x4xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    strategy.yield %y : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %m = strategy.annotate {PART = "mlp"} {
    %norm = nn.parameter "norm" init = ones : tensor<4xf32>
    %up = nn.parameter "up" init = normal<0.0, 0.1> : tensor<4x16xf32>
    %down = nn.parameter "down" init = normal<0.0, 0.1> : tensor<16x4xf32>
    %n = nn.rms_norm %h, %norm {eps = 1.0e-5} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    %u = nn.linear %n, %up : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %a = nn.gelu %u : tensor<8x16xf32>
    %d = nn.linear %a, %down : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    strategy.yield %d : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %r = nn.add %h, %m : tensor<8x4xf32>
    %l = nn.cross_entropy %r, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.shard {PART = mlp} over "tp" parameters = {"up" = 1, "down" = 0}
  strategy.optimizer sgd <lr = 0.1>
}

// CHECK-LABEL: func.func private @f1.tp(
// CHECK-SAME:    %norm: tensor<4xf32>, %up: tensor<4x8xf32>, %down: tensor<8x4xf32>)
// CHECK-LABEL: dag.graph
// CHECK: dag.parameter "norm" {{.*}} : !dag.dist<tensor<4xf32>, @cluster>
// CHECK: dag.parameter "up" {{.*}} : !dag.dist<tensor<4x16xf32>, @cluster, [{}, {"tp"}]>
// CHECK: dag.parameter "down" {{.*}} : !dag.dist<tensor<16x4xf32>, @cluster, [{"tp"}, {}]>
// CHECK: %[[Y:.*]] = dag.compute @f0
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[D:.*]] = dag.compute @f1.tp({{.*}} F {{.*}}partial = {"tp"}>)
// CHECK: %[[SUM:.*]] = dag.all_reduce %[[D]] over ["tp"]
// CHECK: dag.compute @f2(%[[Y]], %[[SUM]], %t)
// CHECK: %{{.*}}, %{{.*}}, %[[DY:.*]], %[[DNORM:.*]] = dag.compute @b1.tp
// CHECK: %[[DSUM:.*]] = dag.all_reduce %[[DY]] over ["tp"]
// CHECK: dag.compute @b0(%{{.*}}, %[[DSUM]], %x)
// The norm's gradient is a part on each rank, the divided parameters' are their own.
// CHECK: %[[NORM:.*]] = dag.all_reduce %[[DNORM]] over ["tp"]
// CHECK: dag.gradient "norm" %[[NORM]]
// CHECK: dag.gradient "up" %{{.*}} -> !dag.dist<tensor<4x16xf32>, @cluster, [{}, {"tp"}]>
