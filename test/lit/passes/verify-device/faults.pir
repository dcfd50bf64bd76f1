// RUN: piper-opt --pass-pipeline='builtin.module(verify-device)' --verify-diagnostics --split-input-file %s

strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.output "y"
  device.program @pp0 for {pp = 0} streams ["compute", "comm"] {
    %x = device.buffer "x" : memref<1xf32>
    device.fill %x with 1.0 on "compute" name "one"
    device.record 0 on "compute"
    device.wait 0 on "comm"
    // expected-error@+2 {{unpaired transfer: the 1st send from {pp=0} to {pp=1} on p2p is never received}}
    // expected-note@+1 {{sent here}}
    device.send %x to {pp = 1} over @p2p tag 0 on "comm" name "x"
  }
  device.program @pp1 for {pp = 1} streams ["compute", "comm"] {
  }
}

// -----

strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.output "y"
  device.program @all for {} streams ["compute", "comm"] {
    %x = device.buffer "x" : memref<1xf32>
    // expected-note@+1 {{written here}}
    device.fill %x with 1.0 on "compute" name "one"
    // expected-error@-1 {{race: buffer x is written on stream compute and read on stream comm with no event between them}}
    // expected-note@+1 {{read here}}
    device.store_output %x to "y" part 0 on "comm" name "x"
  }
}
