// Sends that end at once let two devices send first; receiving first never works.
// RUN: piper-opt --pass-pipeline='builtin.module(verify-device{sends=buffered})' --verify-diagnostics --split-input-file %s

strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    device.send %a to {pp = 1} over @p2p tag 0 on "comm" name "up"
    device.recv %b from {pp = 1} over @p2p tag 1 on "comm" name "down"
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    device.send %a to {pp = 0} over @p2p tag 1 on "comm" name "down"
    device.recv %b from {pp = 0} over @p2p tag 0 on "comm" name "up"
  }
}

// -----

strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-error@+2 {{deadlock: devices wait for each other: {pp=0} -> {pp=1} -> {pp=0}}}
    // expected-note@+1 {{this receive waits on {pp=0}}}
    device.recv %b from {pp = 1} over @p2p tag 1 on "comm" name "down"
    // expected-note@+1 {{for this send, issued after what blocks its device on {pp=0}}}
    device.send %a to {pp = 1} over @p2p tag 0 on "comm" name "up"
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+1 {{this receive waits on {pp=1}}}
    device.recv %b from {pp = 0} over @p2p tag 0 on "comm" name "up"
    // expected-note@+1 {{for this send, issued after what blocks its device on {pp=1}}}
    device.send %a to {pp = 0} over @p2p tag 1 on "comm" name "down"
  }
}
