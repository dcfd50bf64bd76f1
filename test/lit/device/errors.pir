// RUN: piper-opt --verify-diagnostics --split-input-file %s

strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute", "comm"] {
    %x = device.buffer "x" : memref<8xf32>
    // expected-error@+1 {{the program has no stream "com"}}
    device.fill %x with 0.5 on "com"
    // expected-error@+1 {{elements 4 to 12 are not part of 8}}
    %v = device.view "v" of %x : memref<8xf32> from 4
    // expected-error@+1 {{no function or kernel '@g'}}
    device.launch @g reads(%x) on "compute"
  }
}

// -----

strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  // expected-error@+1 {{'sgd' takes gradient, parameter, momentum}}
  device.kernel @k sgd {momentum = 0.9} : (memref<8xf32>, memref<8xf32>) -> ()
  // expected-note@+1 {{defined here}}
  device.kernel @add accumulate {} : (memref<8xf32>, memref<8xf32>) -> ()
  device.program @all for {} streams ["compute"] {
    %x = device.buffer "x" : memref<8xf32>
    %y = device.buffer "y" : memref<4xf32>
    // expected-error@+1 {{the buffers do not fit the parameters of '@add'}}
    device.launch @add reads(%x) updates(%y) on "compute"
  }
}
