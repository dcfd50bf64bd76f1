// Everything that can be wrong with the memory and the events of one device.
// RUN: piper-opt --pass-pipeline='builtin.module(verify-device)' --verify-diagnostics --split-input-file %s

strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.output "y"
  device.program @all for {} streams ["compute"] {
    %x = device.buffer "x" : memref<1xf32>
    // expected-error@+2 {{read of unwritten memory: reads buffer x before anything has written it}}
    // expected-note@+1 {{read here by 'device.store_output' x of @all}}
    device.store_output %x to "y" part 0 on "compute" name "x"
  }
}

// -----

// What nobody reads is a leak: a value that was computed and is lost.
strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute"] {
    %x = device.buffer "x" : memref<2xf32>
    // expected-error@+2 {{value never read: the value written to buffer x is never read}}
    // expected-note@+1 {{written here by 'device.fill' one of @all}}
    device.fill %x with 1.0 on "compute" name "one"
  }
}

// -----

// The memory of one value is given to another while a stream may still read it.
strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute", "comm"] arena 192 {
    %x = device.buffer "x" : memref<2xf32> at 0
    %y = device.buffer "y" : memref<2xf32> at 0
    %s = device.buffer "s" : memref<2xf32> persistent at 64
    %t = device.buffer "t" : memref<2xf32> persistent at 128
    device.fill %x with 1.0 on "compute" name "one"
    device.record 0 on "compute"
    device.wait 0 on "comm"
    // expected-error@+2 {{race: buffers x and y, which share memory, are read on stream comm and written on stream compute with no event between them}}
    // expected-note@+1 {{read here by 'device.copy' save of @all}}
    device.copy %x to %s on "comm" name "save"
    // expected-note@+1 {{written here by 'device.fill' two of @all}}
    device.fill %y with 2.0 on "compute" name "two"
    device.copy %y to %t on "compute" name "keep"
  }
}

// -----

// Two writers.
strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute", "comm"] {
    %s = device.buffer "s" : memref<2xf32> persistent
    // expected-error@+4 {{race: buffer s is written on stream compute and written on stream comm with no event between them}}
    // expected-note@+3 {{written here by 'device.fill' one of @all}}
    // expected-error@+2 {{value never read: the value written to buffer s is never read}}
    // expected-note@+1 {{written here by 'device.fill' one of @all}}
    device.fill %s with 1.0 on "compute" name "one"
    // expected-note@+1 {{written here by 'device.fill' two of @all}}
    device.fill %s with 2.0 on "comm" name "two"
  }
}

// -----

// Operands of one instruction that overlap.
strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute"] {
    %s = device.buffer "s" : memref<3xf32> persistent
    %a = device.view "a" of %s : memref<2xf32> from 0
    %b = device.view "b" of %s : memref<2xf32> from 1
    // expected-error@+2 {{race: operands a and b overlap, and one of them is written}}
    // expected-note@+1 {{here by 'device.copy' shift of @all}}
    device.copy %a to %b on "compute" name "shift"
  }
}

// -----

strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute", "comm"] {
    // expected-error@+2 {{bad event: waits for event 0, which is not recorded before}}
    // expected-note@+1 {{here}}
    device.wait 0 on "comm"
    device.record 0 on "compute"
    // expected-error@+2 {{bad event: event 0 is recorded a second time}}
    // expected-note@+1 {{here}}
    device.record 0 on "comm"
  }
}

// -----

// A layout that gives one value the memory of another that is still needed: no race, for all is on one stream.
strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute"] arena 256 {
    %x = device.buffer "x" : memref<2xf32> at 0
    %y = device.buffer "y" : memref<2xf32> at 0
    %s = device.buffer "s" : memref<2xf32> persistent at 64
    %t = device.buffer "t" : memref<2xf32> persistent at 128
    %u = device.buffer "u" : memref<2xf32> persistent at 192
    device.fill %x with 1.0 on "compute" name "one"
    device.copy %x to %s on "compute" name "save"
    device.fill %y with 2.0 on "compute" name "two"
    device.copy %y to %t on "compute" name "keep"
    // expected-error@+5 {{changed dataflow: @all has an instruction that was not compiled, or one that reads another value than it was compiled to read}}
    // expected-note@+4 {{here by 'device.copy' again of @all}}
    // The other half of it: what was compiled is not there any more.
    // expected-error@+2 {{changed dataflow: @all lacks an instruction that it was compiled with, or has it with other operands}}
    // expected-note@+1 {{compiled from}}
    device.copy %x to %u on "compute" name "again"
  }
}
