// With the batch divided over the same axis, a segment whose parameter is divided by rows gets all rows' columns by an all-to-all
// and gives its partial sums back by a reduce-scatter. A part of a matrix is one run of rows, or a run in each row.
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag,shard,update)' | FileCheck %s
// RUN: piper-opt %s --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag,shard,update,verify-dag,lower-to-device)' | FileCheck %s --check-prefix=DEVICE

strategy.mesh @cluster <["ep" = 2]>

func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %h = strategy.annotate {PART = "in"} {
    %w = nn.parameter "in" init = normal<0.0, 0.1> : tensor<4x6xf32>
    %y = nn.linear %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    strategy.yield %y : tensor<8x6xf32>
  } : tensor<8x6xf32>
  %m = strategy.annotate {PART = "mid"} {
    %v = nn.parameter "mid" init = normal<0.0, 0.1> : tensor<6x4xf32>
    %z = nn.linear %h, %v : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    strategy.yield %z : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %l = nn.cross_entropy %m, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}

strategy.plan @train for @loss on @cluster {
  strategy.shard {PART = mid} over "ep" parameters = {"*" = 0}
  strategy.replicate over "ep"
  strategy.optimizer sgd <lr = 0.1>
}

// CHECK: func.func private @f1.ep(%y: tensor<8x3xf32> {batch_dim = 0}, %v: tensor<3x4xf32>) -> tensor<8x4xf32>
// CHECK: %[[Y:.*]] = dag.compute @f0({{.*}} -> !dag.dist<tensor<8x6xf32>, @cluster, [{"ep"}, {}]>
// CHECK: %[[COLUMNS:.*]] = dag.all_to_all %[[Y]] over ["ep"] from 0 to 1 -> !dag.dist<tensor<8x6xf32>, @cluster, [{}, {"ep"}]>
// CHECK: %[[Z:.*]] = dag.compute @f1.ep(%[[COLUMNS]], %v) F {{.*}} partial = {"ep"}>
// CHECK: %[[ROWS:.*]] = dag.reduce_scatter %[[Z]] over ["ep"] -> !dag.dist<tensor<8x4xf32>, @cluster, [{"ep"}, {}]>
// CHECK: dag.compute @f2(%[[ROWS]]
// CHECK: dag.all_gather
// CHECK: %[[DZ:.*]], %[[DY:.*]] = dag.compute @b1.ep
// CHECK: dag.all_to_all %{{.*}} over ["ep"] from 1 to 0

// The first goes out in a run of 3 of each of 4 rows, and comes in as whole rows of 3.
// DEVICE: device.all_to_all %{{.*}} to %{{.*}} over @ep runs 4 to 1 on "comm"
// DEVICE: device.reduce_scatter
// DEVICE: device.all_gather
// DEVICE: device.all_to_all %{{.*}} to %{{.*}} over @ep runs 1 to 4 on "comm"
