// Parameters that "tp" divides: a bucket of the parts that a device has, divided over "tp" and then over the copies ("dp"). What is whole has a
// bucket of its own.
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls,expand-directives,autodiff,build-dag,split,place,order,shard,replicate,update,verify-dag)' %s | FileCheck %s
// RUN: piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls,expand-directives,autodiff,build-dag,split,place,order,shard,replicate,update,verify-dag,lower-to-device,kernelize,memory-plan,print-memory,verify-device)' %s 2>&1 | FileCheck %s --check-prefix=HOMES

// CHECK: dag.state "bucket0.master" {init = {down = 0, up = 16}} : !dag.dist<tensor<64xf32>, @c, [{"tp", "dp"}]>
// CHECK: [[FLAT:%.*]] = dag.pack %d_down, %d_up at array<i64: 0, 16> -> !dag.dist<tensor<64xf32>, @c, [{"tp"}], partial = {"dp"}>
// CHECK-NEXT: dag.reduce_scatter [[FLAT]] over ["dp"] -> !dag.dist<tensor<64xf32>, @c, [{"tp", "dp"}]>
// CHECK: dag.state "bucket1.master" {init = {head = 0}} : !dag.dist<tensor<16xf32>, @c, [{"dp"}]>
// CHECK: [[NEW:%.*]] = dag.all_gather %bucket0.new#0 over ["dp"] -> !dag.dist<tensor<64xf32>, @c, [{"tp"}]>
// CHECK-NEXT: dag.unpack [[NEW]] at array<i64: 0, 16> -> (!dag.dist<tensor<8x4xf32>, @c, [{"tp"}, {}]>, !dag.dist<tensor<4x8xf32>, @c, [{}, {"tp"}]>)

// Where elements are: rows of "down" are one run, columns of "up" one for each row.
// HOMES-DAG: device.home %bucket0.master of "down" bucket 0 len 16 shard @dp {count = 1, start = 0, step = 32, strides = {tp = 16}}
// HOMES-DAG: device.home %bucket0.master of "up" bucket 16 len 4 shard @dp {count = 4, start = 0, step = 8, strides = {tp = 4}}
// HOMES-DAG: device.home %bucket1.v of "head.v" bucket 0 len 16 shard @dp

// 4 bytes for each of the 48 elements that a device has, 12 / 2 of state.
// HOMES-DAG: parameters{{ +192 +192}}
// HOMES-DAG: optimizer state{{ +288 +288}}

strategy.mesh @c <["dp" = 2, "tp" = 2]>
func.func @loss(%x: tensor<8x4xf32> {role = "data", batch_dim = 0}, %t: tensor<8xi32> {role = "data", batch_dim = 0}) -> tensor<f32> {
  %a = strategy.annotate {PART = "up"} {
    %up = nn.parameter "up" init = normal<0.0, 0.3> : tensor<4x8xf32>
    %u = nn.linear %x, %up : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    strategy.yield %u : tensor<8x8xf32>
  } : tensor<8x8xf32>
  %l = strategy.annotate {PART = "down"} {
    %down = nn.parameter "down" init = normal<0.0, 0.3> : tensor<8x4xf32>
    %d = nn.linear %a, %down : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    strategy.yield %d : tensor<8x4xf32>
  } : tensor<8x4xf32>
  %loss = strategy.annotate {PART = "out"} {
    %head = nn.parameter "head" init = normal<0.0, 0.3> : tensor<4x4xf32>
    %z = nn.linear %l, %head : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %c = nn.cross_entropy %z, %t {denominator = 8} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
    strategy.yield %c : tensor<f32>
  } : tensor<f32>
  func.return %loss : tensor<f32>
}
strategy.plan @train for @loss on @c {
  strategy.shard {PART = up|down} over "tp" parameters = {"up" = 1, "down" = 0}
  strategy.zero over "dp" stage = 1
  strategy.optimizer adamw <lr = 0.01>
}
