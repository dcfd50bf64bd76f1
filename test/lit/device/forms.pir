// RUN: piper-opt %s | piper-opt | FileCheck %s
// RUN: piper-opt --mlir-print-op-generic %s | piper-opt | FileCheck %s

// Every operation of the dialect, there and back, in both forms.

strategy.mesh @c <["pp" = 2, "dp" = 2]>
func.func private @f(tensor<2x4xf32>) -> tensor<8xf32>

// CHECK-LABEL: device.plan "step" on @c {
device.plan "step" on @c {
  // CHECK-NEXT: device.comm @dp members [{dp = 0}, {dp = 1}]
  device.comm @dp members [{dp = 0}, {dp = 1}]
  device.comm @p2p members []
  // CHECK: device.partition @sms green 24 of 132 arch "sm_90" streams ["comm"] comms [@dp, @p2p] ctas 1 to 20
  device.partition @sms green 24 of 132 arch "sm_90" streams ["comm"] comms [@dp, @p2p] ctas 1 to 20
  // CHECK: device.input "x" : tensor<8x4xf32>
  device.input "x" : tensor<8x4xf32>
  device.output "loss"
  device.output "grad.w" : tensor<4x4xf32>
  device.state "w" : tensor<4x4xf32> init #nn.init<normal<0.0, 0.02>>
  device.scalar "step" is "step"
  // CHECK: device.kernel @add accumulate {} : (memref<8xf32>, memref<8xf32>) -> ()
  device.kernel @add accumulate {} : (memref<8xf32>, memref<8xf32>) -> ()
  // CHECK: device.program @pp0 for {pp = 0} streams ["compute", "comm"] arena 256 {
  device.program @pp0 for {pp = 0} streams ["compute", "comm"] arena 256 {
    // CHECK-NEXT: %w = device.buffer "w" : memref<16xf32> persistent at 0
    %w = device.buffer "w" : memref<16xf32> persistent at 0
    // CHECK-NEXT: device.home %w of "w" bucket 0 len 16
    device.home %w of "w" bucket 0 len 16
    device.home %w of output "grad.w" bucket 0 len 16 shard @dp
    %x = device.buffer "x" : memref<8xf32>
    // CHECK: %v = device.view "v" of %w : memref<8xf32> from 8
    %v = device.view "v" of %w : memref<8xf32> from 8
    // CHECK-NEXT: device.load_input "x" rows 2 from 2 strides {dp = 4} to %x on "compute" name "x.0"
    device.load_input "x" rows 2 from 2 strides {dp = 4} to %x on "compute" name "x.0"
    // CHECK-NEXT: device.launch @f reads(%x) writes(%v) on "compute" name "f.0"
    device.launch @f reads(%x) writes(%v) on "compute" name "f.0"
    // CHECK-NEXT: device.launch @add reads(%x) updates(%v) on "compute"
    device.launch @add reads(%x) updates(%v) on "compute"
    // CHECK-NEXT: device.record 0 on "compute"
    device.record 0 on "compute"
    device.wait 0 on "comm"
    // CHECK: device.send %v to {pp = 1} over @p2p tag 7 on "comm" name "v"
    device.send %v to {pp = 1} over @p2p tag 7 on "comm" name "v"
    // CHECK-NEXT: device.group on "comm" name "both" {
    device.group on "comm" name "both" {
      device.send %v to {pp = 1} over @p2p on "comm"
      device.recv %x from {pp = 1} over @p2p on "comm"
    }
    // CHECK: device.all_reduce %w to %w over @dp on "comm"
    device.all_reduce %w to %w over @dp on "comm"
    device.reduce_scatter %w to %v over @dp on "comm"
    device.all_gather %v to %w over @dp on "comm"
    // CHECK: device.copy %v to %x on "compute"
    device.copy %v to %x on "compute"
    device.fill %x with 0.5 on "compute"
    // CHECK: device.store_output %x to "loss" part 3 strides {dp = 2} on "compute"
    device.store_output %x to "loss" part 3 strides {dp = 2} on "compute"
  }
}
