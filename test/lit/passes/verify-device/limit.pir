// Too much memory: what is in use at once, and since and until when the largest buffers are.
// RUN: piper-opt --pass-pipeline='builtin.module(verify-device{memory-limit=1KiB})' --verify-diagnostics --split-input-file %s

strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.program @all for {} streams ["compute"] {
    %s = device.buffer "s" : memref<128xf32> persistent
    %x = device.buffer "x" : memref<128xf32>
    %y = device.buffer "y" : memref<64xf32>
    // expected-note@+1 {{buffer x of 512 bytes is needed from here by 'device.fill' one of @all}}
    device.fill %x with 1.0 on "compute" name "one"
    // expected-error@+5 {{out of memory: @all needs 1280 bytes a device (1280 of arena, 0 of workspace), the limit is 1024; no layout can do with less than 1280, which are in use at once}}
    // expected-note@+4 {{1280 bytes of buffers are in use by 'device.fill' two of @all}}
    // expected-note@+3 {{buffer y of 256 bytes is needed from here by 'device.fill' two of @all}}
    // expected-note@-4 {{buffer s of 512 bytes, which is kept between steps, is used by 'device.fill' one of @all}}

    device.fill %y with 2.0 on "compute" name "two"
    // expected-note@+1 {{to here by 'device.copy' save of @all}}
    device.copy %x to %s on "compute" name "save"
    %v = device.view "v" of %s : memref<64xf32> from 0
    // expected-note@+1 {{to here by 'device.copy' keep of @all}}
    device.copy %y to %v on "compute" name "keep"
  }
}

// -----

// Two buffers that could take turns: another layout would do.
strategy.mesh @c <["pp" = 1]>
device.plan "step" on @c {
  device.output "o"
  device.program @all for {} streams ["compute"] {
    %x = device.buffer "x" : memref<128xf32>
    %y = device.buffer "y" : memref<160xf32>
    %a = device.view "a" of %x : memref<1xf32> from 0
    %b = device.view "b" of %y : memref<1xf32> from 0
    device.fill %x with 1.0 on "compute" name "one"
    device.store_output %a to "o" part 0 on "compute" name "first"
    // expected-error@+3 {{@all needs 1152 bytes a device (1152 of arena, 0 of workspace), the limit is 1024; 640 are in use at once, so a tighter layout might do}}
    // expected-note@+2 {{640 bytes of buffers are in use}}
    // expected-note@+1 {{buffer y of 640 bytes is needed from here by 'device.fill' two of @all}}
    device.fill %y with 1.0 on "compute" name "two"
    // expected-note@+1 {{to here by 'device.store_output' second of @all}}
    device.store_output %b to "o" part 1 on "compute" name "second"
  }
}
